"""The pages of one site, in memory: their versions by key, the originals that are searched, what the site repeats."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.detect.originals import Originals, method_of
from scrapy_simdedup.detect.seniority import Seniority
from scrapy_simdedup.detect.site_text import SiteText
from scrapy_simdedup.fingerprint.evidence import NEAR, weigh
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_simdedup.detect.scan import Rows
    from scrapy_simdedup.fingerprint.evidence import Evidence
    from scrapy_simdedup.store.base import Record, Tail

SEARCHED = frozenset({"reserved", "confirmed", "stub"})
"""States of the records that a page is compared with."""
VOTERS = 256
"""Pages of one tail, the newest, that say what the site repeats: the votes of older ones would be halved four times."""
JUST_BELOW = 0.995
"""What is left of the line of what is dropped, where the site's own text explains why two pages are alike."""


@dataclass(frozen=True, slots=True)
class Match:
    """An original that a page is like."""

    record: Record
    similarity: float
    """Share of common content, 0..1."""
    distance: int
    """Differing bits of the simhashes."""


class SiteIndex:
    """What a site's log comes to, up to a cursor.

    Args:
        bits: width of the simhashes.
        run: the only run whose pages are searched; None searches those of all.
        of_all: whether this is the one site of all domains, of which a younger one displaces no older one's pages.
    """

    def __init__(self, bits: int, run: str | None = None, *, of_all: bool = False) -> None:
        self.cursor = 0
        """The site's counter up to which the log was applied."""
        self._run = run
        self._versions: dict[bytes, tuple[Record, ...]] = {}
        self._originals = Originals(bits)
        self._seniority = Seniority() if of_all else None
        self._texts: dict[int, SiteText] = defaultdict(SiteText)
        """By the way in which the pages' texts were found."""
        self._asked: tuple[bytes, bool] = b"", False
        """The page asked about last, by its bytes as they came, and whether it is a version of an original."""

    def __len__(self) -> int:
        return len(self._versions)

    # ------------------------------------------------------------------ taking in the log

    def apply(self, tail: Tail) -> None:
        """Take in what happened. Tails may overlap: what is known already is passed over."""
        new = [record for record in tail.records if record.position > self.cursor and self._apply(record)]
        self.cursor = max(self.cursor, tail.cursor)
        for record in sorted(new, key=lambda record: record.id)[-VOTERS:]:
            self._let_vote(record)

    def _apply(self, record: Record) -> bool:
        """Take a record in; whether it is an original that was not known."""
        if self._seniority is not None:
            self._seniority.see(record)
        live = [] if record.state == "released" else [record]
        known = False
        for version in self._versions.pop(record.key, ()):
            known |= version.id == record.id
            if version.id == record.id or (record.settled and version.id < record.id):
                self._originals.remove(version.id)
            else:
                live.append(version)
        if live:
            self._versions[record.key] = tuple(sorted(live, key=lambda version: version.id))
        searched = record.state in SEARCHED and self._run in {None, record.run} and self._originals.add(record)
        return searched and not known

    def _let_vote(self, record: Record) -> None:
        """Let a page say what its site repeats, unless it is a version of one that said so before."""
        fp = PageFingerprint.from_bytes(record.fingerprint)
        if fp.unjudged:
            return
        body, is_version = self._asked
        one = fp.evidence[0]
        if body != fp.body:
            rows = self._originals.candidates(fp, record.key)
            rows = rows[self._originals.ids[rows] < record.id]
            is_version = _is_version(weigh(one, self._originals.evidence(rows)))
        if not is_version:
            self._texts[method_of(fp)].vote(one["cells"])

    # ------------------------------------------------------------------ asking

    def past(self, key: bytes, run: str) -> Record | None:
        """The newest version of a page that was delivered, dropped for another, or fetched in this very run."""
        versions = self._versions.get(key, ())
        return next((version for version in reversed(versions) if version.settled or version.run == run), None)

    def records(self) -> Iterator[Record]:
        """All that are known, in no order."""
        for versions in self._versions.values():
            yield from versions

    def same_body(self, body: bytes, key: bytes) -> PageFingerprint | None:
        """The fingerprint of a page with these bytes, if one is at hand: the page itself before, or an original."""
        known = list(self._versions.get(key, ()))
        known += [self._originals.records[row] for row in self._originals.same_body(body)[:1]]
        found = (PageFingerprint.from_bytes(record.fingerprint) for record in known)
        return next((fp for fp in found if fp.body == body), None)

    def closest(self, fp: PageFingerprint, key: bytes, url: str, *, drop: float, near: float) -> Match | None:
        """The original of another key that decides about a page.

        That is the most similar one: of the delivered ones from ``drop`` on, else of those still in work from ``drop``
        on, else of all from ``near`` on. Of equals it is the oldest. Pages that may share nothing but what their site
        repeats stay below ``drop``.
        """
        originals = self._originals
        rows = originals.candidates(fp, key)
        alike = self._similarity(fp, rows, drop)
        rows, alike = rows[alike >= near], alike[alike >= near]
        rank = (alike >= drop) * (1 + originals.confirmed[rows])
        for at in np.lexsort((originals.ids[rows], -alike, -rank)):
            record = originals.records[rows[at]]
            if record.key != key and (self._seniority is None or self._seniority.may_displace(record.url, url)):
                distance = fp.simhash ^ PageFingerprint.from_bytes(record.fingerprint).simhash
                return Match(record, float(alike[at]), distance.bit_count())
        return None

    def explains(self, one: PageFingerprint, other: PageFingerprint) -> bool:
        """Whether what two judged pages have in common may be no more than what the site repeats."""
        row, many = one.evidence[0], other.evidence
        return bool(self._texts[method_of(one)].explains(row, many, weigh(row, many))[0])

    def _similarity(self, fp: PageFingerprint, rows: Rows, drop: float) -> NDArray[np.float64]:
        """What :meth:`PageFingerprint.compare` says, for many at once, and what the site has to say to it."""
        self._asked = fp.body, False
        if fp.unjudged or not len(rows):
            return np.ones(len(rows))
        one, many = fp.evidence[0], self._originals.evidence(rows)
        found = weigh(one, many)
        self._asked = fp.body, _is_version(found)
        alike = found.similarity
        asked = np.flatnonzero((alike >= drop) & ~found.equal)
        if len(asked):
            explained = self._texts[method_of(fp)].explains(one, many[asked], found.of(asked))
            alike[asked[explained]] = JUST_BELOW * drop
        return alike


def _is_version(found: Evidence) -> bool:
    """Whether a page is like any of those it was weighed against, and not under another name."""
    return bool(np.any((found.resemblance >= NEAR) & ~found.renamed))
