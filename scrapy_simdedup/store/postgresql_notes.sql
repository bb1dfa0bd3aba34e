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
CREATE FUNCTION simdedup_take_note(of_journal text, of_key bytea, said bytea, once boolean)
RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    there bytea;
BEGIN
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
