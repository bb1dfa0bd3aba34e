"""How alike a page is to originals of its site: what both fingerprints say, what the site repeats, who was dropped.

Pages that may share nothing but what their site repeats are no copies, however alike; nor is a page that is not like
those that were dropped for the same original.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.detect.originals import method_of
from scrapy_simdedup.detect.repeats import Repeats
from scrapy_simdedup.detect.voters import NOBODY, Voters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.detect.originals import Originals
    from scrapy_simdedup.detect.scan import Rows
    from scrapy_simdedup.detect.site_text import SiteText
    from scrapy_simdedup.detect.voters import Place
    from scrapy_simdedup.fingerprint.evidence import Evidence
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.store.base import Record
    from scrapy_simdedup.store.shelf import Shelf

JUST_BELOW = 0.995
"""What is left of the line of what is dropped, for a page that is like another and no copy of it."""


class Likeness:
    """That of one site.

    Args:
        shelf: the site's records.
        originals: those among them that are searched.
        learns: whether what the site repeats is learned.
    """

    def __init__(self, shelf: Shelf, originals: Originals, *, learns: bool) -> None:
        self._originals, self._learns = originals, learns
        self._voters, self._repeats = Voters(shelf, originals), Repeats(shelf, originals)
        self._asked: tuple[bytes, Place] = b"", NOBODY
        """The page asked about last, by its bytes as they came, and an original that it is a version of."""

    @property
    def size(self) -> int:
        """Bytes, about."""
        return self._voters.size + self._repeats.size

    def add_original(self, record: Record, slot: int, fp: PageFingerprint) -> None:
        """A page came that is searched from now on."""
        if self._learns and fp.unjudged is None:
            body, older = self._asked
            self._voters.add(record, slot, older if body == fp.body else None)
            self._asked = b"", NOBODY

    def add_repeat(self, record: Record, slot: int) -> None:
        """A page was dropped."""
        self._repeats.add(record, slot)

    def similarity(self, fp: PageFingerprint, key: bytes, rows: Rows, drop: float) -> NDArray[np.float64]:
        """How alike a page is to originals; below ``drop`` where it is no copy.

        Args:
            fp: the page's fingerprint.
            key: who the page is.
            rows: the slots of the originals, which can be compared with it.
            drop: similarity from which it is dropped.
        """
        self._asked = fp.body, NOBODY
        if fp.unjudged or not len(rows):
            return np.ones(len(rows))
        many = self._originals.evidence(rows)
        found = fp.weigh(many)
        if self._learns:
            self._asked = fp.body, self._voters.older_version(found, rows, key)
        alike = found.similarity
        asked = np.flatnonzero((alike >= drop) & ~found.equal)
        if not len(asked):
            return alike
        text = self._voters.text(method_of(fp)) if self._learns else None
        alike[asked] = _unexplained(fp, many[asked], found.of(asked), drop, text)
        copied = asked[alike[asked] >= drop].tolist()
        repeats = [(at, slot) for at in copied for slot in self._repeats.of(rows[at], key, drop)]
        if repeats:
            at, slots = np.array(repeats, np.intp).T
            many = self._originals.evidence(slots)
            unlike = _unexplained(fp, many, fp.weigh(many), drop, text) < drop
            alike[at[unlike]] = JUST_BELOW * drop
        return alike

    def explains(self, one: PageFingerprint, other: PageFingerprint, drop: float) -> bool:
        """Whether what two judged pages have in common, alike from ``drop`` on, may be what the site repeats."""
        if not self._learns:
            return False
        row, many = one.evidence[0], other.evidence
        return bool(self._voters.text(method_of(one)).explains(row, many, one.weigh(many), drop)[0])


def _unexplained(
    fp: PageFingerprint, many: NDArray[np.void], found: Evidence, drop: float, text: SiteText | None
) -> NDArray[np.float64]:
    """What :meth:`PageFingerprint.compare` says, for many at once, and what the site has to say to it."""
    alike = found.similarity
    if text is not None:
        explained = text.explains(fp.evidence[0], many, found, drop)
        alike[explained & (alike >= drop)] = JUST_BELOW * drop
    return alike
