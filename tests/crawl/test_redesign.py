"""A site that was crawled before comes in a new design."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.crawling import ADDON, Crawl, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup import DedupSettings
from scrapy_simdedup.detect.names import PageSettings
from scrapy_simdedup.report.history import find_moves
from scrapy_simdedup.signals import page_changed, site_redesigned
from scrapy_simdedup.store import store_by_url

EXAMPLE = Path(__file__).parents[2] / "example_project"


@pytest.fixture(scope="module")
def rendered() -> Iterator[Callable[[str, int, int], str]]:
    """The example site's pages by their ids, in the layout of a number, with the noise of one."""
    sys.path.insert(0, str(EXAMPLE))
    from website.noise import noise_of_response
    from website.pages import documents
    from website.templates import LAYOUTS, own_links

    def render(id_: str, layout: int, response: int) -> str:
        found = documents()[id_]
        body = LAYOUTS[layout](found, noise_of_response(response, found), own_links(found))
        return f"<html><head><title>{found.title}</title></head>\n{body}\n</html>"

    yield render
    sys.path.remove(str(EXAMPLE))
    for name in [name for name in sys.modules if name.split(".")[0] == "website"]:
        del sys.modules[name]


def article_ids() -> list[str]:
    content = EXAMPLE / "website" / "content"
    return [path.relative_to(content).with_suffix("").as_posix() for path in sorted(content.glob("en/articles/*.txt"))]


class Listening(PathsSpider):
    """Takes down what it is told."""

    hears = {"on_redesign": site_redesigned, "on_change": page_changed}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.redesigns, self.changed = [], []

    def on_redesign(self, redesign: Any) -> None:
        self.redesigns.append(redesign)

    def on_change(self, response: Any) -> None:
        self.changed.append(response.url)


class Shop:
    """Crawls a site again and again, into one store."""

    def __init__(self, site: Site, path: Path, **settings: Any) -> None:
        self.site, self.store = site, f"sqlite:///{path}/pages.sqlite"
        self.settings = ADDON | {"SIMDEDUP_STORE": self.store, "SIMDEDUP_TRACK_LAYOUT": True} | settings

    async def crawl(self, pages: dict[str, str]) -> Crawl:
        self.site.answers.clear()
        self.site.answers.update(pages)
        return await crawl(Listening, self.settings, urls=self.site.urls(*pages))

    async def moved(self) -> dict[str, str]:
        store = store_by_url(self.store)
        await store.open()
        records = [record async for _, record in store.records()]
        await store.close()
        return {move.old: move.new for move in find_moves("127.0.0.1", records, PageSettings(DedupSettings()))}


@on_asyncio
async def test_a_new_template_is_a_redesign_and_no_change(site: Site, tmp_path: Path, rendered: Any) -> None:
    """Of the example site, whose articles come in another layout, three of them at another address."""
    ids = article_ids()
    shop = Shop(site, tmp_path)
    before = await shop.crawl({f"/{id_}": rendered(id_, 0, at) for at, id_ in enumerate(ids)})
    assert before.stat("pages/new") > 20
    gone = [id_ for id_ in ids if site.url(f"/{id_}") in before.urls][::9][:3]
    paths = {id_: f"/archive/{id_}" if id_ in gone else f"/{id_}" for id_ in ids}
    after = await shop.crawl({path: rendered(id_, 1, 1_000 + at) for at, (id_, path) in enumerate(paths.items())})
    assert after.stat("pages/changed") == 0
    assert after.spider.changed == []
    assert after.stat("pages/unchanged") > 20
    assert after.stat("change_count/template") == after.stat("pages/unchanged")
    assert after.stat("redesigns_suspected") == 1
    (redesign,) = after.spider.redesigns
    assert (redesign.site, redesign.share) == ("127.0.0.1", 1)
    assert await shop.moved() == {site.url(f"/{id_}"): site.url(f"/archive/{id_}") for id_ in gone}


@pytest.mark.parametrize("unchanged", ["keep", "drop"])
@on_asyncio
async def test_a_redesign_is_told_once(site: Site, tmp_path: Path, rendered: Any, unchanged: str) -> None:
    """In the next crawl the new template is the known one."""
    ids = article_ids()[:12]
    shop = Shop(site, tmp_path, SIMDEDUP_AGAINST="history", SIMDEDUP_UNCHANGED=unchanged)
    told = []
    for layout in (0, 0, 1, 1):
        done = await shop.crawl({f"/{id_}": rendered(id_, layout, layout) for id_ in ids})
        told.append((len(done.spider.redesigns), done.stat("change_count/none"), done.stat("change_count/template")))
    pages = told[1][1]
    assert pages >= 10
    assert told == [(0, 0, 0), (0, pages, 0), (1, 0, pages), (0, pages, 0)]


@on_asyncio
async def test_new_content_in_the_same_template_is_no_redesign(site: Site, tmp_path: Path) -> None:
    """However much of it."""
    shop = Shop(site, tmp_path)
    await shop.crawl({f"/{number}": page(number) for number in range(12)})
    done = await shop.crawl({f"/{number}": page(100 + number, 1) for number in range(12)})
    assert done.stat("change_count/content") == done.stat("pages/changed") == 12
    assert len(done.spider.changed) == 12
    assert done.spider.redesigns == []


@on_asyncio
async def test_without_the_setting_nothing_is_known_of_templates(site: Site, tmp_path: Path, rendered: Any) -> None:
    """Nor where an earlier crawl kept none; from then on it is."""
    ids = article_ids()[:12]
    counts = []
    for layout, on in ((0, False), (1, True), (0, True)):
        shop = Shop(site, tmp_path, SIMDEDUP_TRACK_LAYOUT=on)
        done = await shop.crawl({f"/{id_}": rendered(id_, layout, layout) for id_ in ids})
        counts.append((done.stat("redesigns_suspected"), done.stat("pages/changed")))
    assert counts == [(0, 0), (0, 0), (1, 0)]
