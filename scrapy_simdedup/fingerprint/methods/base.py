"""What a method is: what it keeps of a page, how it compares one with many, and by what it looks for candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simdedup.fingerprint.evidence import Evidence, differ
from scrapy_simdedup.fingerprint.features import is_content
from scrapy_simdedup.fingerprint.simhash import simhash
from scrapy_simdedup.page.kinds import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.features import Features
    from scrapy_simdedup.fingerprint.units import Units
    from scrapy_simdedup.fingerprint.word_hashes import Hashes
    from scrapy_simdedup.page.page import Block
    from scrapy_simdedup.settings import DedupSettings


@dataclass(frozen=True, slots=True)
class Text:
    """A page that can be judged by its text."""

    blocks: tuple[Block, ...]
    body: bytes
    """8 bytes of a digest of the HTML."""
    features: Features
    """The set of shingles."""
    units: Units
    """See :mod:`scrapy_simdedup.fingerprint.units`."""
    enough: int
    """Shingles that a text must have to be judged."""

    @property
    def has_content(self) -> bool:
        """Whether there is enough that is no frame; else all of the page is its text."""
        return int(np.count_nonzero(is_content(self.features.kinds))) >= self.enough

    @property
    def own_blocks(self) -> tuple[Block, ...]:
        """The blocks of the content, where there is enough."""
        return tuple(b for b in self.blocks if b.kind > Kind.FRAME) if self.has_content else self.blocks

    @property
    def own_hashes(self) -> Hashes:
        """The set of shingles of the content, where there is enough."""
        hashes, kinds = self.features
        return hashes[is_content(kinds)] if self.has_content else hashes


class Kept(NamedTuple):
    """What is kept of a text."""

    exact: bytes
    """8 bytes that are equal for texts that are equal."""
    odd_units: bytes = b""
    odd_headings: bytes = b""
    sketch: bytes = b""
    """What tells how alike others are."""


class Method(ABC):
    """A way to tell how alike two pages are. It has no state."""

    evidence: np.dtype[np.void]
    """The last bytes of every judged fingerprint, which begin with
    :data:`~scrapy_simdedup.fingerprint.evidence.COMMON`."""
    learns = False
    """Whether what a site repeats is learned from it; see :mod:`scrapy_simdedup.detect.site_text`."""
    variants = 1
    """How many values :meth:`variant` has, at most 64."""

    def variant(self, settings: DedupSettings) -> int:  # noqa: ARG002
        """A number that tells apart what the settings tell the method; 0 where that is nothing."""
        return 0

    def simhash(self, text: Text, settings: DedupSettings, secret: bytes) -> int:  # noqa: ARG002
        """``bits`` bits that show how far two pages are apart, and find candidates where there are no keys."""
        return simhash(*text.features, settings.bits)

    @abstractmethod
    def keep(self, text: Text, settings: DedupSettings, secret: bytes) -> Kept:
        """Make what is kept of a text."""

    def read(self, raw: bytes) -> Kept:
        """Take apart what was kept, joined."""
        return Kept(raw[:8], sketch=raw[8:])

    @abstractmethod
    def weigh(self, one: np.void, many: NDArray[np.void]) -> Evidence:
        """Weigh what speaks for one page being each of many; symmetric.

        Args:
            one: A row of :attr:`evidence`.
            many: Rows of it, shape (n,).
        """

    def keys(self, one: np.void, resemblance: float) -> NDArray[np.uint32] | None:  # noqa: ARG002
        """Numbers of which pages that are alike share some; none where only equal ones are alike.

        None leaves the search to the simhashes.

        Args:
            one: A row of :attr:`evidence`.
            resemblance: From which on pages are looked for.
        """
        return None


def plain(resemblance: NDArray[np.float64], one: np.void, many: NDArray[np.void]) -> Evidence:
    """What a resemblance says by itself, with nothing to speak against it."""
    equal = many["exact"] == one["exact"]
    renamed = differ(one["title"], many["title"]) | differ(one["h1"], many["h1"])
    verdict = np.where(equal, 1.0, resemblance)
    return Evidence(verdict, verdict, equal, renamed, np.zeros(len(many), np.bool_), np.zeros(len(many)))
