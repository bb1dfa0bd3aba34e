"""Beside duplicate-url-discarder: what a crawl teaches becomes its rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy import Spider

from helpers.command_line import perform_here
from helpers.crawling import ADDON, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site

pytestmark = pytest.mark.slow

pytest.importorskip("duplicate_url_discarder")

ADDONS = {"ADDONS": {**ADDON["ADDONS"], "duplicate_url_discarder.Addon": 600}}


class LinksSpider(Spider):
    name = "links"

    def parse(self, response):  # noqa: ANN001, ANN201
        yield {"url": response.url}
        yield from response.follow_all(css="nav a[href^='/']")


@pytest.fixture
def shop(site: Site) -> Site:
    """Forty pages under three URLs each, which differ in a session."""
    paths = [f"/view?page={n}{end}" for n in range(40) for end in ("", "&session=7f3a", "&session=91bc")]
    for path in paths:
        site[path] = page(path.partition("&")[0], path)
    site["/"] = page("front", links=tuple(paths), count=40)
    return site


@on_asyncio
async def test_the_second_crawl_leaves_out_what_the_first_found_to_be_repeats(shop: Site, tmp_path: Path) -> None:
    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    rules = tmp_path / "rules.json"
    start = {"start_urls": [shop.url("/")]}
    first = await crawl(LinksSpider, {**ADDONS, "SIMDEDUP_STORE": store}, **start)
    fetched = len(shop.requested)
    assert perform_here("rules", "--store", store, "-o", rules).code == 0
    shop.requested.clear()
    second = await crawl(LinksSpider, {**ADDONS, "DUD_LOAD_RULE_PATHS": [str(rules)]}, **start)
    assert (fetched, len(shop.requested)) == (121, 41)
    assert len(first.urls) == len(second.urls) == 41
    assert second.stat("pages/dropped") == 0
