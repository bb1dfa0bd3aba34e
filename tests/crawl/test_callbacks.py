"""A page displaces only pages that would have been handled alike: for the same spider, by the same callback."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from helpers.crawling import ADDON, ONE_BY_ONE, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from helpers.site_server import Site
from scrapy_simdedup.crawl.requests import handler_name, passes_item_on


class Twice(PatientSpider):
    """Fetches each page for one callback, and then for another."""

    async def start(self) -> Any:
        for callback in (None, self.parse_item):
            for url in self.urls:
                yield Request(url, callback, dont_filter=True)

    def parse(self, response: Any) -> Any:
        yield {"url": response.url, "by": "parse"}

    def parse_item(self, response: Any) -> Any:
        yield {"url": response.url, "by": "parse_item"}


def got(done: Any) -> list[tuple[str, str]]:
    return sorted((item["by"], item["url"].rpartition("/")[2]) for item in done.items)


@on_asyncio
async def test_a_start_page_is_got_by_its_own_callback_and_by_another(site: Site) -> None:
    site["/"], site["/home"] = page("home"), page("home", 2)
    done = await crawl(Twice, urls=site.urls("/", "/home"))
    assert got(done) == [("parse", ""), ("parse_item", "")]
    assert done.stat("pages/dropped") == 2, "one by each callback"


@on_asyncio
async def test_callbacks_can_be_joined(site: Site) -> None:
    site["/a"], site["/b"] = page("home"), page("home", 2)

    class Other(Twice):
        async def start(self) -> Any:
            yield Request(self.urls[0])
            yield Request(self.urls[1], self.parse_item)

    urls = site.urls("/a", "/b")
    alone = await crawl(Other, urls=urls)
    assert got(alone) == [("parse", "a"), ("parse_item", "b")]
    assert alone.stat("pages/kept_reason_count/other_callback") == 1
    joined = await crawl(Other, ADDON | {"SIMDEDUP_CALLBACKS": "any"}, urls=urls)
    assert got(joined) == [("parse", "a")]
    of_site = {"127.0.0.1": {"callbacks": "any"}}
    joined = await crawl(Other, ADDON | {"SIMDEDUP_SITE_SETTINGS": of_site}, urls=urls)
    assert got(joined) == [("parse", "a")]


class TwoRules(CrawlSpider):
    name = "two_rules"
    custom_settings = ONE_BY_ONE
    rules = (
        Rule(LinkExtractor(allow="/review/"), callback="parse_review"),
        Rule(LinkExtractor(allow="/product/"), callback="parse_product", follow=True),
    )

    def parse_review(self, response: Any) -> Any:
        yield {"url": response.url, "by": "review"}

    def parse_product(self, response: Any) -> Any:
        yield {"url": response.url, "by": "product"}


@on_asyncio
async def test_pages_of_two_rules_displace_those_of_their_own_rule_alone(site: Site) -> None:
    links = [
        f"/{kind}/{number}{twin}" for kind in ("product", "review") for number in range(3) for twin in ("", "?again")
    ]
    site["/"] = page("start", links=tuple(links))
    for link in links:
        site[link] = page(link.partition("?")[0].rpartition("/")[2], link)
    done = await crawl(TwoRules, start_urls=site.urls("/"))
    assert [by for by, _ in got(done)] == 3 * ["product"] + 3 * ["review"]
    assert done.stat("pages/dropped") == 6


@on_asyncio
async def test_spiders_that_share_a_store_do_not_displace_each_others_pages(site: Site, tmp_path: Path) -> None:
    class OtherSpider(PatientSpider):
        name = "other"

    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    settings = ADDON | {"SIMDEDUP_STORE": store, "SIMDEDUP_AGAINST": "history", "SIMDEDUP_UNCHANGED": "drop"}
    site["/a"], site["/b"] = page("one"), page("one", 2)

    class NotFromStart(PatientSpider):
        async def start(self) -> Any:
            async for request in super().start():
                yield request.replace(meta={"is_start_request": False})

    class OtherNotFromStart(NotFromStart):
        name = "other"

    first = await crawl(NotFromStart, settings, urls=site.urls("/a"))
    other = await crawl(OtherNotFromStart, settings, urls=site.urls("/b", "/a"))
    assert (first.urls, other.urls) == (site.urls("/a"), site.urls("/b"))
    again = await crawl(OtherNotFromStart, settings, urls=site.urls("/b", "/a"))
    assert again.urls == []


@on_asyncio
async def test_a_page_that_did_not_change_is_got_by_a_callback_that_never_had_it(site: Site, tmp_path: Path) -> None:
    class Later(Twice):
        callback = "parse"

        async def start(self) -> Any:
            yield Request(self.urls[0], getattr(self, self.callback), meta={"is_start_request": False})

    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    settings = ADDON | {"SIMDEDUP_STORE": store, "SIMDEDUP_AGAINST": "history", "SIMDEDUP_UNCHANGED": "drop"}
    site["/a"] = page("one")
    by = [
        got(await crawl(Later, settings, urls=site.urls("/a"), callback=name))
        for name in ("parse", "parse", "parse_item", "parse_item")
    ]
    assert by == [[("parse", "a")], [], [("parse_item", "a")], []]


@on_asyncio
async def test_spiders_that_fetch_the_same_pages_in_turn_each_export_what_is_new_to_them(
    site: Site, tmp_path: Path
) -> None:
    """A page that neither saw change is news for neither; an edit is news for both, whoever comes first."""

    class OtherSpider(PatientSpider):
        name = "other"

    settings = ADDON | {"SIMDEDUP_STORE": f"sqlite:///{tmp_path / 'pages.sqlite'}", "SIMDEDUP_UNCHANGED": "drop"}
    paths = ["/a", "/a?print", "/b", "/b?print"]

    async def run(spider: type[PatientSpider], wrapping: int, **edited: str) -> list[str]:
        for path in paths:
            name = path[1]
            site[path] = page(name, f"{path} {wrapping}", body=prose(name) + edited.get(name, ""))
        done = await crawl(spider, settings, urls=site.urls(*paths))
        return [url.removeprefix(site.root)[1] for url in done.urls]

    assert await run(PatientSpider, 1) == ["a", "b"]
    assert await run(OtherSpider, 2) == ["a", "b"]
    for wrapping in (3, 5):
        assert await run(PatientSpider, wrapping) == await run(OtherSpider, wrapping + 1) == []
    edit = "<p>It is closed on Mondays now.</p>"
    assert await run(OtherSpider, 7, b=edit) == ["b"]
    assert await run(OtherSpider, 8, b=edit) == []
    assert await run(PatientSpider, 9, b=edit) == ["b"]
    assert await run(PatientSpider, 10, b=edit) == await run(OtherSpider, 11, b=edit) == []


@on_asyncio
async def test_a_list_of_one_spider_that_gives_another_items_is_visited_for_its_links(
    site: Site, tmp_path: Path
) -> None:
    """To the one it is a page with items, to the other one that leads on."""

    class Items(PatientSpider):
        async def start(self) -> Any:
            async for request in super().start():
                yield request.replace(meta={"is_start_request": False})

    class Lists(Items):
        name = "lists"

        def parse(self, response: Any) -> Any:
            self.called.append(response.url)
            return ()

    settings = ADDON | {"SIMDEDUP_STORE": f"sqlite:///{tmp_path / 'pages.sqlite'}", "SIMDEDUP_UNCHANGED": "drop"}
    site["/list"] = page("list")
    called = []
    for spider in (Lists, Items, Lists, Items, Items, Lists):
        done = await crawl(spider, settings, urls=site.urls("/list"))
        called.append(len(done.spider.called))
    assert called == [1, 1, 1, 0, 0, 1]


def free_function(response: Any) -> None: ...


class Callable_:
    def __call__(self, response: Any) -> None: ...


class TestTheName:
    """Of what gets a page."""

    spider = Twice(urls=[])

    def name(self, callback: Any, **arguments: Any) -> str:
        return handler_name(Request("http://site.example/", callback, **arguments), self.spider)

    def test_is_that_of_the_spider_and_the_method(self) -> None:
        assert self.name(self.spider.parse_item) == "paths parse_item"
        assert self.name(None) == self.name(self.spider.parse) == "paths parse"

    def test_knows_no_arguments(self) -> None:
        assert self.name(partial(self.spider.parse_item, page=1)) == "paths parse_item"
        assert self.name(self.spider.parse_item, cb_kwargs={"page": 1}) == "paths parse_item"

    def test_tells_functions_apart(self) -> None:
        one, other = (lambda response: 1), (lambda response: 2)
        names = {self.name(callback) for callback in (free_function, one, other, Callable_(), self.spider.parse)}
        assert len(names) == 5 or len(names) == 4  # two lambdas in one line are one
        assert self.name(free_function).endswith("test_callbacks.free_function")

    def test_tells_lambdas_of_other_lines_apart(self) -> None:
        one = lambda response: 1  # noqa: E731
        other = lambda response: 1  # noqa: E731
        assert self.name(one) != self.name(other)

    def test_is_that_of_a_rules_callback(self) -> None:
        spider = TwoRules.from_crawler(_crawler())
        requests = [Request("http://s.example/", spider._callback, meta={"rule": number}) for number in (0, 1)]
        names = [handler_name(request, spider) for request in requests]
        assert names == ["two_rules rule parse_review", "two_rules rule parse_product and follow"]
        assert handler_name(Request("http://s.example/"), spider) == "two_rules parse"


def _crawler() -> Any:
    from scrapy.utils.test import get_crawler

    return get_crawler(TwoRules)


@pytest.mark.parametrize(
    ("arguments", "passes"),
    [
        ({}, False),
        ({"cb_kwargs": {"item": {}}}, True),
        ({"meta": {"item": {"name": "x"}}}, True),
        ({"meta": {"depth": 1, "link_text": "x"}}, False),
    ],
)
def test_a_request_passes_an_item_on_if_it_brings_one(arguments: dict[str, Any], passes: bool) -> None:
    response = HtmlResponse("http://s.example/", request=Request("http://s.example/"))
    assert passes_item_on(Request("http://s.example/2", **arguments), response) is passes


def test_what_a_response_brought_is_not_passed_on() -> None:
    known = {"item": {"name": "x"}}
    response = HtmlResponse("http://s.example/", request=Request("http://s.example/", meta=known))
    assert not passes_item_on(Request("http://s.example/2", meta=response.meta), response)
