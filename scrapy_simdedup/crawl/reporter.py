"""The report that a crawl writes at its end, and the few texts that it keeps for it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_simdedup.page.page import read_page
from scrapy_simdedup.report.sample import Pair, Reservoir, pack

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_simdedup.crawl.stats import Tally
    from scrapy_simdedup.crawl.urls import UrlGuide
    from scrapy_simdedup.detect.detector import NearDuplicateDetector
    from scrapy_simdedup.detect.verdict import Verdict
    from scrapy_simdedup.report.data import Report
    from scrapy_simdedup.settings import DedupSettings

logger = logging.getLogger(__name__)

ORIGINALS, PAIRS = 300, 30
"""Kept pages whose texts are held, and dropped ones that are shown beside them."""


class Reporter:
    """Keeps a random sample of texts while the crawl runs, and writes the report when it ends.

    What is kept is bounded, however long the crawl: some originals, and of the pages that were dropped in favour of
    these, some. Nothing that goes wrong here costs a page, or the crawl its end.

    Args:
        settings: ``report`` names the files; without one nothing is kept and nothing written.
    """

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self._originals: Reservoir[bytes] = Reservoir(ORIGINALS)
        self._pairs: Reservoir[Pair] = Reservoir(PAIRS)

    def judged(self, response: Response, verdict: Verdict) -> None:
        """A page got its verdict: perhaps it is one of the sample."""
        if not self._settings.report:
            return
        try:
            if verdict.page is not None and self._originals.wants(response.url):
                self._originals.put(response.url, self._text(response))
            elif verdict.is_duplicate and verdict.original is not None and self._pairs.wants(response.url):
                original = self._originals.get(verdict.original)
                if original is not None:
                    self._pairs.put(response.url, Pair(response.url, verdict, original, self._text(response)))
        except Exception:  # a sample is not worth a page
            logger.exception("%s could not be sampled for the report", response.url)

    async def write(
        self,
        detector: NearDuplicateDetector,
        tally: Tally,
        guide: UrlGuide,
        seconds_per_page: float,
        notes: list[str],
    ) -> None:
        """Write the report of this run, while its store is still open.

        Args:
            detector: its store is read.
            tally: what the crawl counted.
            guide: what it learned about URLs.
            seconds_per_page: what callback and pipelines took for a delivered page on average.
            notes: sentences about promises that could not be kept.
        """
        if not self._settings.report:
            return
        # Brings charts and templates, which few crawls want.
        from scrapy_simdedup.report.data import Savings  # noqa: PLC0415
        from scrapy_simdedup.report.gather import CrawlFacts, gather  # noqa: PLC0415

        try:
            dropped = tally.pages["dropped"]
            savings = Savings(
                bytes=tally.bytes_dropped,
                seconds=dropped * seconds_per_page,
                items=tally.items_dropped,
                fetches=guide.tally.saved,
                cost_seconds=tally.extract_seconds,
            )
            crawl = CrawlFacts(
                kinds=tally.pages,
                dropped=dropped,
                unjudged=tally.unjudged,
                savings=savings,
                warnings=tuple(f"{note[0].upper()}{note[1:]}." for note in notes),
                audit=tuple(pair.audited() for pair in self._pairs.values()),
                lesson=guide.lesson,
            )
            report = await gather(
                detector.store, self._settings, name=detector.store_name, run=detector.run, crawl=crawl
            )
            for path in self._settings.report:
                _write(report, path)
        except Exception:  # the crawl is over, and must come to its end
            logger.exception("The report could not be written")

    def _text(self, response: Response) -> bytes:
        page = read_page(response.text, max_bytes=self._settings.max_page_bytes)
        return pack(page.blocks)


def _write(report: Report, path: str) -> None:
    from scrapy_simdedup.report.write import write_report  # noqa: PLC0415 - as above

    try:
        write_report(report, path)
    except OSError as exc:
        logger.error("The report could not be written to %s: %s", path, exc)  # noqa: TRY400 - the sentence says it all
    else:
        logger.info("The report is in %s", path)
