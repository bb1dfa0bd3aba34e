"""Crawls that meet a better copy of a page after the page."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from helpers.crawling import ADDON, PathsSpider, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup import DedupSettings
from scrapy_simdedup.report.clusters import Cluster, Clusters
from scrapy_simdedup.signals import better_copy_found, near_duplicate_dropped
from scrapy_simdedup.store import store_by_url

FIRST, BETTER, REPEATS = "/article?from=home", "/article", ["/article?from=page1", "/article?from=page2"]


class Overwriting:
    """A pipeline as a user would write it: of each content the best copy."""

    def open_spider(self) -> None:
        self.rows: dict[str, Any] = {}

    @classmethod
    def from_crawler(cls, crawler: Any) -> Overwriting:
        made = cls()
        crawler.overwriting = made
        return made

    def process_item(self, item: Any) -> Any:
        verdict = item.pop("verdict")
        self.rows.pop(verdict["supersedes"], None)
        self.rows[item["url"]] = item
        return item


class TellingSpider(PatientSpider):
    """Hands each page's verdict on, and notes the signals."""

    hears = {"better": better_copy_found, "dropped": near_duplicate_dropped}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.told = []

    def better(self, response: Any, verdict: Any, spider: Any) -> None:
        assert spider is self
        self.told.append(("better", response.url, verdict.supersedes))

    def dropped(self, response: Any, verdict: Any) -> None:
        self.told.append(("dropped", response.url, verdict.original))

    def parse(self, response: Any) -> Any:
        self.called.append(response.url)
        yield {"url": response.url, "verdict": response.meta["simdedup_verdict"]}


class FailingSpider(TellingSpider):
    """Fails on the better copy."""

    def parse(self, response: Any) -> Any:
        if "?" not in response.url:
            raise ValueError
        yield from super().parse(response)


def better_by(*criteria: str, **settings: Any) -> dict[str, Any]:
    return ADDON | {"SIMDEDUP_PREFER": list(criteria), "ITEM_PIPELINES": {Overwriting: 100}, **settings}


def article(site: Site) -> None:
    """One content under all paths, that calls one of them its own."""
    for number, path in enumerate([FIRST, BETTER, *REPEATS]):
        site[path] = page("a", number).replace("<title>", f'<link rel="canonical" href="{BETTER}"><title>')


@pytest.mark.parametrize("criterion", ["canonical", "shorter_url"])
@pytest.mark.parametrize("mode", ["pages", "items"])
@on_asyncio
async def test_a_better_copy_is_delivered_and_the_crawl_is_told_what_it_supersedes(
    site: Site, criterion: str, mode: str
) -> None:
    """Later ones repeat it, not the first; a pipeline can keep the best alone."""
    article(site)
    urls = site.urls(FIRST, REPEATS[0], BETTER, REPEATS[1])
    done = await crawl(TellingSpider, better_by(criterion, SIMDEDUP_MODE=mode), urls=urls)
    assert done.urls == site.urls(FIRST, BETTER)
    assert done.spider.told == [
        ("dropped", urls[1], urls[0]),
        ("better", urls[2], urls[0]),
        ("dropped", urls[3], urls[2]),
    ]
    assert list(done.crawler.overwriting.rows) == [urls[2]]
    assert done.stat("pages/preferred") == 1
    assert done.stat("pages/identical") == 3
    assert done.stat("pages/dropped") == 2
    assert done.stat("confirmed") == 2


@on_asyncio
async def test_a_better_copy_that_fails_takes_no_place(site: Site) -> None:
    """The first one still stands."""
    article(site)
    urls = site.urls(FIRST, BETTER, *REPEATS)
    done = await crawl(FailingSpider, better_by("canonical"), urls=urls)
    assert done.urls == urls[:1]
    assert [told for told in done.spider.told if told[0] == "dropped"] == [
        ("dropped", url, urls[0]) for url in urls[2:]
    ]
    assert (done.stat("confirmed"), done.stat("released")) == (1, 1)


@on_asyncio
async def test_a_key_that_raises_costs_no_page(site: Site) -> None:
    """Each is kept, and the error is in the log."""
    article(site)
    settings = better_by() | {"SIMDEDUP_PREFER": "operator:add"}
    done = await crawl(PathsSpider, settings | {"ITEM_PIPELINES": {}}, urls=site.urls(FIRST, BETTER))
    assert done.urls == site.urls(FIRST, BETTER)
    assert done.stat("pages/unjudged_reason_count/error") == 1


async def clusters(store: str) -> list[Cluster]:
    opened = store_by_url(store)
    await opened.open()
    found = Clusters(10, 10)
    records = [record async for record in opened.records()]
    for site, record in records:
        found.add(site, record)
    sites = found.sites
    for site, record in records:
        if site in sites:
            found.add_member(site, record)
    await opened.close()
    return found.clusters


@pytest.mark.parametrize("against", ["run", "history"])
@pytest.mark.parametrize("better", [[], ["canonical"]])
@on_asyncio
async def test_a_cluster_keeps_its_id_over_runs_in_any_order(
    site: Site, tmp_path: Any, against: str, better: list[str]
) -> None:
    """With its pages: all four of them, whichever represents them."""
    article(site)
    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    paths = [FIRST, BETTER, *REPEATS]
    settings = better_by(*better, SIMDEDUP_STORE=store, SIMDEDUP_AGAINST=against)
    ids = set()
    for number in range(4):
        order = paths[number:] + paths[:number]
        await crawl(TellingSpider, settings | {"SIMDEDUP_RUN": f"run {number}"}, urls=site.urls(*order))
        (cluster,) = await clusters(store)
        ids.add(cluster.id)
        assert (cluster.size, cluster.repeats) == (4, 3)
        if better:
            assert cluster.representative == site.url(BETTER)
    assert len(ids) == 1
    assert cluster.original == site.url(FIRST)


def test_settings_with_a_key_can_be_sent_to_workers() -> None:
    """They are pickled, so what they hold is a path."""
    settings = DedupSettings.from_keywords(prefer="operator:add")
    assert pickle.loads(pickle.dumps(settings)) == settings
