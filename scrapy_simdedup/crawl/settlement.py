"""What happens when the fate of a page is known: it is written down, and those who wait for it go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.feeds import FeedConfirmation

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_simdedup.crawl.stats import Tally
    from scrapy_simdedup.crawl.waiting import Tasks, Waiters
    from scrapy_simdedup.detect.detector import NearDuplicateDetector
    from scrapy_simdedup.detect.verdict import PageRef
    from scrapy_simdedup.settings import Confirm


class Settlement:
    """Confirms and releases pages, when ``SIMDEDUP_CONFIRM`` says that it is time.

    Args:
        tasks: in which that is written down.
        on_settled: called with each page once its fate is written, and whether that is that it was delivered.

    Raises:
        SettingError: ``SIMDEDUP_CONFIRM`` cannot work with the other settings.
    """

    def __init__(
        self,
        crawler: Crawler,
        detector: NearDuplicateDetector,
        tally: Tally,
        waiters: Waiters,
        *,
        confirm: Confirm,
        tasks: Tasks,
        on_settled: Callable[[PageRef, bool], None],
    ) -> None:
        self._detector, self._tally, self._waiters, self._confirm = detector, tally, waiters, confirm
        self._tasks, self._on_settled = tasks, on_settled
        self._feeds = FeedConfirmation(crawler, self.settle) if confirm == "feed" else None

    def ended(self, page: PageRef, failure: str | None) -> None:
        """Callback and pipelines are through with the page; ``failure`` is None if all went well."""
        if failure is not None:
            self.settle(page, failure)
        elif self._feeds is not None:
            self._feeds.hold(page)
        elif self._confirm != "manual":
            self.settle(page, None)

    def settle(self, page: PageRef, failure: str | None) -> None:
        """Count and write the page's fate now."""
        self._tally.settled(failure)
        self.write(page, failure)

    def write(self, page: PageRef, failure: str | None) -> None:
        """Confirm (None) or release a page in the store, in the background, and let its repeats go on."""
        self._tasks.start(self._write(page, failure))

    async def close(self) -> None:
        """Wait for the feeds, where they decide, and until all is written."""
        if self._feeds is not None:
            await self._feeds.finish()
        await self._tasks.drain()

    async def _write(self, page: PageRef, failure: str | None) -> None:
        delivered = False
        try:
            if failure is None:
                delivered = await self._detector.confirm(page)
            else:
                await self._detector.release(page)
        finally:
            self._waiters.wake((page.site, page.id))
            self._on_settled(page, delivered)
