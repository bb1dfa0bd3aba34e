"""What changed on a page: the text units that differ from those that its record kept of it, and its template.

1. Units of clocks are passed over, places whose text changes by itself. A long text that is a good part of its page is
   none, whatever stands at its place on other pages, unless it stands on them as well, as advertisements that take
   turns do. A text of the site that comes and goes is one as well, wherever it stands: it is known by its digest.
   Where a clock shares its row, the record may be older than what is known of the clocks: then it is in that
   row.
2. Where the digests of the two sequences are equal, nothing changed.
3. Else the rows of the two unit tables are compared as sets with repeats: first each with an equal one in the same
   place, then with one elsewhere. Rows that only one has are put together by their places: of as many as both have in a
   place the text was *edited*, the others were *added* or *removed*. A line with a number that stands where another
   line stood is known by its spot besides, the units around it: of "Thursday, 5 May" on the day after no word is left.
   So is one whose numbers alone differ, but for amounts: "by Ann, 12 views" has other words on each page. Where the
   words change by themselves, so do the numbers.
4. A unit that the other version has as boilerplate is no change: a redesign may move what is content to it.
5. With equal sets in another order, units were *reordered*. Where the order of boxes changes by itself, it is a clock
   of their tags, known by the place of the first text there.

A new template is told from new content by the structure of the page, a MinHash of its layout paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import are_among
from scrapy_simdedup.fingerprint.hashing import Rows, word_hasher
from scrapy_simdedup.fingerprint.novelty import FilterBank
from scrapy_simdedup.fingerprint.sketch import b_bit_values, minhash, minhash_resemblance
from scrapy_simdedup.fingerprint.text_units import (
    NUMBERED,
    SHARED_PLACE,
    Mask,
    PageUnits,
    Places,
    TextUnits,
    kept_places,
    place_behind,
    rows_of,
    sequence_digest,
    table_rows,
)
from scrapy_simdedup.page.amounts import MAX_LENGTH, has_number, is_counter, is_short

ORDER = 0x5BD1E995
"""What the place of the first of several units with the same tags around them is mixed with: the place of their order.
"""
SITE_TEXT = 0x7E570000
"""What the 16 bits of a text of the site are mixed with, for the place of its comings and goings."""
PAGE_PLACE = 1
"""The place of the title, which each page has, for lines beside which nothing else stands."""
MAX_CLOCK_SHARE = 0.25
"""The share of the words of a page's units up to which long texts are clocks."""


@dataclass(frozen=True, slots=True)
class UnitChanges:
    """How many text units of a page changed; where a long page keeps several in one row, these count as one."""

    added: int = 0
    removed: int = 0
    edited: int = 0
    reordered: int = 0

    def __bool__(self) -> bool:
        return any((self.added, self.removed, self.edited, self.reordered))

    def as_dict(self) -> dict[str, int]:
        """The counts that are not 0, by their names."""
        return {name: count for name in self.__slots__ if (count := getattr(self, name))}


class EditedText(NamedTuple):
    """A changed text, in its new version."""

    text: str
    """The beginning of the text, for people; in an archive it may be another text of its kind."""
    digest: int
    """The digest of the text."""


class UnitComparison(NamedTuple):
    """The text units of a page compared with what was kept of an earlier version."""

    changes: UnitChanges
    """What changed, but for clocks."""
    edited_places: dict[int, EditedText]
    """The places at which the text differs, clocks among them."""
    equal_places: frozenset[int]
    """The places with an equal text."""
    edited_share: float
    """The share of the words of the content that are in units without an equal one, but for clocks, 0..1."""
    edited_spots: dict[int, EditedText] = {}  # noqa: RUF012 - of a tuple
    """The spots of lines with a number that stand where others stood."""
    beside_spots: dict[int, int] = {}  # noqa: RUF012 - of a tuple
    """By edited spot the place of a unit beside it; by the place of an order that of the first unit."""
    came: dict[int, int] = {}  # noqa: RUF012 - of a tuple
    """By the 16 bits of each text that came, which block it is."""
    gone: frozenset[int] = frozenset()
    """The 16 bits of each text that is gone."""


def compare_units(
    units: PageUnits, before: TextUnits, clocks: Collection[int] = (), repeated: Mask | None = None
) -> UnitComparison:
    """Compare the text units of a page with those of an earlier version. Clocks are passed over.

    What other pages of the site say as well, ``repeated``, is no part of what was edited, and may be a clock however
    long it is; shape (m,).
    """
    is_joined = before.joined_by > 0
    is_own = units.in_table if repeated is None else units.in_table & ~repeated
    if clocks and not is_joined:
        clocks = set(clocks) - _places_of_page(units, is_own, clocks)
    table = table_rows(units, before.joined_by)
    if is_joined and clocks and sequence_digest(units.digests[table.blocks]) != before.sequence:
        table = table_rows(units, before.joined_by, clocks)
    rows, chosen, first, is_alone = table.rows, table.blocks, table.first, table.counts == 1
    places = units.places[chosen]
    if sequence_digest(units.digests[chosen]) == before.sequence:
        equal_spots = (spots[chosen].tolist() for spots in spots_of(units)[:2])
        return UnitComparison(UnitChanges(), {}, frozenset(chain(places.tolist(), *equal_spots)), 0.0)
    old = before.rows
    added, removed = _unpaired(rows, old)
    is_equal = ~are_among(np.arange(len(rows)), added)
    row_places = places[first] if len(rows) else places
    at = chosen[first]
    spots, number_spots, beside = (of_units[at] for of_units in spots_of(units))
    of_rows = row_places, spots, number_spots
    # Of units that share a row nobody knows which one differs.
    equal_places = frozenset(chain.from_iterable(of_row[is_equal & is_alone].tolist() for of_row in of_rows))
    removed_at = Counter(old["place"][removed].tolist())
    edited_places = {
        int(row_places[number]): _text_at(units, at[number])
        for number in added
        if is_alone[number] and removed_at[int(rows["place"][number])]
    }
    texts = {clock ^ SITE_TEXT for clock in clocks if clock >> 16 == SITE_TEXT >> 16}
    are_clocks = is_alone & (are_among(row_places, list(clocks)) | are_among(rows["digest"], list(texts)))
    is_edited = np.repeat(~is_equal & ~are_clocks, table.counts) & is_own[chosen]
    share = float(units.lengths[chosen][is_edited].sum() / max(1, units.lengths[chosen].sum()))
    kept_clocks = set(kept_places(clocks))
    edited_spots, beside_spots = dict[int, EditedText](), dict[int, int]()
    for one, other in _in_place_of_others(rows, added, old, removed, texts):
        has_words = rows["place"][one] == old["place"][other]
        is_shared = not is_alone[one] or old["place"][other] == SHARED_PLACE
        if is_shared or (has_words and (are_clocks[one] or not is_counter(units.samples[at[one]]))):
            continue
        spot = int(number_spots[one] if has_words else spots[one])
        if spot:
            edited_spots[spot], beside_spots[spot] = _text_at(units, at[one]), int(beside[one])
        # A clock whose text has no number now may have had one before: then that was known by its words.
        if (spot or int(row_places[one])) in clocks or int(spots[one]) in clocks:
            added.remove(one)
            removed.remove(other)
    came = {int(rows["digest"][number]): int(at[number]) for number in added if is_alone[number]}
    gone = frozenset(old["digest"][removed].tolist())
    added = [number for number in added if not are_clocks[number]]
    removed = [
        number
        for number, (digest, place) in zip(removed, old[removed].tolist(), strict=True)
        if place not in kept_clocks and digest not in texts
    ]
    if not is_joined:
        removed = _without_moves_to_boilerplate(units, before, removed)
        added = _without_moves_from_boilerplate(
            units, before, at, added, are_among(rows["place"], old["place"][removed])
        )
    edited = (Counter(rows["place"][added].tolist()) & Counter(old["place"][removed].tolist())).total()
    moved, orders = (0, {}) if added or removed else _compare_order(units, at, rows, old, clocks)
    changes = UnitChanges(len(added) - edited, len(removed) - edited, edited, moved)
    spots_and_orders = edited_spots | orders, beside_spots | {place: place ^ ORDER for place in orders}
    return UnitComparison(changes, edited_places, equal_places, share, *spots_and_orders, came, gone)


def _text_at(units: PageUnits, at: int) -> EditedText:
    return EditedText(units.samples[at], int(units.digests[at]))


def spots_of(units: PageUnits) -> tuple[Places, Places, Places]:
    """Two spots of each short line of the content with a number, and the place of a unit beside it; each (m,).

    A spot is made of the places of the nearest other units before and behind the line, and of how many lines of its
    kind stand between it and the former; the second one, for what has the same words, also of how many stand there in
    all. They are 0 for other units.
    """
    spots, number_spots, beside = (np.zeros(len(units.lengths), np.uint32) for _ in range(3))
    before, lines = 0, list[int]()
    for at in [*units.places.nonzero()[0].tolist(), -1]:
        sample = units.samples[at] if at >= 0 else ""
        if is_short(sample) and has_number(sample):
            lines.append(at)
            continue
        behind = int(units.places[at]) if at >= 0 else 0
        for number, line in enumerate(lines):
            spots[line] = crc32(b"%d %d %d" % (before, number, behind))
            beside[line] = before or behind or PAGE_PLACE
            number_spots[line] = crc32(b"%d %d of %d %d" % (before, number, len(lines), behind))
        before, lines = behind, []
    return spots, number_spots, beside


def _in_place_of_others(
    rows: NDArray[np.void], added: Sequence[int], old: NDArray[np.void], removed: Sequence[int], clocks: set[int]
) -> list[tuple[int, int]]:
    """The added rows that each stand in the place of a removed row, with these: as many between the same equal rows.

    Texts of ``clocks`` are not counted: they come and go.
    """
    if (np.delete(rows["digest"], added) != np.delete(old["digest"], removed)).any():
        return []
    gaps: dict[int, tuple[list[int], list[int]]] = {}
    for which, (numbers, digests) in enumerate(((added, rows["digest"].tolist()), (removed, old["digest"].tolist()))):
        for others, number in enumerate(numbers):
            if digests[number] not in clocks:
                gaps.setdefault(number - others, ([], []))[which].append(number)
    return [
        pair for ours, theirs in gaps.values() if len(ours) == len(theirs) for pair in zip(ours, theirs, strict=True)
    ]


def _places_of_page(units: PageUnits, is_own: Mask, clocks: Collection[int]) -> set[int]:
    """The clocks at whose places long texts of its own stand which are together more than a clock on this page."""
    at = (is_own & are_among(units.places, list(clocks))).nonzero()[0]
    long = [number for number in at.tolist() if len(units.samples[number]) > MAX_LENGTH]
    if units.lengths[long].sum() <= MAX_CLOCK_SHARE * units.lengths[units.in_table].sum():
        return set()
    return set(units.places[long].tolist())


def _unpaired(rows: NDArray[np.void], old: NDArray[np.void]) -> tuple[list[int], list[int]]:
    """The rows that only one of two tables has.

    Equal texts are told apart by their places, and so are the few texts of a page whose short digests are equal.
    """
    added, removed = list(range(len(rows))), list(range(len(old)))
    for ours, theirs in ((rows.tolist(), old.tolist()), (rows["digest"].tolist(), old["digest"].tolist())):
        added, removed = _without_pairs(added, ours, removed, theirs), _without_pairs(removed, theirs, added, ours)
    return added, removed


def _without_pairs(
    numbers: list[int], keys: Sequence[Hashable], others: list[int], other_keys: Sequence[Hashable]
) -> list[int]:
    """The rows of a table for whose keys the other table has no more rows; the first ones are paired first."""
    spare = Counter(other_keys[other] for other in others)
    left = []
    for number in numbers:
        if spare[keys[number]]:
            spare[keys[number]] -= 1
        else:
            left.append(number)
    return left


def _without_moves_to_boilerplate(units: PageUnits, before: TextUnits, removed: list[int]) -> list[int]:
    """The rows that a page lacks also outside of its content, where each unit has a row."""
    others = ~units.in_table
    elsewhere = set(rows_of(units.digests[others], units.places[others])["digest"].tolist())
    return [number for number in removed if int(before.rows["digest"][number]) not in elsewhere]


def _without_moves_from_boilerplate(
    units: PageUnits, before: TextUnits, at: Rows, added: list[int], were_edited: Mask
) -> list[int]:
    """The rows that an earlier version lacked also outside of its content; ``at`` says which block each row has.

    A few words more may be in no sample, so that the text seems to have stood there; where one is gone from its place
    it was edited.
    """
    asked = np.zeros(len(units.lengths), np.bool_)
    asked[at[added]] = True
    is_new = ~FilterBank([before]).have(units, asked, 1.0)[0][at] | were_edited
    return [number for number in added if is_new[number]]


def _compare_order(
    units: PageUnits, at: Rows, rows: NDArray[np.void], old: NDArray[np.void], clocks: Collection[int]
) -> tuple[int, dict[int, EditedText]]:
    """How many rows of equal sets stand in another order, but for clocks, and by its place each order that differs.

    ``at`` says which block each row begins with.
    """
    groups = _first_places(units)[at]
    orders = dict[int, EditedText]()
    for number in _moved(rows, old, clocks):
        if groups[number]:
            text, digest = _text_at(units, at[number])
            orders[int(groups[number]) ^ ORDER] = EditedText(f"(the order) {text}", digest ^ ORDER)
    moved = len(_moved(rows, old, clocks, rows["digest"][are_among(groups ^ ORDER, list(clocks))].tolist()))
    if not moved and rows["digest"].tolist() == old["digest"].tolist():
        moved = 1  # two units that share a row, whose sum is the same in any order
    return moved, orders


def _moved(
    new: NDArray[np.void], old: NDArray[np.void], clocks: Collection[int], unordered: Collection[int] = ()
) -> list[int]:
    """The new rows that stand where another one stood, of equal sets; those of clocks and some digests do not count."""
    common = (Counter(new["digest"].tolist()) & Counter(old["digest"].tolist())).keys() - set(unordered)
    kept = set(kept_places(clocks))
    one, two = (
        [(at, digest) for at, (digest, place) in enumerate(rows.tolist()) if digest in common and place not in kept]
        for rows in (new, old)
    )
    return [at for (at, ours), (_, theirs) in zip(one, two, strict=False) if ours != theirs]


def _first_places(units: PageUnits) -> Places:
    """For each unit the place of the first one with the same tags around it, 0 where none is known; shape (m,).

    The place of a line with a number is made of its words, so it goes with the unit before it.
    """
    made, after, last = np.zeros(len(units.lengths), np.uint32), dict[int, tuple[int, int]](), 0
    for at in units.in_table.nonzero()[0].tolist():
        if int(units.digests[at]) >> 30 != NUMBERED:
            place = int(units.places[at])
            last, number = after.pop(place, (place, 1))
            after[place_behind(last, number)] = last, number + 1
        made[at] = last
    return made


STRUCTURE_SIZE = 64
"""Bytes of a structure, one for each permutation."""
SAME_TEMPLATE = 0.6
"""Resemblance from which two structures come from one template."""
Change: TypeAlias = Literal["none", "content", "template", "both"]
"""The kind of change of a page: none, content, template, or both."""


def structure_minhash(paths: Collection[str], secret: bytes = b"") -> bytes:
    """The structure of a page with some :func:`~scrapy_simdedup.page.page.layout_paths`, with hashes under a secret."""
    digest = word_hasher(secret).digest
    raw = b"".join(digest(path.encode("utf-8", "surrogatepass")) for path in paths)
    return b_bit_values(minhash(np.frombuffer(raw, "<u8").astype(np.uint64, copy=False), STRUCTURE_SIZE), 8).tobytes()


def structure_resemblance(one: bytes, other: bytes) -> float:
    """Estimate the share of layout paths that two pages have in common, 0 to 1; the standard error is 0.06 at most."""
    return float(minhash_resemblance(np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8)[None])[0])


def what_changed(*, same_content: bool, one: bytes, other: bytes) -> Change:
    """Tell a redesign from an edit, by two structures and whether the fingerprints are alike."""
    if structure_resemblance(one, other) >= SAME_TEMPLATE:
        return "none" if same_content else "content"
    return "template" if same_content else "both"
