"""A site that answers everything with one content: said in the log and by a signal, and left alone for a while."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.signals import simdedup_wall_suspected
from scrapy_simdedup.crawl.waiting import sleep
from scrapy_simdedup.detect.site import site_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_simdedup.detect.stubs import Wall
    from scrapy_simdedup.settings import DedupSettings

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often a request that is held back looks whether the crawl is being closed."""


class Walls:
    """The walls of one crawl."""

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler, self._pause, self._scope = crawler, settings.wall_pause, settings.site
        self._until: dict[str, float] = {}

    def suspected(self, wall: Wall) -> None:
        """A site has put up a wall."""
        logger.warning(
            "%s gives one content for %.0f %% of its recent pages, such as %s: a captcha, a login page or a ban?%s",
            wall.site,
            100 * wall.share,
            ", ".join(wall.samples[:3]),
            f" It is left alone for {self._pause:g} s." if self._pause else "",
            extra={"spider": self._crawler.spider},
        )
        self._crawler.stats.inc_value("simdedup/walls_suspected")
        self._crawler.signals.send_catch_log(simdedup_wall_suspected, wall=wall, spider=self._crawler.spider)
        if self._pause:
            self._until[wall.site] = time.monotonic() + self._pause

    async def hold(self, request: Request) -> None:
        """Hold a request back while its site is left alone."""
        if not self._until:
            return
        site = site_of(request.url, self._scope)
        while self._crawler.crawling and (left := self._until.get(site, 0.0) - time.monotonic()) > 0:
            await sleep(min(left, LOOK_SECONDS))
