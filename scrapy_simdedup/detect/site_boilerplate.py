"""The boilerplate of a site: text that its pages repeat, learned from the sketches of the pages that were kept.

Terms, shipping notes, words for search engines: pages that share nothing else are no copies of each other. Two pages
cannot tell which text belongs to their site; many pages can. Nothing is stored, since it all follows from the records.

1. *Sample.* The newest 64 originals of the site are chosen, one version per page. Originals that are near-duplicates of
   older originals are left out: else a page with many near-duplicates would make its own text the site's
   (:class:`BoilerplateSample`).
2. *Count.* A bin of a sketch holds one cell: the class of a feature and two bits of its hash. A cell that at least
   three pages of the sample, and 30 % of them, hold in the same bin is boilerplate (:class:`SiteBoilerplate`). With
   fewer than five pages in the sample the site is unknown.
3. *Take away.* Of two pages that are compared, the bins that both share and that hold boilerplate are emptied.
4. *Compare the rest.* The pages are no copies if what is left of their content resembles itself by less than 0.5.
   Where too little content is left to be judged, everything that is left is taken instead, and headlines count.
5. *While the site is unknown*, all common text may be boilerplate. The pages are no copies then if their headlines
   differ, or if each has text of its own and their resemblance is close to the drop threshold, or if they are short and
   differ in more than an edit (:meth:`SiteBoilerplate.is_only_boilerplate`).

Pages with equal texts are copies in any case.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from hashlib import blake2b
from math import ceil
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.detect.candidate_index import CandidateIndex
from scrapy_simdedup.fingerprint.features import HASHES_PER_SIGNATURE
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.hashing import Rows
from scrapy_simdedup.fingerprint.novelty import FilterBank, have_rows
from scrapy_simdedup.fingerprint.similarity import (
    BELOW_IDENTICAL,
    BELOW_THRESHOLD_FACTOR,
    FREE_SIGNATURES,
    NEAR_RESEMBLANCE,
    UNSHARED_PENALTY,
    Scores,
    estimate_own_resemblance,
    resemblance_for_similarity,
)
from scrapy_simdedup.fingerprint.text_units import Mask, PageUnits
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.store.packed_records import PackedRecords

MIN_SAMPLE = 5
"""Pages that the sample must have before the site's boilerplate is known."""
SAMPLE_SIZE = 64
"""Pages in the sample: the newest, so that a site may change."""
RECENT_ORIGINALS = 2 * SAMPLE_SIZE
"""Originals that are remembered as the newest; the sample is smaller where many are versions of others."""
MIN_SHARE, MIN_PAGES = 0.3, 3
"""The share of the sample, and the number of its pages, from which a cell that they hold is boilerplate."""
MIN_OWN_WEIGHT = 2.0
"""The weight of own content from which it can be judged."""
OWN_CONTENT_RESEMBLANCE = 0.5
"""Resemblance of the own content from which two pages have the same. It is lower than that of whole pages: where a site
repeats much text, an edit changes a larger part of the rest."""
SAFETY_MARGIN = 0.025
"""How far above the drop threshold pages with text of their own must be while the site is unknown."""
MAX_BOILERPLATE_SIGNATURES = 256
"""Text units, 1,500 to 2,500 words, up to which a page may consist of boilerplate but for a few; longer ones do not."""
MIN_ADDED_SIGNATURES = 15
"""Text units that one page must add to a short page of an unknown site to be another page."""
MAX_EDITED_SIGNATURES, MAX_SHINGLES_PER_EDIT = 12, 2.5
"""The limits of an edit: the text units that only one of two pages has, and the shingles by which the texts differ for
each of these units. Another word changes three shingles, and the rest of its line counts as units of its own; new
passages bring all their shingles. Short lines, such as a name and a price, can do with as few: where title and h1 do
not say that the pages are one, nothing counts as an edit."""
RecordSlot: TypeAlias = tuple[int, int]
NO_RECORD: RecordSlot = 0, 0
_NOT_COMPARED: RecordSlot = (1 << 64) - 1, 0
_ROW = np.dtype([("key", "<u8"), ("id", "<u8"), ("slot", "<u8"), ("older", "<u8"), ("older_slot", "<u8")])
_PACKED = struct.Struct("<8s4Q")


class BoilerplateSample:
    """The sample from which a site's boilerplate is learned, in bounded memory.

    The sample follows from the live records alone: neither from how often a page was delivered or failed, nor from the
    parts in which a log was read.
    """

    def __init__(self, records: PackedRecords, originals: CandidateIndex) -> None:
        self._records, self._originals = records, originals
        self._newest = bytearray()
        """Rows of originals, each with an older original that it is a version of."""
        self._last_id = 0

    @property
    def size(self) -> int:
        """Bytes that the sample takes, about."""
        return len(self._newest)

    def add(self, record: Record, slot: int, older: RecordSlot | None) -> None:
        """Take an original in.

        ``older`` is an original that it is a version of, or :data:`NO_RECORD`; None if that was not looked up yet.
        """
        if record.id < self._last_id:  # an older record is back: newer originals may be versions of it
            rows = np.frombuffer(self._newest, _ROW)
            rows["older"][rows["older"] == NO_RECORD[0]] = _NOT_COMPARED[0]
            del rows  # a buffer with a view on it cannot grow
        self._last_id = max(self._last_id, record.id)
        key = blake2b(record.key, digest_size=8).digest()
        self._newest += _PACKED.pack(key, record.id, slot, *(older or _NOT_COMPARED))
        if len(self._newest) > 2 * RECENT_ORIGINALS * _ROW.itemsize:
            del self._newest[: RECENT_ORIGINALS * _ROW.itemsize]

    def boilerplate(self, chosen: list[int]) -> SiteBoilerplate:
        """The boilerplate of the pages that were :meth:`chosen` for a judged page."""
        return SiteBoilerplate(self._originals.comparison_rows(np.array(chosen, np.intp))["cells"])

    def older_version(self, scores: Scores, rows: Rows, key: bytes) -> RecordSlot:
        """The first of some originals that a page is a version of: it is near, and its headlines are the same.

        It gives the original's record, or :data:`NO_RECORD`. A page is no version of itself.
        """
        for slot in rows[(scores.resemblance >= NEAR_RESEMBLANCE) & ~scores.headline_differs].tolist():
            if self._records.key(slot) != key:
                return self._records.ids[slot], slot
        return NO_RECORD

    def chosen(self, fp: PageFingerprint) -> list[int]:
        """The slots of the sampled originals that can be compared with a page, the newest first, however few."""
        rows, originals = np.frombuffer(self._newest, _ROW), self._originals
        at = np.argsort(rows["id"])[::-1]
        at = at[originals.are_live(rows["slot"][at], rows["id"][at], fp)]
        _, newest = np.unique(rows["key"][at], return_index=True)
        at = at[np.sort(newest)]
        is_stale = (rows["older"] != NO_RECORD[0]) & ~originals.are_live(rows["older_slot"], rows["older"], fp)
        sample: list[int] = []
        slots, olders = rows["slot"].tolist(), rows["older"].tolist()
        for row, stale in zip(at.tolist(), is_stale[at].tolist(), strict=True):
            slot, older = slots[row], olders[row]
            if stale:
                older, rows["older_slot"][row] = self._find_older_version(slot)
                rows["older"][row] = older
            if older == NO_RECORD[0]:
                sample.append(slot)
                if len(sample) == SAMPLE_SIZE:
                    break
        return sample

    def _find_older_version(self, slot: int) -> RecordSlot:
        record = self._records[slot]
        fp = PageFingerprint.from_bytes(record.fingerprint)
        candidates = self._originals.candidates(fp, record.key)
        candidates = candidates[self._originals.ids(candidates) < record.id]
        return self.older_version(fp.score(self._originals.comparison_rows(candidates)), candidates, record.key)


class OtherPages:
    """The pages that stand for a site beside a page: none of them is near it.

    Args:
        sampled: how many pages stand for the site, those among them that the page is near.
        count: how many pages stand for it without those.
        headlines: gives what the method compares of these pages, their h1s and titles among it.
        texts: gives the text units of these pages.
    """

    def __init__(
        self, sampled: int, count: int, headlines: Callable[[], NDArray[np.void]], texts: Callable[[], FilterBank]
    ) -> None:
        self.sampled, self._headlines, self._texts = sampled, headlines, texts
        self.are_known: bool = sampled >= MIN_SAMPLE and count > 0
        """Whether the pages are enough to tell what a site says on many of its pages."""

    def have(self, units: PageUnits, asked: Mask) -> Mask:
        """Which of the blocks that are asked for stand on one of the pages."""
        return np.logical_or.reduce(self._texts().have(units, asked)) if asked.any() else asked

    def have_rows(self, units: PageUnits) -> Mask:
        """Which blocks stand on one of the pages at the same place."""
        return have_rows(units, [of for of in self._texts().units if not of.joined_by])

    def count(self, name: str, headline: int) -> int:
        """How many of the pages have an ``h1`` or a ``title``."""
        return int(np.count_nonzero(self._headlines()[name] == headline))


class SiteBoilerplate:
    """The cells that the pages of a sample repeat in each bin of their sketches."""

    def __init__(self, sketches: NDArray[np.uint8]) -> None:
        self._sample = sketches
        self._is_known = len(sketches) >= MIN_SAMPLE
        self._least_pages = max(MIN_PAGES, ceil(MIN_SHARE * len(sketches)))

    def lower(
        self, similarity: NDArray[np.float64], one: np.void, many: NDArray[np.void], scores: Scores, drop: float
    ) -> NDArray[np.float64]:
        """Lower similarities below ``drop`` where pages share only boilerplate; see :meth:`is_only_boilerplate`."""
        vetoed = self.is_only_boilerplate(one, many, scores, drop)
        similarity[vetoed & (similarity >= drop)] = BELOW_THRESHOLD_FACTOR * drop
        return similarity

    def is_only_boilerplate(
        self, one: np.void, many: NDArray[np.void], scores: Scores, drop: float
    ) -> NDArray[np.bool_]:
        """Whether a page may share nothing but boilerplate with each of many pages: steps 3 to 5 of this module."""
        other_name = scores.headline_differs & ~scores.both_long
        if not self._is_known:
            line = resemblance_for_similarity(drop)
            is_low = scores.resemblance - UNSHARED_PENALTY * scores.unshared < line + SAFETY_MARGIN
            is_unsafe = is_low & (scores.unshared >= 1) & ~scores.both_long
            if line > BELOW_IDENTICAL:
                sizes, size = many["signatures"] / HASHES_PER_SIGNATURE, int(one["signatures"]) / HASHES_PER_SIGNATURE
                unlike = (scores.unshared > FREE_SIGNATURES) | (np.abs(sizes - size) >= MIN_ADDED_SIGNATURES)
                is_unsafe |= unlike & (np.minimum(sizes, size) < MAX_BOILERPLATE_SIGNATURES)
            return (other_name | (is_unsafe & ~_is_edited(one, many, scores))) & ~scores.equal
        own = estimate_own_resemblance(one["cells"], many["cells"], self._sample, self._least_pages)
        (of_content, of_all), (weights, _) = own
        is_unlike: NDArray[np.bool_] = np.where(
            weights >= MIN_OWN_WEIGHT,
            of_content < OWN_CONTENT_RESEMBLANCE,
            other_name | (of_all < OWN_CONTENT_RESEMBLANCE),
        )
        return is_unlike & ~scores.equal


def _is_edited(one: np.void, many: NDArray[np.void], scores: Scores) -> NDArray[np.bool_]:
    """Whether two pages have the same title and h1, and differ in some edited lines at most."""
    named = [(many[name] == one[name]) & (many[name] != 0) for name in ("title", "h1")]
    sizes, size = many["signatures"].astype(np.intp), int(one["signatures"])
    units = 2 * scores.unshared + np.abs(sizes - size) / HASHES_PER_SIGNATURE
    unlike = (1 - scores.resemblance) / (1 + scores.resemblance)  # of the shingles of both
    shingles = unlike * (many["content"].astype(np.intp) + int(one["content"]))
    is_small = (units <= MAX_EDITED_SIGNATURES) & (shingles <= MAX_SHINGLES_PER_EDIT * units)
    edited: NDArray[np.bool_] = named[0] & named[1] & is_small
    return edited
