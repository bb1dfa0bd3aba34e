"""A mistake of ours, wherever a page or an item passes by, is logged and costs neither."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import pytest

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup.crawl import pipeline
from scrapy_simdedup.crawl.items import ContentFields
from scrapy_simdedup.crawl.judge import Judge
from scrapy_simdedup.crawl.links import META_TRIAL, DeferredLinks
from scrapy_simdedup.crawl.live_stats import RedesignAlerts
from scrapy_simdedup.crawl.requests import ImportedPages
from scrapy_simdedup.crawl.url_journal import UrlObservations
from scrapy_simdedup.crawl.url_skipper import UrlSkipper
from scrapy_simdedup.detect import detector
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.site_logs import EventLog
from scrapy_simdedup.store.memory import MemoryStore

PLACES = [
    (UrlSkipper, "filter"),
    (UrlObservations, "sent"),
    (UrlObservations, "judged"),
    (UrlObservations, "settled"),
    (ImportedPages, "delivered_at"),
    (Judge, "judge_page"),
    (DeferredLinks, "filter"),
    (DeferredLinks, "answered"),
    (ContentFields, "_content_of"),
    (RedesignAlerts, "count_page"),
    (EventLog, "page_gone"),
    (NearDuplicateDetector, "refresh"),
    (NearDuplicateDetector, "confirm"),
]


async def import_one_page(self: ImportedPages, _: Any) -> None:
    self.times[b"key"] = 1.0


class TrialSpider(PathsSpider):
    """Requests pages as if links that only repeats bring led there."""

    async def start(self) -> Any:
        async for request in super().start():
            yield request.replace(meta={**request.meta, META_TRIAL: ["site.example/#", 1]})


@pytest.mark.parametrize(("part", "name"), PLACES, ids=[f"{part.__name__}.{name}" for part, name in PLACES])
@on_asyncio
async def test_a_mistake_costs_no_page(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, part: type, name: str
) -> None:
    """Of a page that comes at once, one that another address leads to, one that is gone and one that did not change."""

    def fails(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(part, name, fails)
    if part is ImportedPages:  # which is asked only where there is any
        monkeypatch.setattr(ImportedPages, "load", import_one_page)
    site["/one"] = page("one")
    site["/two"] = page("two")
    site["/old"] = (301, {"Location": "/two"}, b"")
    site["/gone"] = (404, {"Content-Type": "text/html"}, page("gone").encode())
    site["/same"] = (304, {}, b"")
    settings = {"SIMDEDUP_LINKS": "follow_new", "SIMDEDUP_URL_LEARNING": "skip", "SIMDEDUP_MARKDOWN_FIELD": "text"}
    settings |= {"SIMDEDUP_TRACK_LAYOUT": True}
    spider: type[PathsSpider] = PathsSpider
    if part is DeferredLinks:  # which is asked only about these
        settings["SIMDEDUP_LINKS"], spider = "defer", TrialSpider
    allowed = {"HTTPERROR_ALLOWED_CODES": [304, 404]}
    urls = site.urls("/one", "/old", "/gone", "/same")
    done = await crawl(spider, ADDON | settings | allowed, urls=urls)
    assert done.urls == site.urls("/one", "/two", "/gone", "/same")
    assert "a mistake" in caplog.text


@dataclass(eq=False)
class Counted:
    """An item of a class whose objects can be held weakly."""

    url: str


class Plain:
    """What no pipeline can look into."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __getitem__(self, name: str) -> str:
        return self.url


@pytest.mark.parametrize("mistake", [True, False])
@on_asyncio
async def test_an_item_that_cannot_be_judged_comes_through(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, mistake: bool
) -> None:
    class Items(PathsSpider):
        def parse(self, response: Any) -> Any:
            yield {"url": response.url} if mistake else Plain(response.url)

    if mistake:
        monkeypatch.setattr(Judge, "judge_item", None)
    site["/one"] = page("one")
    done = await crawl(Items, ADDON | {"SIMDEDUP_ITEM_FIELDS": ["url"]}, urls=site.urls("/one"))
    assert done.urls == site.urls("/one")
    assert "it is kept" in caplog.text
    assert done.stat("confirmed") == 1


@on_asyncio
async def test_items_in_whose_place_a_pipeline_puts_others_take_up_no_memory_for_long(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: WeakSet[Counted] = WeakSet()
    most: list[int] = []

    class Rewriting:
        def process_item(self, item: Counted) -> dict[str, str]:
            held.add(item)
            most.append(len(held))
            return {"url": item.url}

    class Items(PathsSpider):
        def parse(self, response: Any) -> Any:
            for number in range(50):
                yield Counted(f"{response.url}?{number}")

    monkeypatch.setattr(pipeline, "MAX_PENDING_ITEMS", 5)
    site["/one"] = page("one")
    store = MemoryStore()
    monkeypatch.setattr(detector, "store_by_url", lambda *_: store)
    settings = {"SIMDEDUP_ITEM_FIELDS": ["url"], "ITEM_PIPELINES": {Rewriting: 950}, "CONCURRENT_ITEMS": 1}
    done = await crawl(Items, ADDON | settings, urls=site.urls("/one"))
    assert len(done.items) == 50
    assert max(most) < 10
    assert Counter([record.state async for _, record in store.records()])["reserved"] <= 1 + 5, "nobody waits for those"
