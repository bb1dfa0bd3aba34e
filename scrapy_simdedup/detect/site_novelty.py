"""Site novelty: whether a page that would be dropped says something that its site did not say before.

1. *Ask* only for pages that would be dropped, and only for those of their text units that the kept copies of their
   content lack, all copies together (:mod:`scrapy_simdedup.fingerprint.novelty`).
2. *While the site is unknown*, only units of the content count: a pair of pages cannot tell an advertisement from a
   comment.
3. *Once it is known*, a unit counts in boilerplate as well, unless pages with other contents have it, too: a teaser
   stands on other pages, a comment does not. What is called an advertisement is no unit, however new it is. On short
   pages fewer words count, but of the content alone: an advertisement of a dozen words may well be new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint import novelty
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from scrapy_simdedup.detect.candidate_index import CandidateIndex
    from scrapy_simdedup.detect.copy_check import CopyCheck
    from scrapy_simdedup.fingerprint.hashing import Rows
    from scrapy_simdedup.fingerprint.text_units import Mask, PageUnits, TextUnits
    from scrapy_simdedup.store.packed_records import PackedRecords


def own_word_limit(fp: PageFingerprint, novel_words: int) -> int:
    """Words of a unit above which it is a text of the page's own."""
    return 0 if fp.page_units is None else novelty.own_word_limit(fp.page_units, novel_words)


class SiteNovelty:
    """The novelty of pages of one site.

    Args:
        records: the site's records.
        originals: those of them that pages are compared with.
        copy_check: knows which pages stand for the site.
    """

    def __init__(self, records: PackedRecords, originals: CandidateIndex, copy_check: CopyCheck) -> None:
        self._records, self._originals, self._copy_check = records, originals, copy_check
        self._units: dict[int, tuple[int, TextUnits | None]] = {}
        """By the slot of a page that stands for the site, the id of its record and the text units."""
        self._filters = novelty.FilterBank([])
        """The filters of these pages."""

    def own_words(
        self,
        fp: PageFingerprint,
        rows: Rows,
        are_copied: NDArray[np.bool_],
        key: bytes,
        *,
        novel_words: int,
        clocks: Collection[int],
        in_work: bool = False,
    ) -> int | None:
        """Words of the page's longest text unit that the originals it is a copy of lack.

        Args:
            fp: the page's fingerprint.
            rows: the slots of the originals that the page is near.
            are_copied: whether it is a copy of each, as far as their texts are alike; shape (n,).
            key: the page's request fingerprint.
            novel_words: words from which a unit of the boilerplate counts, on short pages as well.
            clocks: places of the site whose text changes by itself.
            in_work: count originals that are in work beside delivered ones, though they may be released.

        Returns:
            None where it is a copy of none, or where text units are not known.
        """
        copied = rows[are_copied]
        delivered = copied[self._originals.delivered(copied) == 2]  # others may be released, and their text with them
        chosen = (delivered if len(delivered) and not in_work else copied).tolist()
        records = [self._records[row] for row in chosen]
        found = [PageFingerprint.from_bytes(record.fingerprint) for record in records if record.key != key]
        if any(other.exact == fp.exact and not fp.unjudged for other in found):
            return 0
        kept = [other.units for other in found if other.units is not None]
        units = fp.page_units
        if units is None or not kept or len(kept) < len(found):
            return None
        near = set(rows.tolist())
        sample = [row for row in self._copy_check.sampled_pages(fp) if row not in near]
        asked = ~units.pass_over if sample else units.of_content
        if clocks:
            asked &= ~np.isin(units.places, list(clocks))
        words = novelty.own_words(units, kept, asked)
        words[~units.of_content & (words <= novel_words)] = 0
        limit = novelty.own_word_limit(units, novel_words)
        if sample and words.max(initial=0) > limit:  # shorter texts keep no page, wherever else they stand
            words[self._on_other_pages(units, words > limit, sample)] = 0
        most = int(words.max(initial=0))
        return most if most > novelty.MIN_OWN_WORDS else 0

    def _on_other_pages(self, units: PageUnits, asked: Mask, sample: Sequence[int]) -> Mask:
        """Which of the blocks that are asked for stand on other pages of the site."""
        known = self._units
        self._units = {row: self._units_of(row) for row in sample}
        if self._units != known:
            self._filters = novelty.FilterBank([of for _, of in self._units.values() if of is not None])
        found: Mask = np.logical_or.reduce(novelty.are_on(units, self._filters, asked))
        return found

    def _units_of(self, row: int) -> tuple[int, TextUnits | None]:
        """The id of a record and the text units of its page; to read the fingerprint takes most of the time."""
        id_, known = self._records.ids[row], self._units.get(row)
        if known is not None and known[0] == id_:
            return known
        return id_, PageFingerprint.from_bytes(self._records[row].fingerprint).units
