"""Which thresholds fit the sites of a store: what each would drop, and how much of that looks wrong."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.report.sample import Reservoir

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_simdedup.report.closest import ClosePair
    from scrapy_simdedup.settings import DedupSettings

GRID = tuple(step / 100 for step in range(80, 100))
"""The thresholds that are looked at."""
IDENTICAL_FROM, NEAR_FROM = 0.90, 0.80
"""The lowest thresholds that are ever chosen."""
RISK = 0.01
"""Share of the pairs of any one similarity that may look wrong, for these to be dropped."""
ENOUGH = 30
"""Pairs above the lowest threshold that it takes to choose one."""
BORDER, BORDERLINE = 0.03, 20
"""Distance from a threshold within which a pair is borderline, and how many are shown."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A pair of pages that somebody has looked at."""

    site: str
    one: str
    other: str
    similarity: float
    same: bool
    """Whether they are the same page."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a similarity would do as the line from which pages are dropped."""

    at: float
    dropped: float
    """Share of the sampled pages that have a page of their site this similar."""
    suspicious: float | None
    """Share of these whose headline differs from that page's; None if there are none."""
    wrong: float | None
    """Share of the labelled pairs from here on that are different pages; None if there are none."""
    missed: float | None
    """Share of the labelled copies that are below; None if there are none."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The thresholds for a site."""

    site: str
    sampled: int
    identical: float
    near: float
    changed: bool
    """Whether they are others than those that the settings have for it."""
    because: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything that was found out."""

    store: str
    pages: int
    sampled: int
    labelled: int
    same_headline: list[int]
    """Sampled pages by similarity to the closest page, in steps of 0.01, where both have one headline."""
    other_headline: list[int]
    """As above, where they have not."""
    thresholds: tuple[Threshold, ...]
    choices: tuple[Choice, ...]
    borderline: tuple[ClosePair, ...]
    """A random sample of the pairs next to a threshold, to be judged by eye."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @property
    def setting(self) -> str:
        """The choices that change something, ready to be pasted into settings.py."""
        lines = [
            f"    {choice.site!r}: {{'identical': {choice.identical:g}, 'near': {choice.near:g}}},"
            for choice in self.choices
            if choice.changed
        ]
        return "\n".join(["SIMDEDUP_SITES = {", *lines, "}"]).replace("'", '"') if lines else ""


def calibrate(
    pairs: Sequence[ClosePair], labels: Sequence[Labelled], settings: DedupSettings, *, store: str, pages: int
) -> Calibration:
    """Weigh the thresholds.

    Args:
        pairs: sampled pages, each with its closest page.
        labels: pairs that somebody has looked at.
        settings: the thresholds that are in force.
        store: the store's URL without its password.
        pages: how many it has.
    """
    histograms: dict[bool, list[int]] = {renamed: [0] * 100 for renamed in (False, True)}
    borderline: Reservoir[ClosePair] = Reservoir(BORDERLINE)
    by_site: defaultdict[str, list[ClosePair]] = defaultdict(list)
    labels_by_site: defaultdict[str, list[Labelled]] = defaultdict(list)
    for label in labels:
        labels_by_site[label.site].append(label)
    for pair in pairs:
        by_site[pair.site].append(pair)
        histograms[pair.renamed][min(99, int(pair.similarity * 100))] += 1
        own = settings.for_site(pair.site)
        if min(abs(pair.similarity - line) for line in (own.identical, own.near)) <= BORDER:
            borderline.put("\n".join(sorted((pair.one, pair.other))), pair)
    return Calibration(
        store=store,
        pages=pages,
        sampled=len(pairs),
        labelled=len(labels),
        same_headline=histograms[False],
        other_headline=histograms[True],
        thresholds=tuple(_threshold(at, pairs, labels) for at in GRID),
        choices=tuple(
            _choose(site, found, labels_by_site[site], settings.for_site(site)) for site, found in by_site.items()
        ),
        borderline=tuple(borderline.values()),
    )


def _threshold(at: float, pairs: Sequence[ClosePair], labels: Sequence[Labelled]) -> Threshold:
    above = [pair for pair in pairs if pair.similarity >= at]
    labelled = [label for label in labels if label.similarity >= at]
    return Threshold(
        at=at,
        dropped=len(above) / max(1, len(pairs)),
        suspicious=_share(pair.renamed for pair in above),
        wrong=_share(not label.same for label in labelled),
        missed=_share(label.similarity < at for label in labels if label.same),
    )


def _choose(site: str, pairs: Sequence[ClosePair], labels: Sequence[Labelled], own: DedupSettings) -> Choice:
    looked_at = [(label.similarity, not label.same) for label in labels]
    sampled = [(pair.similarity, pair.renamed) for pair in pairs]
    found, because = (looked_at, "labels") if _enough(looked_at) else (sampled, "headlines")
    if not _enough(found):
        return Choice(
            site, len(pairs), own.identical, own.near, changed=False, because="too few pages are alike to tell"
        )
    identical = _line(found, own.identical, IDENTICAL_FROM)
    # Where near pages are only tagged, they may differ: that is what the tag says.
    near = min(identical, _line(found, own.near, NEAR_FROM) if own.drop == "near" else own.near)
    changed = (identical, near) != (own.identical, own.near)
    return Choice(site, len(pairs), identical, near, changed, f"by {because}")


def _enough(found: Sequence[tuple[float, bool]]) -> bool:
    return sum(similarity >= IDENTICAL_FROM for similarity, _ in found) >= ENOUGH


def _line(found: Sequence[tuple[float, bool]], own: float, lowest: float) -> float:
    """The threshold in force, raised above what looks wrong, or lowered to the last that looks right.

    Each step is judged by itself: among many copies, a few pages that are lost would not be noticed.
    """
    right = own
    for at in reversed(GRID):
        if at < lowest:
            break
        step = [wrong for similarity, wrong in found if at <= similarity < at + 0.01 or at == GRID[-1] <= similarity]
        if sum(step) > RISK * len(step):
            return round(max(min(own, right), at + 0.01), 2)
        if step:
            right = at
    return min(own, right)


def _share(found: Iterable[bool]) -> float | None:
    values = list(found)
    return sum(values) / len(values) if values else None
