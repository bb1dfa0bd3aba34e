"""The reporter: samples texts while the crawl runs, and writes its report at the end."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from scrapy_simdedup.page.page import read_page
from scrapy_simdedup.report.sample import DroppedPair, Reservoir, pack_text

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_simdedup.crawl.stats import CrawlStats
    from scrapy_simdedup.crawl.url_skipping.skipper import UrlSkipper
    from scrapy_simdedup.detect.detector import NearDuplicateDetector
    from scrapy_simdedup.detect.verdict import Verdict
    from scrapy_simdedup.settings import DedupSettings

logger = logging.getLogger(__name__)

MAX_ORIGINALS, MAX_PAIRS = 300, 30
"""How many texts of kept pages are held, and how many dropped pages are shown beside them."""


class Reporter:
    """Keeps a random sample of texts while the crawl runs, and writes the report when it ends.

    The sample is bounded, however long the crawl: some originals, and some of the pages that were dropped in favour of
    them. No failure of the reporter costs a page, or keeps the crawl from its end. Without ``SIMDEDUP_REPORT`` nothing
    is sampled and nothing is written.
    """

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self._originals: Reservoir[str, bytes] = Reservoir(MAX_ORIGINALS)
        self._pairs: Reservoir[str, DroppedPair] = Reservoir(MAX_PAIRS)

    def sample_page(self, response: Response, verdict: Verdict) -> None:
        """Add a page that got its verdict to the sample, if chance wants it."""
        if not self._settings.report:
            return
        try:
            if verdict.page is not None and self._originals.wants(response.url):
                self._originals.put(response.url, self._text(response))
            elif verdict.is_duplicate and verdict.original is not None and self._pairs.wants(response.url):
                original = self._originals.get(verdict.original)
                if original is not None:
                    self._pairs.put(response.url, DroppedPair(response.url, verdict, original, self._text(response)))
        except Exception:  # a sample is not worth a page
            logger.exception("%s could not be sampled for the report", response.url)

    async def write(
        self,
        detector: NearDuplicateDetector,
        stats: CrawlStats,
        skipper: UrlSkipper,
        seconds_per_page: float,
        warnings: list[str],
    ) -> None:
        """Write the report of this run, while its store is still open, with warnings of promises that were not kept."""
        if not self._settings.report:
            return
        # These bring charts and templates, which few crawls want.
        from scrapy_simdedup.report.data import Savings  # noqa: PLC0415
        from scrapy_simdedup.report.document import write_report  # noqa: PLC0415
        from scrapy_simdedup.report.gather import CrawlFacts, build_report  # noqa: PLC0415

        try:
            dropped = stats.dropped
            savings = Savings(
                bytes=stats.dropped_bytes,
                seconds=dropped * seconds_per_page,
                items=stats["items/dropped"],
                fetches=stats.fetches_saved,
                cost_seconds=stats.extract_seconds,
            )
            crawl = CrawlFacts(
                kinds=Counter(stats.kinds),
                dropped=dropped,
                unjudged=stats.unjudged,
                savings=savings,
                warnings=tuple(f"{note[0].upper()}{note[1:]}." for note in warnings),
                audit=tuple(pair.audited() for pair in self._pairs.values()),
                url_savings=skipper.url_savings,
            )
            report = await build_report(
                detector.store, self._settings, name=detector.store_name, run=detector.run, crawl=crawl
            )
            for path in self._settings.report:
                try:
                    write_report(report, path)
                except OSError as exc:  # noqa: PERF203 - the other files are written nevertheless
                    logger.error("The report could not be written to %s: %s", path, exc)  # noqa: TRY400 - says it all
                else:
                    logger.info("The report is in %s", path)
        except Exception:  # the crawl is over, and must come to its end
            logger.exception("The report could not be written")

    def _text(self, response: Response) -> bytes:
        page = read_page(response.text, max_bytes=self._settings.max_page_bytes)
        return pack_text(page.blocks)
