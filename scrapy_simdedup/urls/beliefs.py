"""What is taken for true at a path pattern, ready to be applied to URLs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simdedup.urls.hypotheses import Hypothesis, Part
    from scrapy_simdedup.urls.patterns import Pattern

Dropped = list[tuple["Hypothesis", int]]
"""The hypotheses that were used on a URL, each with the hash of what it dropped."""


class Beliefs:
    """A set of hypotheses that are taken for true."""

    __slots__ = ("at", "defaults", "joint", "trusted", "wide")

    def __init__(self, at: dict[Hypothesis, Pattern]) -> None:
        self.at = at
        """Hypothesis → the pattern whose verdict it is."""
        self.joint = [h for h in at if len(h.names) > 1]
        self.wide = [h for h in at if h.value is None]
        self.defaults = [h for h in at if h.value is not None]
        self.trusted: dict[int, bool] = {0: True}
        """Number of a set of assumptions → whether all of them are among these; see PageIndex."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A URL with everything dropped that is believed not to matter."""

    leaf: Pattern
    identity: int
    """The sum of the hashes of what is left."""
    dropped: Dropped
    left: dict[str, tuple[Part | None, str, int]]
    """Name of a part that was not dropped → the part (None if it is not examined), its value, its hash."""
    shifts: dict[str, int]
    """Name of any part → its hash."""
