"""Crawls in this process, on the reactor that pytest-twisted runs."""

from __future__ import annotations

from typing import IO, Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import BlockingFeedStorage
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_simdedup import NearDuplicateDownloaderMiddleware

QUIET = {"TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False, "RETRY_ENABLED": False, "CONCURRENT_ITEMS": 4}
"""Scrapy makes as many tasks for the output of a callback as items may be processed at a time: 100 by default."""
ADDON = {"ADDONS": {"scrapy_simdedup.Addon": 500}}
ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}
"""A request is made once callback and pipelines are through with the page before. With the first setting alone it is
made once that was downloaded, and an old Scrapy sleeps for 100 ms before it calls a callback."""


class PathsSpider(Spider):
    """Fetches the given URLs, each after the one before was answered, and yields an item per page."""

    name = "paths"
    custom_settings = {"CONCURRENT_REQUESTS": 1}
    hears: dict[str, object] = {}
    """Signals by the names of the methods that are called with them."""

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        for method, signal in cls.hears.items():
            crawler.signals.connect(getattr(spider, method), signal)
        return spider

    def __init__(self, urls: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = urls
        self.called: list[str] = []
        self.failures: list[BaseException] = []

    async def start(self) -> Any:
        for number, url in enumerate(self.urls):
            yield Request(url, dont_filter=True, priority=-number)

    def parse(self, response: Any) -> Any:
        self.called.append(response.url)
        yield {"url": response.url}


class PatientSpider(PathsSpider):
    """Fetches the given URLs, each after the page before was delivered, or was not."""

    custom_settings = ONE_BY_ONE


class Crawl:
    """What came of a crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.items: list[Any] = []
        crawler.signals.connect(self._scraped, signals.item_scraped)

    def _scraped(self, item: Any) -> None:
        self.items.append(item)

    @property
    def urls(self) -> list[str]:
        """The URLs of the items, in the order in which they came."""
        return [item["url"] for item in self.items]

    @property
    def spider(self) -> Any:
        return self.crawler.spider

    def stat(self, name: str) -> Any:
        """A stat of the plugin, 0 where it was never counted."""
        return self.crawler.stats.get_value(f"simdedup/{name}", 0)


def waiting(spider: Any) -> int:
    """How many repeats wait for their originals at this moment of a crawl."""
    return spider.crawler.get_downloader_middleware(NearDuplicateDownloaderMiddleware).live.as_dict()["waiting"]


async def crawl(spider: type[Spider], settings: dict[str, Any] | None = None, /, **arguments: Any) -> Crawl:
    """Crawl with the add-on, or whatever ``settings`` enable."""
    crawler = Crawler(spider, {**QUIET, **(ADDON if settings is None else settings)})
    result = Crawl(crawler)
    await maybe_deferred_to_future(crawler.crawl(**arguments))
    return result


class UnreachableFeed(BlockingFeedStorage):
    """Fails as a server that is not there, and closes its file, which Scrapy's own leave open then."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        pass

    def _store_in_thread(self, file: IO[bytes]) -> None:
        file.close()
        raise OSError("nobody is there")
