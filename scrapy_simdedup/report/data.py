"""What a report says, as plain values: the same for HTML and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_simdedup.report.clusters import Cluster
    from scrapy_simdedup.report.differences import Difference
    from scrapy_simdedup.report.lesson import Lesson

KINDS = ("new", "near", "changed", "unchanged", "identical", "stub", "unjudged")
"""Verdicts, in the order of every chart and table."""
BUCKETS = 100
"""Of the histogram of similarities: each is 0.01 wide."""


@dataclass(frozen=True, slots=True)
class Savings:
    """What a crawl saved, which only the crawl itself knows."""

    bytes: int
    """Size of the pages that were dropped."""
    seconds: float
    """Estimate of the time that their callbacks and pipelines would have taken."""
    items: int
    """Items that were dropped."""
    fetches: int
    """Requests that were not made, because their URLs were known to lead to repeats."""
    cost_seconds: float
    """What fingerprinting took."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Verdicts over time, in steps of equal length."""

    start: float
    """Seconds since the epoch."""
    step: float
    """Seconds."""
    counts: dict[str, list[int]]
    """Pages per step, by verdict; those that never came are left out."""


@dataclass(frozen=True, slots=True)
class SiteRow:
    """What came of one site."""

    site: str
    pages: int
    repeats: int
    """Pages that repeat another."""
    near: int
    changed: int
    unjudged: int
    failed: int
    """Pages whose delivery failed."""


@dataclass(frozen=True, slots=True)
class Stub:
    """A content that looks like no content: a captcha, a login page, a soft 404."""

    site: str
    url: str
    pages: int
    """Pages that are known to give it."""
    share: float
    """Of all pages of the site, 0..1."""
    shingles: int
    """Distinct runs of words in it."""
    sure: bool
    """Whether the crawl found it to be one; else the report suspects it."""


@dataclass(frozen=True, slots=True)
class DriftRow:
    """How the pages of a site change from visit to visit."""

    site: str
    revisited: int
    """Pages that were fetched more than once."""
    changed: int
    """Those that differed from the visit before when they were last fetched."""
    similarity: float | None
    """Of these to their former selves, on average."""
    changes_per_visit: float
    """Over all revisits, 0..1."""
    redesign: bool
    """Whether a run found a new template; and where the structures of pages are not kept, whether so many changed at
    once that the site itself may have: a new template, a wall, another language."""


@dataclass(frozen=True, slots=True)
class RunChanges:
    """What a run found new on the known pages of a site; only where the structures of pages are kept."""

    site: str
    run: str
    at: float
    """When that was last counted; seconds since the epoch."""
    none: int
    """Pages on which nothing was new."""
    content: int
    """Pages with new content in the same template."""
    template: int
    """Pages with the same content in a new template."""
    both: int
    redesign: float | None
    """The share of the pages that had a new template when the crawl suspected a redesign, 0..1; None: it did not."""
    redesigned_at: float | None
    """When; seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """What the store has of one run."""

    run: str
    pages: int
    repeats: int
    first: float
    """Seconds since the epoch."""
    last: float


@dataclass(frozen=True, slots=True)
class Audited:
    """A page that was dropped, and the page it repeats, to be judged by eye."""

    original: str | None
    """None if the store does not have it any more."""
    dropped: str
    similarity: float
    distance: int | None
    """Differing bits of the simhashes."""
    facts: tuple[str, ...]
    """What differs, as far as fingerprints tell."""
    lines: tuple[Difference, ...] | None
    """The lines that differ; None where their texts were not kept."""
    more: int = 0
    """Differing lines that are left off."""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything."""

    store: str
    """The store's URL without its password."""
    run: str | None
    """The run that it is about; None: all that are in the store."""
    made_at: float
    """Seconds since the epoch."""
    mode: str
    """``observe``: nothing was dropped, all was counted."""
    drop: str
    """The weakest kind that is dropped."""
    identical: float
    near: float
    """Similarities where the kinds begin."""
    pages: int
    """Pages that got a verdict, be it that they could not be judged."""
    kinds: dict[str, int]
    """Pages by verdict."""
    dropped: int
    """Pages that repeat another and were dropped, or would have been."""
    unjudged: dict[str, int]
    """Pages that could not be judged, by reason."""
    savings: Savings | None
    """None where a report is made from the store alone."""
    warnings: tuple[str, ...]
    similarities: dict[str, list[int]]
    """Pages by similarity to what they were compared with, in :data:`BUCKETS` steps: ``dropped`` and ``kept``."""
    timeline: Timeline | None
    clusters: tuple[Cluster, ...]
    """Those with the most repeats."""
    cluster_count: int
    """Pages that are repeated at all."""
    stubs: tuple[Stub, ...]
    sites: tuple[SiteRow, ...]
    """Those with the most pages."""
    site_count: int
    lesson: Lesson
    """What learning from the URLs would have saved, by some of the sites."""
    drift: tuple[DriftRow, ...]
    changes: tuple[RunChanges, ...]
    """What the latest runs found new on known pages, by site."""
    runs: tuple[RunRow, ...]
    """The latest."""
    audit: tuple[Audited, ...]
    """A random sample of the pages that were dropped."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)
