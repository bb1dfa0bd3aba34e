"""What only the store in PostgreSQL can get wrong: its tables, and what it offers to those who query them."""

from __future__ import annotations

import psycopg
import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.servers import PASSWORD, PostgresqlServer
from helpers.store_records import SITE, opened, put, record, stored
from scrapy_simdedup import NearDuplicateDetector, fingerprint_page
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store import store_by_url

pytestmark = pytest.mark.postgresql


def schema_of(url: str) -> str:
    return url.rpartition("%3D")[2]


@pytest.mark.parametrize("bits", [64, 128])
@on_asyncio
async def test_near_pages_can_be_asked_for_in_sql(postgresql_store: str, bits: int) -> None:
    """By the distance of their simhashes, as Python counts it."""
    prints = {}
    detector = NearDuplicateDetector(postgresql_store, bits=bits, secret="ours")
    await detector.open()
    for number in range(5):
        html, url = page(number), f"https://{SITE}/{number}"
        prints[url] = await detector.fingerprint(html, url=url)
        await detector.add(html, url=url)
    await detector.close()
    asked = prints[f"https://{SITE}/0"]
    question = f"SELECT * FROM simdedup_neighbours('{SITE}', B'{asked.simhash:0{bits}b}', {bits // 2})"
    with psycopg.connect(postgresql_store) as db:
        rows = db.execute(question.encode()).fetchall()
    distances = {url: (asked.simhash ^ found.simhash).bit_count() for url, found in prints.items()}
    expected = {(url, "confirmed", distance) for url, distance in distances.items() if distance <= bits // 2}
    assert set(rows) == expected
    assert rows[0] == (f"https://{SITE}/0", "confirmed", 0)
    assert len(rows) > 1


@on_asyncio
async def test_a_view_shows_what_the_published_recipe_keeps(
    postgresql_server: PostgresqlServer, postgresql_store: str
) -> None:
    """The delivered pages: URL, domain, hash and time."""
    async with opened(postgresql_store) as store:
        await put(store, record(b"a"))
        html = page("one")
        made = record(
            b"b", fingerprint=bytes(fingerprint_page(html)), state="duplicate", original=b"a", last_seen=86400.0
        )
        await put(store, made)
    schema = schema_of(postgresql_store)
    rows = postgresql_server.ask(
        f"SELECT url, domain, hash, fetched_at AT TIME ZONE 'UTC' FROM {schema}.content_hashes"
    )
    ((url, domain, hash_, fetched_at),) = rows
    assert (url, domain, str(fetched_at)) == (made.url, SITE, "1970-01-02 00:00:00")
    assert hash_ == f"{fingerprint_page(html).simhash:064b}"


@on_asyncio
async def test_a_table_of_the_published_recipe_is_left_alone(
    postgresql_server: PostgresqlServer, postgresql_store: str
) -> None:
    schema = schema_of(postgresql_store)
    postgresql_server.ask(f"CREATE TABLE {schema}.content_hashes (url text)")
    async with opened(postgresql_store) as store:
        id_ = await put(store, record())
        assert await stored(store) == [id_]
    assert postgresql_server.ask(f"SELECT * FROM {schema}.content_hashes") == []


@on_asyncio
async def test_sites_are_spread_over_the_partitions(postgresql_server: PostgresqlServer, postgresql_store: str) -> None:
    async with opened(postgresql_store) as store:
        for number in range(40):
            await put(store, record(), f"site-{number}.example")
        assert len([site async for site in store.sites()]) == 40
    (used,) = postgresql_server.ask(f"SELECT count(DISTINCT tableoid) FROM {schema_of(postgresql_store)}.simdedup_page")
    assert used == (8,)


@on_asyncio
async def test_tables_of_another_version_are_refused(
    postgresql_server: PostgresqlServer, postgresql_store: str
) -> None:
    async with opened(postgresql_store):
        pass
    postgresql_server.ask(f"UPDATE {schema_of(postgresql_store)}.simdedup_memo SET value = '99' WHERE name = 'tables'")
    with pytest.raises(StoreError, match=r"tables of version 99.*name another database"):
        await store_by_url(postgresql_store).open()


@pytest.mark.parametrize("part", ["TABLE simdedup_page CASCADE", "TABLE simdedup_note", "FUNCTION simdedup_settle"])
@on_asyncio
async def test_a_store_of_which_a_part_was_dropped_is_refused(
    postgresql_server: PostgresqlServer, postgresql_store: str, part: str
) -> None:
    """Else it would fail page by page."""
    async with opened(postgresql_store):
        pass
    kind, name = part.split(maxsplit=1)
    postgresql_server.ask(f"DROP {kind} {schema_of(postgresql_store)}.{name}")
    with pytest.raises(StoreError, match=rf"lacks {name.split()[0]}; put back a copy.*or drop all"):
        await store_by_url(postgresql_store).open()


@pytest.mark.parametrize(
    ("setting", "remedy"),
    [
        ("default_transaction_read_only=on", "name the primary, not a standby"),
        ("statement_timeout=1", r"SET statement_timeout = '5s'"),
    ],
)
@on_asyncio
async def test_a_server_that_lets_nobody_write_is_explained(postgresql_store: str, setting: str, remedy: str) -> None:
    async with opened(postgresql_store):
        pass

    async def fill() -> None:
        async with opened(f"{postgresql_store}%20-c{setting.replace('=', '%3D')}") as store:
            for number in range(500):
                await put(store, record(b"%d" % number))

    with pytest.raises(StoreError, match=remedy):
        await fill()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ((PASSWORD, "wrong"), "correct user and password in SIMDEDUP_STORE"),
        ((f":{PASSWORD}", ""), "write the password into SIMDEDUP_STORE"),
        (("/postgres?", "/nowhere?"), "create it first"),
        (("@127.0.0.1:", "@nobody.invalid:"), "correct the host in SIMDEDUP_STORE"),
        (("?", "?host=/nowhere&"), "check that the server runs"),
        (("?", "?sslmode=require&"), "correct sslmode in SIMDEDUP_STORE"),
    ],
)
@on_asyncio
async def test_a_url_that_leads_nowhere_is_said_without_its_password(
    postgresql_store: str, change: tuple[str, str], problem: str
) -> None:
    with pytest.raises(StoreError, match=problem) as caught:
        await store_by_url(postgresql_store.replace(*change)).open()
    assert "wrong" not in str(caught.value)
    assert PASSWORD not in str(caught.value)


@on_asyncio
async def test_who_may_only_read_is_told(postgresql_server: PostgresqlServer, postgresql_store: str) -> None:
    async with opened(postgresql_store):
        pass
    schema = schema_of(postgresql_store)
    postgresql_server.ask("DROP ROLE IF EXISTS reader")
    postgresql_server.ask(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
    postgresql_server.ask(f"GRANT USAGE ON SCHEMA {schema} TO reader")
    postgresql_server.ask(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader")
    with pytest.raises(StoreError, match=r"permission denied.*let the user read, write and delete in all tables"):
        await store_by_url(postgresql_store.replace("simdedup:", "reader:")).open()
    postgresql_server.ask("DROP OWNED BY reader")


@on_asyncio
async def test_who_may_not_create_tables_is_told(postgresql_server: PostgresqlServer, postgresql_store: str) -> None:
    postgresql_server.ask("DROP ROLE IF EXISTS guest")
    postgresql_server.ask(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")
    postgresql_server.ask(f"GRANT USAGE ON SCHEMA {schema_of(postgresql_store)} TO guest")
    with pytest.raises(StoreError, match=r"permission denied.*let the user create tables"):
        await store_by_url(postgresql_store.replace("simdedup:", "guest:")).open()
