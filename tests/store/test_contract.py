"""What every store promises; a new store is done when its name in ``any_url`` of ``tests/conftest.py`` passes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio, wait_for
from helpers.store_records import SITE, put, record, stored
from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.base import FingerprintStore, LogPart, Notes, Record, Tail

ONE_CONNECTION = ("memory:", "line_store.")


@pytest.fixture
def store(any_url: str) -> Iterator[FingerprintStore]:
    made = store_by_url(any_url)
    wait_for(made.open())
    yield made
    wait_for(made.close())


@pytest.fixture
def other(any_url: str, store: FingerprintStore) -> Iterator[FingerprintStore]:
    """A second connection to the same store; what one process holds has but one."""
    if any_url.startswith(ONE_CONNECTION):
        yield store
        return
    made = store_by_url(any_url)
    wait_for(made.open())
    yield made
    wait_for(made.close())


async def everything(store: FingerprintStore) -> list[tuple[str, Record]]:
    return [found async for found in store.records()]


# ------------------------------------------------------------------ reading and appending


@on_asyncio
async def test_an_unknown_site_is_empty(store: FingerprintStore) -> None:
    assert await store.read("nowhere.example") == Tail((), 0)
    assert await everything(store) == []


@on_asyncio
async def test_a_record_comes_back_as_it_went_in(store: FingerprintStore) -> None:
    """Every field survives, with the id and the position that the store gave it."""
    made = record("ключ".encode(), url="https://shop.example/ü?q=\U0001f600", similarity=0.875, original=b"\x00b")
    id_ = await put(store, made)
    assert await store.read(SITE) == Tail((made._replace(id=id_, position=id_),), id_)


@on_asyncio
async def test_a_key_can_be_as_long_as_a_url(store: FingerprintStore) -> None:
    """Who names requests by their addresses has such keys."""
    long = "".join(f"/part-{number}" for number in range(150)).encode()
    await put(store, record(long, original=long[::-1]))
    ((_, found),) = await everything(store)
    assert (found.key, found.original) == (long, long[::-1])
    assert len(long) > 1_000


@on_asyncio
async def test_the_id_is_the_new_counter(store: FingerprintStore) -> None:
    """Who appended knows the site up to its own record, without reading it back."""
    for number in range(3):
        id_ = await put(store, record(b"%d" % number))
        assert await store.read(SITE, id_) == Tail((), id_)


@on_asyncio
async def test_reading_on_gives_only_what_is_new(store: FingerprintStore) -> None:
    await put(store, record(b"a"))
    cursor = (await store.read(SITE)).cursor
    await put(store, record(b"b"))
    await put(store, record(b"c"))
    assert [found.key for found in (await store.read(SITE, cursor)).records] == [b"b", b"c"]


@on_asyncio
async def test_appending_fails_where_somebody_else_was_faster(store: FingerprintStore, other: FingerprintStore) -> None:
    """Two that read the same cursor: exactly one of them gets in, and the other leaves no trace."""
    cursor = (await store.read(SITE)).cursor
    results = [await store.append(SITE, record(b"a"), cursor), await other.append(SITE, record(b"b"), cursor)]
    assert results == [(await store.read(SITE)).cursor, None]
    assert results[0] > cursor
    assert [found.key for found in (await other.read(SITE)).records] == [b"a"]


@on_asyncio
async def test_of_many_that_race_one_gets_in_each_round(store: FingerprintStore, other: FingerprintStore) -> None:
    for round_ in range(20):
        keys = [b"%d %d" % (round_, number) for number in range(4)]
        cursor = (await store.read(SITE)).cursor
        racers = zip((store, other, store, other), keys, strict=True)
        got = await asyncio.gather(*(racer.append(SITE, record(key), cursor) for racer, key in racers))
        assert sorted(got, key=str) == [(await store.read(SITE)).cursor, None, None, None]
    assert len((await store.read(SITE)).records) == 20


@on_asyncio
async def test_a_state_change_too_makes_an_append_fail(store: FingerprintStore, other: FingerprintStore) -> None:
    """What was decided before a page was confirmed may be wrong after it."""
    id_ = await put(store, record())
    await other.settle(SITE, id_, "confirmed", 2000.0)
    assert await store.append(SITE, record(b"b"), id_) is None


@on_asyncio
async def test_many_records_are_loaded_as_if_they_were_appended(store: FingerprintStore) -> None:
    made = [record(bytes([number]), state="confirmed", similarity=0.5) for number in range(5)]
    counters = await store.load([LogPart(SITE, 0, made[:3]), LogPart("other.example", 0, made[3:])])
    assert None not in counters
    found = await store.read(SITE)
    assert [one._replace(id=0, position=0) for one in found.records] == made[:3]
    assert found.cursor == counters[0]
    (more,) = await store.load([LogPart(SITE, found.cursor, made[3:])])
    assert (await store.read(SITE, found.cursor)).cursor == more
    id_ = await put(store, made[0]._replace(visits=2))
    assert [one.visits for one in (await store.read(SITE)).records if one.key == made[0].key] == [2]
    await store.settle(SITE, id_, "stub", 5.0)
    assert len((await store.read("other.example")).records) == 2


@on_asyncio
async def test_nothing_is_loaded_where_somebody_else_was_faster(
    store: FingerprintStore, other: FingerprintStore
) -> None:
    made = [record(bytes([number]), state="confirmed") for number in range(3)]
    await put(other, made[0])
    refused, taken = await store.load([LogPart(SITE, 0, made[1:]), LogPart("other.example", 0, made)])
    assert refused is None
    assert taken is not None
    assert len((await store.read(SITE)).records) == 1


@on_asyncio
async def test_sites_do_not_see_each_other(store: FingerprintStore) -> None:
    await put(store, record(b"a"), "one.example")
    assert await store.append("two.example", record(b"a"), 0) is not None
    assert await store.read("three.example") == Tail((), 0)
    assert sorted([site async for site in store.sites()]) == ["one.example", "two.example"]


# ------------------------------------------------------------------ settling


@on_asyncio
@pytest.mark.parametrize("state", ["confirmed", "itemless", "released"])
async def test_what_is_settled_comes_again_for_those_who_read_on(
    store: FingerprintStore, other: FingerprintStore, state: Any
) -> None:
    """A state change moves the record to the head of the log, with the time it happened; some stores say where to."""
    id_ = await put(store, record(b"a"))
    await put(store, record(b"b"))
    cursor = (await other.read(SITE)).cursor
    position = await store.settle(SITE, id_, state, 2000.25)
    tail = await other.read(SITE, cursor)
    assert position in {None, tail.cursor}
    assert [(found.id, found.state, found.last_seen, found.position) for found in tail.records] == [
        (id_, state, 2000.25, tail.cursor)
    ]
    assert tail.cursor > cursor


@on_asyncio
async def test_confirming_takes_the_place_of_older_versions(store: FingerprintStore) -> None:
    """Confirmed, reserved or released, whatever has the same key and is older goes; the rest stays."""
    for state in ("confirmed", "released", None):
        id_ = await put(store, record(b"a"))
        if state:
            await store.settle(SITE, id_, state, 2000.0)
    bystander = await put(store, record(b"b"))
    newest = await put(store, record(b"a", visits=4))
    await store.settle(SITE, newest, "confirmed", 3000.0)
    assert await stored(store) == [bystander, newest]


@on_asyncio
async def test_whatever_becomes_of_a_page_it_stays_in_its_cluster(store: FingerprintStore) -> None:
    """A page that is kept may name the first one of its cluster, too."""
    kept = record(b"kept", original=b"first")
    id_ = await store.append(SITE, kept, 0)
    assert id_ is not None
    for state in ("itemless", "stub"):
        await store.settle(SITE, id_, state, 2000.0)
        (found,) = (await store.read(SITE)).records
        assert (found.state, found.original) == (state, b"first")


@on_asyncio
async def test_a_page_that_gave_no_item_is_settled_like_one_that_did(store: FingerprintStore) -> None:
    """It takes the place of older versions, also where it was released before; and then it stays as it is."""
    await put(store, record(b"a", handler="shop parse"))
    newest = await put(store, record(b"a", handler="shop parse_item"))
    for state in ("released", "itemless", "released", "confirmed"):
        await store.settle(SITE, newest, state, 2000.0)  # type: ignore[arg-type]
    (found,) = (await store.read(SITE)).records
    assert (found.id, found.state, found.handler) == (newest, "itemless", "shop parse_item")


@on_asyncio
async def test_releasing_leaves_the_older_version(store: FingerprintStore) -> None:
    older = await put(store, record(b"a"))
    await store.settle(SITE, older, "confirmed", 2000.0)
    newer = await put(store, record(b"a"))
    await store.settle(SITE, newer, "released", 3000.0)
    assert [(found.id, found.state) for found in (await store.read(SITE)).records] == [
        (older, "confirmed"),
        (newer, "released"),
    ]


@on_asyncio
@pytest.mark.parametrize("state", ["duplicate", "confirmed", "itemless"])
async def test_an_appended_record_that_is_settled_takes_the_place_of_older_versions(
    store: FingerprintStore, state: Any
) -> None:
    await put(store, record(b"a"))
    bystander = await put(store, record(b"b"))
    newest = await put(store, record(b"a", state=state, original=b"b"))
    assert await stored(store) == [bystander, newest]


@on_asyncio
async def test_a_version_older_than_the_settled_one_does_not_come_back(store: FingerprintStore) -> None:
    """A page that was fetched twice may be confirmed in either order; the newer version wins."""
    older, newer = await put(store, record(b"a")), await put(store, record(b"a"))
    await store.settle(SITE, newer, "confirmed", 2000.0)
    before = await store.read(SITE)
    await store.settle(SITE, older, "confirmed", 3000.0)
    assert await store.read(SITE) == before


@on_asyncio
async def test_what_is_settled_stays_as_it_is(store: FingerprintStore) -> None:
    """Settling twice, or what is not there, changes nothing and disturbs nobody's append."""
    confirmed = await put(store, record(b"a"))
    await store.settle(SITE, confirmed, "confirmed", 2000.0)
    duplicate = await put(store, record(b"b", state="duplicate", original=b"a"))
    before = await store.read(SITE)
    for id_ in (confirmed, duplicate, 99):
        for state in ("confirmed", "released"):
            assert await store.settle(SITE, id_, state, 3000.0) is None
    assert await store.settle("nowhere.example", 1, "confirmed", 3000.0) is None
    assert await store.read(SITE) == before
    assert await store.read("nowhere.example") == Tail((), 0)


@on_asyncio
async def test_a_released_page_can_still_be_delivered(store: FingerprintStore) -> None:
    id_ = await put(store, record())
    cursors = []
    for state in ("released", "released", "confirmed"):
        await store.settle(SITE, id_, state, 2000.0)
        cursors.append((await store.read(SITE)).cursor)
    assert [found.state for found in (await store.read(SITE)).records] == ["confirmed"]
    assert id_ < cursors[0] == cursors[1] < cursors[2]


# ------------------------------------------------------------------ the whole store


@on_asyncio
async def test_all_records_can_be_walked(store: FingerprintStore) -> None:
    """Site by site, more of them than fit one step, while the store changes."""
    wanted = []
    for site, count in (("one.example", 2500), ("two.example", 3)):
        last = 0
        for number in range(count):
            last = await store.append(site, record(b"%d" % number), last)
            wanted.append((site, b"%d" % number))
    seen = []
    assert await store.count() == len(wanted)
    async for site, found in store.records():
        if not seen:
            await put(store, record(b"late"), "two.example")
        seen.append((site, found.key))
    assert sorted(set(seen) - {("two.example", b"late")}) == sorted(wanted)


@on_asyncio
async def test_the_first_default_that_is_set_stays(store: FingerprintStore, other: FingerprintStore) -> None:
    assert await store.set_default("secret", "ours") == "ours"
    assert await other.set_default("secret", "theirs") == "ours"
    assert await other.set_default("version", "1") == "1"


@on_asyncio
async def test_a_store_can_be_closed_and_opened_again(store: FingerprintStore) -> None:
    id_ = await put(store, record())
    await store.close()
    await store.close()
    await store.open()
    assert await stored(store) == [id_]


# ------------------------------------------------------------------ URLs


@pytest.mark.parametrize("url", ["mongodb://u:geheim@h/1", "memory", "", "sqlite:pages", "sqlite://", "sqlite:///"])
def test_a_url_that_names_no_store_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(SettingError, match=r"SIMDEDUP_STORE = .* write .*sqlite:///") as caught:
        store_by_url(url)
    assert "geheim" not in str(caught.value)


# ------------------------------------------------------------------ stubs, forgetting, heartbeats


@on_asyncio
async def test_a_delivered_page_can_turn_out_to_be_a_stub(store: FingerprintStore) -> None:
    id_ = await put(store, record())
    await store.settle(SITE, id_, "confirmed", 2000.0)
    await store.settle(SITE, id_, "stub", 3000.0)
    (found,) = (await store.read(SITE)).records
    assert (found.state, found.settled) == ("stub", True)
    await store.settle(SITE, id_, "confirmed", 4000.0)
    assert (await store.read(SITE)).records[0].state == "stub"


@on_asyncio
async def test_those_who_read_on_learn_what_was_forgotten(store: FingerprintStore, other: FingerprintStore) -> None:
    """In whatever state it was; and what never was is passed over."""
    ids = [await put(store, record(name)) for name in (b"a", b"b", b"c")]
    await store.settle(SITE, ids[0], "confirmed", 2000.0)
    seen = await other.read(SITE)
    await store.forget(SITE, [ids[0], ids[1], 999], 3000.0)
    news = await other.read(SITE, seen.cursor)
    assert {(found.id, found.state) for found in news.records} == {(ids[0], "released"), (ids[1], "released")}
    assert all(found.fingerprint == b"" for found in news.records)
    (left,) = [found for found in (await store.read(SITE)).records if found.state != "released"]
    assert left.id == ids[2]


@on_asyncio
async def test_a_forgotten_page_can_come_again(store: FingerprintStore) -> None:
    await store.forget(SITE, [await put(store, record())], 2000.0)
    id_ = await put(store, record())
    await store.settle(SITE, id_, "confirmed", 3000.0)
    assert [found.id for found in (await store.read(SITE)).records if found.state == "confirmed"] == [id_]


@on_asyncio
async def test_what_workers_know_of_each_other_is_in_no_journal(store: FingerprintStore) -> None:
    await store.set_default("secret", "ours")
    await store.heartbeat("w1", 1000.0)
    assert [name async for name in store.journals()] == []


@on_asyncio
async def test_the_last_heartbeat_of_each_worker_is_known(store: FingerprintStore, other: FingerprintStore) -> None:
    assert await store.heartbeats() == {}
    await store.heartbeat("w1", 1000.0)
    await store.heartbeat("w2", 1001.5)
    await store.heartbeat("w1", 1010.25)
    assert await other.heartbeats() == {"w1": 1010.25, "w2": 1001.5}


# ------------------------------------------------------------------ journals


@on_asyncio
async def test_a_journal_gives_its_notes_in_their_order(store: FingerprintStore, other: FingerprintStore) -> None:
    """Reading on gives only what is new, whoever wrote it; journals do not mix."""
    assert await store.read_notes("monday shop.example") == Notes((), 0)
    assert await store.put_note("monday shop.example", b"\x00a", b"one\xff") == b"one\xff"
    cursor = (await store.read_notes("monday shop.example")).cursor
    await other.put_note("monday shop.example", b"b", b"two")
    await other.put_note("tuesday", b"c", b"three")
    assert (await store.read_notes("monday shop.example")).values == (b"one\xff", b"two")
    later = await store.read_notes("monday shop.example", cursor)
    assert (later.values, later.complete) == ((b"two",), True)
    assert await store.read_notes("monday shop.example", later.cursor) == Notes((), later.cursor)
    assert [name async for name in store.journals()] == ["monday shop.example", "tuesday"]


@on_asyncio
async def test_a_note_takes_the_place_of_the_one_with_its_key(store: FingerprintStore) -> None:
    """At the end of the journal, so that those who have read the old one read the new one, too."""
    for key, value in ((b"a", b"one"), (b"b", b"two"), (b"a", b"three")):
        await store.put_note("j", key, value)
    assert (await store.read_notes("j")).values == (b"two", b"three")
    assert await store.get_note("j", b"a") == b"three"
    assert await store.get_note("j", b"c") is None
    assert await store.get_note("nowhere", b"a") is None


@on_asyncio
async def test_a_note_that_says_nothing_new_stays_where_it_is(store: FingerprintStore) -> None:
    for key, value in ((b"a", b"one"), (b"b", b"two"), (b"a", b"one")):
        await store.put_note("j", key, value)
    assert (await store.read_notes("j")).values == (b"one", b"two")


@on_asyncio
async def test_two_that_set_a_default_at_once_get_the_same(store: FingerprintStore, other: FingerprintStore) -> None:
    """As workers that begin on a new store: with another secret each, they would know nothing of each other."""
    for number in range(300):
        one, two = await asyncio.gather(store.set_default(f"{number}", "one"), other.set_default(f"{number}", "two"))
        assert one == two == await store.set_default(f"{number}", "three")


@on_asyncio
async def test_a_note_can_yield_to_what_is_there(store: FingerprintStore, other: FingerprintStore) -> None:
    assert await store.put_note("j", b"a", b"one", once=True) == b"one"
    assert await other.put_note("j", b"a", b"two", once=True) == b"one"
    assert (await store.read_notes("j")).values == (b"one",)


@on_asyncio
async def test_a_long_journal_comes_and_goes_in_parts(store: FingerprintStore) -> None:
    written = [b"%d" % number for number in range(2300)]
    for value in written:
        await store.put_note("j", value, value)
    read: list[bytes] = []
    tail = Notes((), 0, complete=False)
    while not tail.complete:
        tail = await store.read_notes("j", tail.cursor)
        assert len(tail.values) <= 2000
        read += tail.values
    assert read == written
    await store.put_note("k", b"a", b"one")
    await store.delete_journal("j")
    assert [name async for name in store.journals()] == ["k"]
    assert (await store.read_notes("j"), (await store.read_notes("k")).values) == (Notes((), 0), (b"one",))


@on_asyncio
async def test_a_journal_can_be_deleted(store: FingerprintStore) -> None:
    await store.put_note("j", b"a", b"one")
    await store.put_note("k", b"a", b"one")
    await store.delete_journal("j")
    await store.delete_journal("never")
    assert [name async for name in store.journals()] == ["k"]
    assert await store.read_notes("j") == Notes((), 0)
