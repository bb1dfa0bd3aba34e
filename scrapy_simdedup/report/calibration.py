"""The calibration: what each threshold would drop from a store, how much of that looks wrong, and which ones fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from scrapy_simdedup.detect.names import ALL_SITES, PageSettings
from scrapy_simdedup.report.neighbours import ClosePair, Reservoir
from scrapy_simdedup.setting_checks import usable_key
from scrapy_simdedup.settings import DedupSettings

THRESHOLD_GRID = tuple(step / 100 for step in range(80, 100))
IDENTICAL_FROM, NEAR_FROM = 0.90, 0.80
"""The lowest thresholds that are chosen."""
MAX_ERROR_SHARE = 0.01
"""Share of the pairs in a step of similarity that may look wrong, if the step is to be dropped."""
MIN_PAIRS = 30
"""Pairs from the lowest threshold on that are needed to choose a threshold."""
NO_THRESHOLD_FITS = {
    "headlines": "no threshold fits, as headlines differ where the rest is the same: label pairs (--audit)",
    "labels": "no threshold fits, as pages labelled as different are the same but for a few words",
}
"""What is said in place of the advice to drop nothing, by what the thresholds are chosen by."""
BORDER_WIDTH, MAX_BORDERLINE = 0.03, 20
"""Distance from a threshold within which a pair is borderline, and the number of borderline pairs that are shown."""


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A pair of pages that somebody has labelled as the same page or different pages."""

    site: str
    one: str
    other: str
    similarity: float
    same: bool


@dataclass(frozen=True, slots=True)
class Threshold:
    """What would be dropped if pages of a site were dropped from a similarity on."""

    at: float
    dropped: float
    """Share of the sampled pages that are at least so similar to another page of their site."""
    suspicious: float | None
    """Share of these pages whose headline differs from the other page's; None if there are none."""
    wrong: float | None
    """Share of the labelled pairs from this similarity on that are different pages; None if there are none."""
    missed: float | None
    """Share of the pairs labelled as the same that are less similar; None if there are none."""


@dataclass(frozen=True, slots=True)
class SiteThresholds:
    """The thresholds that are chosen for a site, or for a URL pattern that has settings of its own."""

    site: str
    sampled: int
    identical: float
    near: float
    changed: bool
    """Whether the chosen thresholds differ from those in force."""
    because: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """The whole result of a calibration."""

    store: str
    pages: int
    sampled: int
    labelled: int
    same_headline: list[int]
    """Sampled pages with the headline of their closest page, by similarity to it in steps of 0.01."""
    other_headline: list[int]
    """Sampled pages with another headline than their closest page, by similarity to it in steps of 0.01."""
    thresholds: tuple[Threshold, ...]
    choices: tuple[SiteThresholds, ...]
    borderline: tuple[ClosePair, ...]
    """A random sample of the pairs close to a threshold, to be judged by eye."""

    @property
    def setting(self) -> str:
        """The chosen thresholds that differ from those in force, as lines to paste into settings.py; else empty."""
        changed = [choice for choice in self.choices if choice.changed]
        lines = [
            f"SIMDEDUP_IDENTICAL = {choice.identical:g}\nSIMDEDUP_NEAR = {choice.near:g}"
            for choice in changed
            if choice.site == ALL_SITES
        ]
        # A name that is no key of the setting, such as the one under which items are compared, cannot have thresholds.
        sites = [
            f'    "{choice.site}": {{"identical": {choice.identical:g}, "near": {choice.near:g}}},'
            for choice in changed
            if usable_key(choice.site) == choice.site
        ]
        return "\n".join([*lines, *(["SIMDEDUP_SITE_SETTINGS = {", *sites, "}"] if sites else [])])


def calibrate(
    pairs: Sequence[ClosePair], labels: Sequence[LabelledPair], settings: DedupSettings, *, store: str, pages: int
) -> Calibration:
    """Try all thresholds, and choose those that fit.

    1. Group pairs and labels by site; pages whose URL pattern has settings of its own are a group by themselves.
    2. For each threshold, count what it would drop of all groups, and what of that looks wrong.
    3. For each group, choose thresholds by its labels if there are enough, else by whether headlines differ.

    ``pairs`` are sampled pages, each with its closest page; ``pages`` is how many there are in the store.
    """
    histograms: dict[bool, list[int]] = {headline_differs: [0] * 100 for headline_differs in (False, True)}
    borderline: Reservoir[str, ClosePair] = Reservoir(MAX_BORDERLINE)
    page_settings = PageSettings(settings)
    by_site: defaultdict[str, list[ClosePair]] = defaultdict(list)
    labels_by_site: defaultdict[str, list[LabelledPair]] = defaultdict(list)
    in_force: dict[str, DedupSettings] = {}
    for label in labels:
        labels_by_site[page_settings.pattern_of(label.one) or label.site].append(label)
    for pair in pairs:
        own, pattern = page_settings.of(pair.one), page_settings.pattern_of(pair.one)
        by_site[pattern or pair.site].append(pair)
        in_force.setdefault(pattern or pair.site, own if pattern else page_settings.of_site(pair.site))
        histograms[pair.headline_differs][min(99, int(pair.similarity * 100))] += 1
        if min(abs(pair.similarity - line) for line in (own.identical, own.near)) <= BORDER_WIDTH:
            borderline.put("\n".join(sorted((pair.one, pair.other))), pair)
    return Calibration(
        store=store,
        pages=pages,
        sampled=len(pairs),
        labelled=len(labels),
        same_headline=histograms[False],
        other_headline=histograms[True],
        thresholds=tuple(_threshold(at, pairs, labels) for at in THRESHOLD_GRID),
        choices=tuple(_choose(site, found, labels_by_site[site], in_force[site]) for site, found in by_site.items()),
        borderline=tuple(borderline.values()),
    )


def _threshold(at: float, pairs: Sequence[ClosePair], labels: Sequence[LabelledPair]) -> Threshold:
    above = [pair for pair in pairs if pair.similarity >= at]
    labelled = [label for label in labels if label.similarity >= at]
    return Threshold(
        at=at,
        dropped=len(above) / max(1, len(pairs)),
        suspicious=_share(pair.headline_differs for pair in above),
        wrong=_share(not label.same for label in labelled),
        missed=_share(label.similarity < at for label in labels if label.same),
    )


def _choose(
    site: str, pairs: Sequence[ClosePair], labels: Sequence[LabelledPair], own: DedupSettings
) -> SiteThresholds:
    by_labels = [(label.similarity, not label.same) for label in labels]
    by_headlines = [(pair.similarity, pair.headline_differs) for pair in pairs]
    found, because = (by_labels, "labels") if _has_enough_pairs(by_labels) else (by_headlines, "headlines")
    unchanged = partial(SiteThresholds, site, len(pairs), own.identical, own.near, changed=False)
    if not _has_enough_pairs(found):
        return unchanged(because="too few pages are alike to tell")
    identical = _choose_threshold(found, own.identical, IDENTICAL_FROM)
    if identical > THRESHOLD_GRID[-1]:  # as good as off
        return unchanged(because=NO_THRESHOLD_FITS[because])
    # Pages that are only tagged as near may differ from their originals, so their threshold stays.
    near = min(identical, _choose_threshold(found, own.near, NEAR_FROM) if own.drop == "near" else own.near)
    changed = (identical, near) != (own.identical, own.near)
    return SiteThresholds(site, len(pairs), identical, near, changed, f"by {because}")


def _has_enough_pairs(found: Sequence[tuple[float, bool]]) -> bool:
    return sum(similarity >= IDENTICAL_FROM for similarity, _ in found) >= MIN_PAIRS


def _choose_threshold(found: Sequence[tuple[float, bool]], own: float, lowest: float) -> float:
    """The threshold in force, raised above the highest step that looks wrong, or lowered to the last that looks right.

    The steps of the grid are judged one by one, from the highest down to ``lowest``: among all pairs above a threshold,
    a few wrong ones would not be noticed.
    """
    right = own
    for at in reversed(THRESHOLD_GRID):
        if at < lowest:
            break
        step = [
            wrong
            for similarity, wrong in found
            if at <= similarity < at + 0.01 or at == THRESHOLD_GRID[-1] <= similarity
        ]
        if sum(step) > MAX_ERROR_SHARE * len(step):
            return round(max(min(own, right), at + 0.01), 2)
        if step:
            right = at
    return min(own, right)


def _share(found: Iterable[bool]) -> float | None:
    values = list(found)
    return sum(values) / len(values) if values else None
