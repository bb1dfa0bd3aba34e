"""What a store, a crawl and two pages look like to people: comparisons, and the report, whose data are here.

The data are plain values: the HTML shows them, and the JSON has the names of their fields as keys. Times are in seconds
since the epoch, and a store is named by its URL without its password.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.display import plural

if TYPE_CHECKING:
    from scrapy_simdedup.report.clusters import Cluster, NearPage
    from scrapy_simdedup.report.comparison import Difference
    from scrapy_simdedup.urls import Rule, UrlLearner


MAX_RULES = 200
"""Rules in a report: those that saved the most fetches."""
VERDICT_KINDS = ("new", "near", "changed", "unchanged", "identical", "stub", "unjudged")
"""The verdicts, in the order of every chart and table."""
SIMILARITY_BUCKETS = 100
"""Steps of the histogram of similarities, each 0.01 wide."""


@dataclass(frozen=True, slots=True)
class UrlSavings:
    """What learning from URLs saved in a crawl, or would have saved."""

    pages: int
    """Pages that the crawl fetched or skipped, or that are replayed."""
    sites: int
    saved: int
    """Fetches that were not made."""
    lost: int
    """Contents that a replay missed, because all their URLs were skipped; 0 for a crawl, which cannot know them."""
    rules: tuple[Rule, ...]
    """The rules, those that saved the most fetches first."""
    by_crawl: bool = False
    """Whether a crawl saved these fetches; else a replay of its pages would have."""

    @classmethod
    def of_crawl(cls, learner: UrlLearner, *, seen: int, skipped: int) -> UrlSavings:
        """The savings of a crawl that has seen some URLs and skipped others."""
        rules = sorted(learner.rules(), key=lambda rule: (-rule.skipped, -rule.successes))[:MAX_RULES]
        return cls(seen + skipped, len(learner.sites), skipped, 0, tuple(rules), by_crawl=True)

    @property
    def sentence(self) -> str:
        """What was saved, in a sentence."""
        share = self.saved / self.pages if self.pages else 0.0
        saved = f"saved {self.saved:,} of {self.pages:,} fetches ({share:.0%}) on {plural(self.sites, 'site')}"
        if self.by_crawl:
            return f"Learning from URLs {saved}."
        return f"A crawl that learns from URLs would have {saved}, and lost {plural(self.lost, 'content')}."


@dataclass(frozen=True, slots=True)
class Savings:
    """What a crawl saved, which only the crawl itself knows."""

    bytes: int
    """Size of the pages that were dropped."""
    seconds: float
    """Estimate of the time that their callbacks and pipelines would have taken."""
    items: int
    fetches: int
    """Requests that were not made, because their URLs were known to lead to repeats."""
    cost_seconds: float
    """What fingerprinting took."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Verdicts over time, in steps of equal length."""

    start: float
    step: float
    counts: dict[str, list[int]]
    """Pages per step, by verdict; verdicts that no page got are left out."""


@dataclass(frozen=True, slots=True)
class SiteRow:
    """The counts of one site: a row of the sites table."""

    site: str
    pages: int
    repeats: int
    near: int
    changed: int
    unjudged: int
    failed: int


@dataclass(frozen=True, slots=True)
class Stub:
    """A page that stands for no content: a captcha, a login page, a soft 404."""

    site: str
    url: str
    shingles: int
    """Distinct runs of words in the content."""


@dataclass(frozen=True, slots=True)
class DriftRow:
    """How the pages of a site change from visit to visit: a row of the drift table."""

    site: str
    revisited: int
    changed: int
    """Pages that differed from the visit before when they were last fetched."""
    similarity: float | None
    """The mean similarity of the changed pages to their former selves."""
    changes_per_visit: float
    """The share of all revisits that found a change, 0..1."""
    redesign: bool
    """Whether a run found a new template; without ``SIMDEDUP_TRACK_LAYOUT``, whether so many pages changed in one run
    that the site itself may have: a new template, a wall, another language."""


@dataclass(frozen=True, slots=True)
class RunChanges:
    """What a run found new on the known pages of a site; only with ``SIMDEDUP_TRACK_LAYOUT``."""

    site: str
    run: str
    at: float
    """When the pages were last counted."""
    none: int
    """Pages on which nothing was new."""
    content: int
    """Pages with new content in the same template."""
    template: int
    """Pages with the same content in a new template."""
    both: int
    redesign: float | None
    """The share of pages with a new template when the crawl suspected a redesign, 0..1; None: none was suspected."""
    redesigned_at: float | None
    """When the crawl suspected the redesign."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """The counts of one run: a row of the runs table."""

    run: str
    pages: int
    repeats: int
    first: float
    """When the first page was last seen."""
    last: float


@dataclass(frozen=True, slots=True)
class AuditedPair:
    """A page that was dropped, and the page it repeats, to be judged by eye."""

    original: str | None
    """The URL of the page that is repeated; None if the store does not have it any more."""
    dropped: str
    similarity: float
    distance: int | None
    facts: tuple[str, ...]
    lines: tuple[Difference, ...] | None
    """The lines that differ; None if no texts were kept."""
    more: int = 0
    """Differing lines that are left off."""
    own_words: int | None = None
    """Words of its longest text unit that the original lacks, usually 0; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report."""

    store: str
    run: str | None
    """The run that the report is about; None: all runs in the store."""
    made_at: float
    mode: str
    """The setting ``SIMDEDUP_MODE``; in ``observe`` nothing was dropped."""
    drop: str
    """The weakest verdict that is dropped."""
    identical: float
    near: float
    """The thresholds: similarities from which pages are identical, or near."""
    pages: int
    """Pages that got a verdict, unjudged ones included."""
    kinds: dict[str, int]
    dropped: int
    """Pages that repeat another and were dropped, or would have been."""
    unjudged: dict[str, int]
    """Pages that could not be judged, by reason."""
    savings: Savings | None
    """What the crawl saved; None if the report is made from the store alone."""
    warnings: tuple[str, ...]
    similarities: dict[str, list[int]]
    """Pages by similarity, in :data:`SIMILARITY_BUCKETS` steps: ``dropped`` and ``kept``."""
    timeline: Timeline | None
    clusters: tuple[Cluster, ...]
    cluster_count: int
    """The number of all clusters: pages that are repeated at all."""
    near_pages: tuple[NearPage, ...]
    """The near pages that were kept, the most similar first."""
    near_count: int
    """The number of all near pages that were kept."""
    stubs: tuple[Stub, ...]
    sites: tuple[SiteRow, ...]
    site_count: int
    url_savings: UrlSavings
    """What learning from URLs saved, or would have saved on some of the sites."""
    drift: tuple[DriftRow, ...]
    changes: tuple[RunChanges, ...]
    """What was new on known pages, by site and run, the latest runs first."""
    runs: tuple[RunRow, ...]
    audit: tuple[AuditedPair, ...]
    """A random sample of the pages that were dropped."""
