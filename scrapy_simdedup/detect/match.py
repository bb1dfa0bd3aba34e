"""What a page was found to be like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simdedup.store.base import Record


@dataclass(frozen=True, slots=True)
class Match:
    """An original that a page is like."""

    record: Record
    similarity: float
    """Share of common content, 0..1."""
    distance: int
    """Differing bits of the simhashes."""
    copies: int
    """Originals, this one counted, that the page is so like that it would be dropped for them."""
