-- The tables of the store, and a function per verb. All of it lives in the first schema of the search path.
--
-- Positions are microseconds, and rise. So none is given twice, not even after a crash that cost the last commits: a
-- worker that settles what was lost can never hit another record.

CREATE TABLE simdedup_memo (name text PRIMARY KEY, value text NOT NULL);

CREATE TABLE simdedup_worker (name text PRIMARY KEY, heartbeat double precision NOT NULL);

CREATE TABLE simdedup_page (
    site text NOT NULL,
    url text NOT NULL,
    key bytea NOT NULL,
    fingerprint bytea NOT NULL,
    run text NOT NULL,
    worker text NOT NULL,
    state text NOT NULL,
    kind text NOT NULL,
    similarity double precision,
    original bytea,
    first_seen double precision NOT NULL,
    last_seen double precision NOT NULL,
    last_changed double precision NOT NULL,
    visits integer NOT NULL,
    changes integer NOT NULL,
    handler text NOT NULL,
    id bigint NOT NULL,
    position bigint NOT NULL,
    simhash bit varying,
    PRIMARY KEY (site, id)
) PARTITION BY HASH (site);

DO $$
BEGIN
    FOR part IN 0..7 LOOP
        EXECUTE format(
            'CREATE TABLE simdedup_page_%s PARTITION OF simdedup_page FOR VALUES WITH (MODULUS 8, REMAINDER %s)', part, part
        );
    END LOOP;
END $$;

CREATE UNIQUE INDEX simdedup_page_position ON simdedup_page (site, position);
CREATE INDEX simdedup_page_key ON simdedup_page (key, site, id);


-- The position after the counter of a site; null stands for a site without pages.
CREATE FUNCTION simdedup_after(counter bigint) RETURNS bigint LANGUAGE sql AS $$
    SELECT greatest(counter + 1, floor(extract(epoch FROM clock_timestamp()) * 1e6)::bigint)
$$;

-- Add a record, unless the site changed after ``expected``; its id, or null.
CREATE FUNCTION simdedup_append(made simdedup_page, expected bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    counter bigint;
    last simdedup_page;
BEGIN
    -- Whoever changes a site waits here for those who do, until their transactions end.
    PERFORM pg_advisory_xact_lock(hashtextextended('simdedup ' || made.site, 0));
    counter := (SELECT position FROM simdedup_page WHERE site = made.site ORDER BY position DESC LIMIT 1);
    IF counter > expected THEN
        SELECT * INTO last FROM simdedup_page WHERE site = made.site AND position = counter;
        made.id := last.id;
        made.position := counter;
        -- The answer to this very call was lost, and it is made once more.
        RETURN CASE WHEN made IS NOT DISTINCT FROM last THEN last.id END;
    END IF;
    made.id := simdedup_after(counter);
    made.position := made.id;
    INSERT INTO simdedup_page SELECT made.*;
    IF made.state IN ('confirmed', 'itemless', 'duplicate', 'stub') THEN
        DELETE FROM simdedup_page WHERE site = made.site AND key = made.key AND id < made.id;
    END IF;
    RETURN made.id;
END $$;

-- Change a record's state, if it is in one of ``steps``, the states from which that is a step.
CREATE FUNCTION simdedup_settle(of_site text, of_id bigint, outcome text, steps text[], at double precision)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    its_key bytea;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('simdedup ' || of_site, 0));
    UPDATE simdedup_page SET state = outcome, last_seen = at, position = simdedup_after(
        (SELECT position FROM simdedup_page WHERE site = of_site ORDER BY position DESC LIMIT 1)
    )
    WHERE site = of_site AND id = of_id AND state = ANY (steps) RETURNING key INTO its_key;
    IF FOUND AND outcome <> 'released' THEN
        DELETE FROM simdedup_page WHERE site = of_site AND key = its_key AND id < of_id;
    END IF;
END $$;

-- Turn records into tombstones without a fingerprint.
CREATE FUNCTION simdedup_forget(of_site text, ids bigint[], at double precision) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    one bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('simdedup ' || of_site, 0));
    FOREACH one IN ARRAY ids LOOP
        UPDATE simdedup_page
        SET state = 'released', fingerprint = '', simhash = NULL, last_seen = at, position = simdedup_after(
            (SELECT position FROM simdedup_page WHERE site = of_site ORDER BY position DESC LIMIT 1)
        )
        WHERE site = of_site AND id = one;
    END LOOP;
END $$;


-- Journals: notes in the order in which they were made, one per key.

CREATE TABLE simdedup_note (
    journal text NOT NULL,
    key bytea NOT NULL,
    position bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (journal, key)
);

CREATE UNIQUE INDEX simdedup_note_position ON simdedup_note (journal, position);

-- Write a note, unless it is there already, or with ``once`` any note with its key; what is there then.
CREATE FUNCTION simdedup_put_note(of_journal text, of_key bytea, said bytea, once boolean)
RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    there bytea;
BEGIN
    -- A request that is noted as skipped exists nowhere else.
    PERFORM set_config('synchronous_commit', 'on', true);
    -- Positions rise in the order of the commits, so that nobody who reads on misses a note.
    PERFORM pg_advisory_xact_lock(hashtextextended('simdedup journal ' || of_journal, 0));
    there := (SELECT value FROM simdedup_note WHERE journal = of_journal AND key = of_key);
    IF there = said OR (once AND there IS NOT NULL) THEN
        RETURN there;
    END IF;
    INSERT INTO simdedup_note VALUES (of_journal, of_key, simdedup_after(
        (SELECT position FROM simdedup_note WHERE journal = of_journal ORDER BY position DESC LIMIT 1)
    ), said)
    ON CONFLICT (journal, key) DO UPDATE SET position = excluded.position, value = excluded.value;
    RETURN said;
END $$;


-- For people. The pages of a site within ``k`` bits of a simhash, the nearest first.
CREATE FUNCTION simdedup_neighbours(site text, simhash bit varying, k integer)
RETURNS TABLE (url text, state text, distance bigint) LANGUAGE sql STABLE AS $$
    SELECT page.url, page.state, bit_count(page.simhash # $2)
    FROM simdedup_page AS page WHERE page.site = $1 AND bit_count(page.simhash # $2) <= $3 ORDER BY 3, 1
$$;

-- A table of this name may be there, from a recipe that many follow; it is left alone.
DO $$
BEGIN
    IF to_regclass('content_hashes') IS NULL THEN
        CREATE VIEW content_hashes AS
        SELECT url, site AS domain, simhash AS hash, to_timestamp(last_seen) AS fetched_at
        FROM simdedup_page WHERE state IN ('confirmed', 'itemless', 'duplicate', 'stub');
    END IF;
END $$;
