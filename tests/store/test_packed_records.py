"""Records come back from packed records as they went in, and what goes makes room."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simdedup.fingerprint.similarity import COMPARISON_DTYPE
from scrapy_simdedup.fingerprint.sketch import pack_row, unpack_row
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.store.packed_records import InternTable, PackedRecords

BIG = 2**52
KEYS = [b"a", b"b", b"c", b"d"]
times = st.floats(0, 4e9)
texts = st.text(max_size=20)
records = st.builds(
    Record,
    url=st.one_of(st.just("https://shop.example/\ud800"), st.text(max_size=40)),
    key=st.binary(min_size=1, max_size=32),
    fingerprint=st.binary(max_size=600) | st.binary(max_size=20).map(lambda some: 20 * some + bytes(600)),
    run=texts,
    worker=texts,
    state=st.sampled_from(["reserved", "confirmed", "released", "duplicate", "stub", "itemless"]),
    kind=texts,
    similarity=st.none() | st.floats(0, 1),
    original=st.none() | st.binary(min_size=1, max_size=32) | st.sampled_from(KEYS),
    first_seen=times,
    last_seen=times,
    last_changed=times,
    visits=st.integers(0, 2**32 - 1),
    changes=st.integers(0, 2**32 - 1),
    handler=texts,
    id=st.integers(1, BIG),
    position=st.integers(1, BIG),
)


def short(key: bytes, id_: int = 1, state: str = "reserved", url: str = "https://shop.example/") -> Record:
    return Record(url, key, b"print", "run", "worker", state, "new", None, None, 1.0, 1.0, 1.0, 1, 0, "", id_, id_)  # type: ignore[arg-type]


@given(records)
def test_a_record_comes_back_as_it_went_in(record: Record) -> None:
    packed = PackedRecords(InternTable())
    slot = packed.put(record)
    assert packed[slot] == record
    assert (packed.key(slot), packed.position(slot)) == (record.key, record.position)
    assert (packed.state(slot), packed.original(slot)) == (record.state, record.original)
    assert packed.slots(record.key) == [slot]
    for size in (len(record.fingerprint) // 2, min(COMPARISON_DTYPE.itemsize, len(record.fingerprint))):
        assert packed.tails([slot, slot], size) == 2 * record.fingerprint[len(record.fingerprint) - size :]


@given(st.lists(st.tuples(st.sampled_from(KEYS), st.integers(1, 12), records)))
def test_packed_records_hold_what_a_dictionary_would_hold(puts: list[tuple[bytes, int, Record]]) -> None:
    """The newest of each id, without versions that a settled one took the place of."""
    interned, model = InternTable(), dict[tuple[bytes, int], Record]()
    packed = PackedRecords(interned)
    for key, id_, record in puts:
        put = record._replace(key=key, id=id_)
        assert packed[packed.put(put)] == put
        model[key, id_] = put
        if put.settled:
            model = {at: other for at, other in model.items() if at[0] != key or at[1] >= id_}
        assert {(other.key, other.id): other for other in packed} == model
        assert len(packed) == sum(other.state != "released" for other in model.values())
        for name in KEYS:
            assert sorted(packed[slot].id for slot in packed.slots(name)) == sorted(
                id_ for at, id_ in model if at == name
            )
    again = PackedRecords(interned, packed.to_bytes())
    assert (list(again), len(again)) == (list(packed), len(packed))
    for key, id_, record in puts:
        put = record._replace(key=key, id=id_ + 12)
        assert again[again.put(put)] == packed[packed.put(put)]
    assert set(again) == set(packed)


def test_a_repeat_takes_a_part_of_its_original_and_stays_when_that_goes() -> None:
    packed, rng = PackedRecords(InternTable()), random.Random(0)
    page = rng.randbytes(800)
    original = short(b"original", 1, "confirmed")._replace(fingerprint=page)
    at = packed.put(original)
    repeats = [
        short(b"%d" % id_, id_, "duplicate")._replace(original=b"original", fingerprint=page[:500] + page[510:])
        for id_ in range(2, 100)
    ]
    before = packed.size
    slots = [packed.put(repeat) for repeat in repeats]
    assert packed.size - before < 98 * 200
    assert packed.put(original._replace(state="stub")) == at
    assert packed.size - before < 98 * 200
    packed.drop(at)
    assert [packed[slot] for slot in slots] == repeats


def test_rows_without_empty_cells_come_back() -> None:
    rng = random.Random(0)
    for share in (0.0, 0.1, 0.4, 0.7, 1.0):
        cells = [12 + rng.randrange(4) if rng.random() < share else 0 for _ in range(776)]
        cells = [cell and rng.choice([cell, cell, cell, cell - 4, cell - 8]) for cell in cells]
        row = rng.randbytes(102) + bytes(high << 4 | low for high, low in zip(cells[::2], cells[1::2], strict=True))
        assert unpack_row(pack_row(row), 102) == row
        assert len(pack_row(row)) < len(row) or share > 0.6
    for _ in range(9):
        row = rng.randbytes(490)
        assert unpack_row(pack_row(row), 102) == row


def test_many_keys_are_told_apart() -> None:
    packed = PackedRecords(InternTable())
    slots = {b"%d" % number: packed.put(short(b"%d" % number, number + 1)) for number in range(5_000)}
    assert all(packed.slots(key) == [slot] for key, slot in slots.items())
    assert packed.slots(b"none of them") == []


def test_a_page_that_is_fetched_again_and_again_takes_no_more_room() -> None:
    packed = PackedRecords(InternTable())
    for id_ in range(1, 100):
        packed.put(short(b"page", id_, "confirmed"))
    size = packed.size
    for id_ in range(100, 20_000):
        packed.put(short(b"page", id_, "confirmed"))
    assert packed.size == size
    assert len(packed) == 1


def test_a_slot_is_another_records_when_its_own_went() -> None:
    packed = PackedRecords(InternTable())
    slot = packed.put(short(b"one", 1))
    packed.drop(slot)
    assert packed.slots(b"one") == []
    assert packed.put(short(b"two", 2)) == slot
    assert packed.slots(b"one") == []
    assert [record.key for record in packed] == [b"two"]
