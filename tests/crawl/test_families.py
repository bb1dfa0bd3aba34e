"""Families: pages of one headline and one text, each with one line of its own, are kept once they are told apart."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.exceptions import DontCloseSpider, DropItem
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from helpers.crawling import ADDON, PathsSpider, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from helpers.site_server import Site
from scrapy_simdedup.crawl import second_fetch
from scrapy_simdedup.detect.stubs import MIN_SAID_AGAIN


class SiteSpider(CrawlSpider):
    name = "family"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_page(self, response: Any) -> Any:
        yield {"url": response.url, "verdict": response.meta["simdedup_verdict"]["kind"]}


def city(number: int) -> str:
    return " ".join(words(f"city {number}", 3)).capitalize()


FAMILIES: dict[str, Callable[[int], str]] = {
    "events in other cities": lambda number: f"<p>{city(number)}</p>{prose('event', 80)}",
    "models with other numbers": lambda number: f"<p>Model {100 * number}</p>{prose('model', 80)}",
}


def member(body: str) -> str:
    """A page of the family, whose title and h1 are the same on all of them."""
    return page("family", "the same frame", body=body)


def event(number: int) -> str:
    """A page of the family of events in other cities."""
    return member(FAMILIES["events in other cities"](number))


def serve(site: Site, paths: list[str], html: Callable[[int], str] = event) -> list[str]:
    """Serve a page at each path, by its number; the paths."""
    for number, path in enumerate(paths):
        site[path] = html(number)
    return paths


def serve_family(site: Site, count: int) -> list[str]:
    """Serve the pages of events in other cities; their paths, which have nothing in common but their section."""
    return serve(site, [f"/offers/{'-'.join(words(number, 2))}" for number in range(count)])


def serve_others(site: Site, count: int) -> list[str]:
    """Serve pages with other headlines and texts, by which the site is known; their paths."""
    return serve(site, [f"/about/{number}" for number in range(count)], page)


@pytest.mark.parametrize("others", [0, 2, 12])
@on_asyncio
async def test_a_family_of_a_few_is_kept_where_the_site_turns_out_to_have_one_headline(others: int) -> None:
    """A small shop has it on all pages but the first. Copies of a page are dropped as ever, in whatever they differ."""
    with Site() as site:
        wares = serve(site, [f"/wares/{'-'.join(words(number, 2))}" for number in range(4)])
        copies = serve(site, [f"{path}?from={number}" for number, path in enumerate(wares)])
        of_shop = [f"/{'-'.join(words(f'about {number}', 2))}" for number in range(others)]
        for path in of_shop:
            site[path] = page("family", "the same frame", body=prose(path, 80))
        site["/"] = page("start")
        done = await crawl(PatientSpider, ADDON, urls=site.urls("/", *wares, *copies, *of_shop))
        assert sorted(done.urls) == sorted(site.urls("/", *wares, *of_shop))
        assert done.stat("pages/dropped") == 7
        assert done.stat("pages/fetched_twice") == 6


class FedSpider(PathsSpider):
    """Gets more URLs once it has nothing to do, as spiders do that are fed by a queue."""

    hears = {"feed": signals.spider_idle}

    def __init__(self, later: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.later, self.idle = later, 0

    def feed(self) -> None:
        self.idle += 1
        if self.idle == 4:
            for url in self.later:
                self.crawler.engine.crawl(Request(url))
        if self.idle < 5:
            raise DontCloseSpider


@on_asyncio
async def test_what_was_judged_again_and_dropped_is_kept_once_it_turns_out_to_be_of_a_family() -> None:
    with Site() as site:
        paths, others = serve_family(site, 20), serve_others(site, 8)
        first = site.urls(*paths[:5], *others)
        done = await crawl(FedSpider, ADDON, urls=first, later=site.urls(*paths[5:]))
        assert sorted(done.urls) == sorted(site.urls(*paths, *others))


@on_asyncio
async def test_a_greeting_above_an_article_makes_no_other_page_of_it_on_a_small_site() -> None:
    """The crawl knows no more of the site at its end; the URLs tell that they lead to one article."""
    with Site() as site:
        aliases = ["/tide", "/print/tide", "/tide?from=home", "/tide/amp"]
        for number, path in enumerate(aliases):
            site[path] = page("tide", "tide", body=f"<p>{city(number)}</p>{prose('article', 80)}")
        done = await crawl(PathsSpider, ADDON, urls=site.urls(*aliases))
        assert done.urls == site.urls(aliases[0])
        assert done.stat("pages/fetched_twice") == 3


@pytest.mark.parametrize("name", FAMILIES)
@on_asyncio
async def test_no_page_of_a_family_is_lost(name: str) -> None:
    """Be it a part of its site, with a CrawlSpider: what was dropped until then is fetched once more."""
    with Site() as site:
        offers, others = [f"/offers/{'-'.join(words(number, 2))}" for number in range(30)], serve_others(site, 12)
        of_family = serve(site, offers, lambda number: member(FAMILIES[name](number)))
        site["/"] = page("start", links=(*others, *of_family))
        done = await crawl(SiteSpider, ADDON, start_urls=[site.url("/")])
        assert set(done.urls) == {site.url(path) for path in ("/", *of_family, *others)}
        assert len(done.urls) == len(set(done.urls))
        assert 0 < done.stat("pages/fetched_twice") == done.stat("pages/dropped") <= 9


@pytest.mark.parametrize("count", [0, 8])
@pytest.mark.parametrize("name", FAMILIES)
@on_asyncio
async def test_records_that_a_query_tells_apart_are_kept_as_they_say_the_same_again(name: str, count: int) -> None:
    """On a site that has nothing else all of them are doubtful first."""
    with Site() as site:
        others, records = serve_others(site, count), [f"/show?id={number}" for number in range(20)]
        serve(site, records, lambda number: member(FAMILIES[name](number)))
        done = await crawl(PathsSpider, ADDON, urls=site.urls(*others, *records))
        assert sorted(done.urls) == sorted(site.urls(*others, *records))
        assert len(site.requested) == len(others) + len(records) + MIN_SAID_AGAIN


@pytest.mark.parametrize("by_query", [False, True])
@pytest.mark.parametrize("at_once", [1, 16])
@on_asyncio
async def test_a_page_of_a_family_under_two_urls_is_kept_once_in_each_crawl_that_asks_for_it(
    tmp_path: Path, by_query: bool, at_once: int
) -> None:
    """Whether the family is known by then, or its pages are judged once more."""
    with Site() as site:
        others, urls = serve_others(site, 8), []
        for number in range(20):
            path = f"/show?id={number}" if by_query else f"/show/{'-'.join(words(number, 2))}"
            copy = f"{path}&from=home" if by_query else f"{path}?from=home"
            site[path] = site[copy] = event(number)
            urls += site.urls(path, copy)
        settings = {**ADDON, "SIMDEDUP_STORE": f"sqlite:///{tmp_path / 'pages.db'}", "CONCURRENT_REQUESTS": at_once}
        settings |= {"SIMDEDUP_AGAINST": "history", "SIMDEDUP_UNCHANGED": "drop"}
        done = await crawl(PathsSpider, settings, urls=[*site.urls(*others), *urls])
        delivered = [url.replace("&from=home", "").replace("?from=home", "") for url in done.urls if url in urls]
        assert sorted(delivered) == sorted(urls[::2])
        again = await crawl(PathsSpider, settings, urls=[*site.urls(*others), *urls])
        assert set(again.urls) <= set(urls[:2]), "a stub is delivered in each crawl"


@pytest.mark.parametrize(
    ("by_query", "number", "asked"),
    [(False, 2, 0), (False, 3, 2), (False, 4, 3), (False, 7, 3), (True, 3, 0), (True, 4, 3), (True, 7, 3)],
)
@pytest.mark.parametrize("changes", [False, True])
@on_asyncio
async def test_a_few_pages_are_a_family_if_they_say_the_same_again(
    by_query: bool, number: int, asked: int, changes: bool
) -> None:
    """With a quote of the day they are an article under a few URLs, as one of them tells. Of two pages nobody knows."""
    quotes = count()
    with Site() as site:
        others, ends = serve_others(site, 12), ["-".join(words(of, 2)) for of in range(number)]
        paths = [f"/offer?id={of}" if by_query else f"/offers/{end}" for of, end in enumerate(ends)]
        for of, path in enumerate(paths):
            quote = (lambda: next(quotes)) if changes else partial(int, of)
            site[path] = lambda _, quote=quote: event(quote())
        done = await crawl(PathsSpider, ADDON, urls=site.urls(*others, *paths))
        is_known = asked and not changes
        assert sorted(done.urls) == sorted(site.urls(*others, *(paths if is_known else paths[:1])))
        assert len(site.requested) == len(others) + len(paths) + (min(asked, 1) if changes else asked)


@pytest.mark.parametrize("beside", ["", "<h1>Low tide</h1><p>Served in {} ms</p>"])
@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("path", ["/pictures/{}", "/picture?id={}"])
@on_asyncio
async def test_pages_that_their_titles_alone_tell_apart_are_kept_if_these_say_the_same_again(
    path: str, changes: bool, beside: str
) -> None:
    """Pictures with one description may have no other name. A title that names the song on the radio is a clock."""
    songs, times = count(), count()
    with Site() as site:
        others, paths = serve_others(site, 12), [path.format("-".join(words(number, 2))) for number in range(4)]
        for number, of in enumerate(paths):
            said = (lambda: next(songs)) if changes else partial(int, number)
            site[of] = lambda _, said=said: (
                f"<title>{city(said())} | Acme</title>{prose('picture', 80)}{beside.format(next(times))}"
            )
        done = await crawl(PathsSpider, ADDON, urls=site.urls(*others, *paths))
        assert sorted(done.urls) == sorted(site.urls(*others, *(paths[:1] if changes else paths)))
        assert len(site.requested) == len(others) + len(paths) + (1 if changes else 3)


@pytest.mark.parametrize("lines", [6, 110])
@on_asyncio
async def test_a_clock_on_each_page_hides_no_family(lines: int) -> None:
    """A line of a page that is asked for again is there again. On a long page several lines share a row of its record.

    The first ones that were dropped are the first page under other URLs, with another time: they tell nothing.
    """
    times = count()
    above, below = ("".join(f"<p>{' '.join(words((at, line), 4))}</p>" for line in range(lines // 2)) for at in "ab")

    def record(number: int) -> Callable[[str], str]:
        about = (
            f"<p>{city(number)}</p><p>Weight {100 + number} g</p>" if lines > 6 else f"<p>Weight {100 + number} g</p>"
        )
        return lambda _: member(f"{above}{about}{below}{prose('record', 80)}<p>Served in {next(times)} ms</p>")

    with Site() as site:
        others, paths = serve_others(site, 12), [f"/offers/{'-'.join(words(of, 2))}" for of in range(4)]
        copies = [f"{paths[0]}?from={number}" for number in range(3)]
        for path in (*paths, *copies):
            site[path] = record(paths.index(path.partition("?")[0]))
        done = await crawl(PathsSpider, ADDON, urls=site.urls(*others, paths[0], *copies, *paths[1:]))
        assert set(done.urls) >= set(site.urls(*others, *paths))
        assert len(site.requested) == len(others) + len(paths) + len(copies) + 3


@on_asyncio
async def test_a_page_of_a_family_is_kept_once_whatever_its_clock_shows_and_its_session_is() -> None:
    """As soon as the clock is known: five pages that were asked for again show that."""
    times = count()
    with Site() as site:
        others, urls = serve_others(site, 12), list[str]()
        for kind in range(3):
            for number in range(4):
                about = f"<p>Weight {100 + number} g</p>{prose(('kind', kind), 80)}"
                path = f"/offers/{'-'.join(words((kind, number), 2))}"
                urls += (aliases := [path, f"{path}?from=home", f"{path}?sid={number}"])
                title = " ".join(words(("title", kind), 3))
                for alias in aliases:
                    site[alias] = lambda _, title=title, about=about: page(
                        title, "the same frame", body=f"{about}<p>Served in {next(times)} ms</p>"
                    )
        rng = random.Random(1)
        rng.shuffle(urls)
        done = await crawl(PathsSpider, ADDON, urls=site.urls(*others, *urls))
        kept = [url.partition("?")[0] for url in done.urls if "/offers/" in url]
        assert len(set(kept)) == 12
        assert len(kept) <= 12 + 4


@on_asyncio
async def test_a_counter_makes_no_other_page_of_a_family_but_the_number_of_a_parameter_does() -> None:
    """At the path of the first page none is known to be of the family, as that is the stub."""

    def record(number: int, size: int = 38, seen: int = 812) -> str:
        lines = f"<p>Weight {100 + number} g</p><p>Size {size}</p><p>Seen {seen} times</p>"
        return member(f"{prose('event', 80)}{lines}")

    with Site() as site:
        others, paths = serve_others(site, 12), [f"/offers/{'-'.join(words(number, 2))}" for number in range(20)]
        serve(site, paths, record)
        copies = serve(site, [f"{path}?from=home" for path in paths], partial(record, seen=813))
        sizes = serve(site, [f"{path}?size=40" for path in paths], partial(record, size=40))
        done = await crawl(PatientSpider, ADDON, urls=site.urls(*others, *paths, *copies, *sizes))
        assert set(done.urls) >= set(site.urls(*others, *paths, *sizes))
        assert not set(done.urls).intersection(site.urls(*copies[1:]))


@on_asyncio
async def test_copies_of_its_first_page_hide_no_small_family() -> None:
    with Site() as site:
        others, paths = serve_others(site, 12), serve_family(site, 3)
        copies = [f"{paths[0]}?from={number}" for number in range(3)]
        serve(site, copies, lambda _: event(0))
        done = await crawl(PathsSpider, ADDON, urls=site.urls(*others, paths[0], *copies, *paths[1:]))
        assert sorted(done.urls) == sorted(site.urls(*others, *paths))


@pytest.mark.parametrize("before", [0, 19, 20])
@on_asyncio
async def test_records_that_differ_in_numbers_under_one_headline_are_kept(before: int) -> None:
    """Those that came before the site was known are in doubt, and the others wait for them."""
    with Site() as site:
        others, records = serve_others(site, 8), [f"/show?id={number}" for number in range(20)]
        for number, path in enumerate(records):
            rows = "".join(f"<tr><td>{name}</td><td>{7 * number + at}</td></tr>" for at, name in enumerate(words(1, 3)))
            site[path] = page("record", "the same frame", body=f"<table>{rows}</table>{prose('record', 80)}")
        urls = site.urls(*records[:before], *others, *records[before:])
        done = await crawl(PathsSpider, ADDON, urls=urls)
        assert sorted(done.urls) == sorted(urls)


@pytest.mark.parametrize("is_job", [False, True])
@on_asyncio
async def test_what_was_dropped_for_another_record_is_kept_once_some_are_known_to_be_a_family(
    tmp_path: Path, is_job: bool
) -> None:
    """Of records with a few marks each many are alike, and most are dropped for one of several originals."""
    settings = ADDON | ({"JOBDIR": str(tmp_path / "job")} if is_job else {})
    rng = random.Random(5)
    with Site() as site:
        records = [f"/show?id={number}" for number in range(60)]
        marks = rng.sample([f"{number:05}" for number in range(100_000) if set(str(number)) <= set("123456")], 60)
        for marked, path in zip(marks, records, strict=True):
            rows = "".join(f"<tr><td>{words(at, 1)[0]}</td><td>{mark}</td></tr>" for at, mark in enumerate(marked))
            site[path] = page("record", "the same frame", body=f"<table>{rows}</table>{prose('record', 80)}")
        done = await crawl(PathsSpider, settings, urls=site.urls(*records))
        assert sorted(done.urls) == sorted(site.urls(*records))


@on_asyncio
async def test_records_that_are_more_like_a_later_page_by_now_say_the_same_as_before_all_the_same() -> None:
    """Those that are asked for again are compared with what was kept since then, such as a page with their lines."""
    with Site() as site:
        others, records = serve_others(site, 8), [f"/show?id={number}" for number in range(10)]
        serve(site, records, lambda number: member(f"<p>{city(number)}</p>{prose('event', 300)}"))
        lines = "".join(f"<p>{city(number)}</p>" for number in range(1, 5))
        site["/tour"] = member(lines + prose("event", 300))
        done = await crawl(PathsSpider, ADDON, urls=site.urls(*others, *records, "/tour"))
        assert sorted(done.urls) == sorted(site.urls(*others, *records, "/tour"))


@pytest.mark.parametrize("cache", [False, True])
@on_asyncio
async def test_an_article_in_twenty_sessions_with_another_quote_each_time_is_kept_once(
    tmp_path: Path, cache: bool
) -> None:
    """The quotes are other ones when a few of its pages are asked for again, also where a cache has the first ones."""
    quotes = count()
    caching = {"HTTPCACHE_ENABLED": cache, "HTTPCACHE_DIR": str(tmp_path)}
    with Site() as site:
        others, sessions = serve_others(site, 8), [f"/tide?session={number}" for number in range(20)]
        for path in sessions:
            site[path] = lambda _: event(next(quotes))
        done = await crawl(PathsSpider, ADDON | caching, urls=site.urls(*others, *sessions))
        assert len(set(done.urls).intersection(site.urls(*sessions))) == 1
        assert len(site.requested) == len(others) + len(sessions) + 1


@on_asyncio
async def test_an_article_in_twenty_sessions_with_random_teasers_is_no_family() -> None:
    """Some of them are there again when one of its pages is asked for again, but at other places."""
    rng = random.Random(3)
    teasers = [f"<p>{city(number)}</p>" for number in range(20)]
    with Site() as site:
        others, sessions = serve_others(site, 8), [f"/tide?session={number}" for number in range(20)]
        for path in sessions:
            site[path] = lambda _: member(f"{prose('event', 300)}<p>{city(99)}</p>{''.join(rng.sample(teasers, 8))}")
        done = await crawl(PatientSpider, ADDON, urls=site.urls(*others, *sessions))
        assert len(set(done.urls).intersection(site.urls(*sessions))) < 8
        assert len(site.requested) == len(others) + len(sessions) + MIN_SAID_AGAIN


@on_asyncio
async def test_an_article_that_names_in_a_line_whom_to_reply_to_is_kept_once() -> None:
    """It has a path without a query, so nothing is asked for again."""
    with Site() as site:
        others, replies = serve_others(site, 8), [f"/tide?reply={number}" for number in range(20)]
        serve(site, ["/tide", *replies])
        done = await crawl(PathsSpider, ADDON, urls=site.urls("/tide", *others, *replies))
        assert sorted(done.urls) == sorted(site.urls("/tide", *others))
        assert len(site.requested) == 1 + len(others) + len(replies)


@on_asyncio
async def test_views_of_things_that_are_known_are_no_family() -> None:
    """What each of them says beside the others stands on the page of its thing, which was delivered."""
    with Site() as site:
        articles, files = [f"/wiki?page={'-'.join(words(number, 2))}" for number in range(24)], prose("no files", 90)
        for path in articles:
            about = f"<p>{path[11:]}, changed by Ann</p>"
            for view, text in ("", prose(path, 60)), ("&view=files", f"<h1>Files</h1>{files}"):
                site[path + view] = f"<title>{path}</title><main>{about}{text}</main>"
        views = [f"{path}&view=files" for path in articles]
        done = await crawl(PatientSpider, ADDON, urls=site.urls(*articles, *views))
        assert done.urls == site.urls(*articles, views[0])
        assert done.stat("pages/fetched_twice") == 0
        assert len(site.requested) == len(articles) + len(views)


class DroppingPipeline:
    """Takes some pages' items away, as one does that checks them."""

    urls: tuple[str, ...] = ()

    def process_item(self, item: Any) -> Any:
        if item["url"] in self.urls:
            raise DropItem("no price")
        return item


@pytest.mark.parametrize("failing", [(0,), (0, 1, 2), (0, 1, 2, 3, 4)])
@on_asyncio
async def test_a_family_is_found_whose_first_pages_a_pipeline_drops(
    monkeypatch: pytest.MonkeyPatch, failing: tuple[int, ...]
) -> None:
    """They leave no record that the next one is like, and count with it all the same."""
    with Site() as site:
        urls = site.urls(*serve_family(site, 10))
        dropped = [urls[number] for number in failing]
        monkeypatch.setattr(DroppingPipeline, "urls", tuple(dropped))
        done = await crawl(PatientSpider, {**ADDON, "ITEM_PIPELINES": {DroppingPipeline: 500}}, urls=urls)
        assert sorted(done.urls) == sorted(set(urls) - set(dropped))


@on_asyncio
async def test_an_article_with_a_quote_of_the_day_is_no_family() -> None:
    """Its URLs have something in common that other pages of the site do not have."""
    with Site() as site:
        others, aliases = serve_others(site, 12), [f"/print/{number}/the-tide-comes-in" for number in range(12)]
        serve(site, aliases, lambda number: member(f"<p>{city(number)}</p>{prose('article', 80)}"))
        site["/"] = page("start", links=(*others, *aliases))
        done = await crawl(SiteSpider, ADDON, start_urls=[site.url("/")])
        assert done.stat("pages/dropped") == len(aliases) - 1
        assert len(set(done.urls).intersection(site.urls(*aliases))) == 1


class CourseSpider(Spider):
    name = "courses"

    async def start(self) -> Any:
        for number, url in enumerate(self.urls):
            yield Request(url, meta={"simdedup_identity": "one course"}, cb_kwargs={"number": number})

    def parse(self, response: Any, number: int) -> Any:
        yield {"url": response.url, "number": number, "identity": response.meta["simdedup_identity"]}


@on_asyncio
async def test_a_second_fetch_has_all_that_the_first_one_had() -> None:
    with Site() as site:
        paths = serve_family(site, 12)
        # Else they would be kept for their numbers, which the items have.
        settings = ADDON | {"SIMDEDUP_CALLBACKS": "any"}
        done = await crawl(CourseSpider, settings, urls=[site.url(path) for path in paths])
        assert done.stat("pages/fetched_twice") == 7
        found = sorted((item["number"], item["url"], item["identity"]) for item in done.items)
        assert found == [(number, site.url(path), "one course") for number, path in enumerate(paths)]


@on_asyncio
async def test_what_a_stub_dropped_is_fetched_once_more_only_where_stubs_are_kept() -> None:
    with Site() as site:
        paths = serve_family(site, 30)
        site["/"] = page("start", links=tuple(paths))
        done = await crawl(SiteSpider, {**ADDON, "SIMDEDUP_STUBS": "drop"}, start_urls=[site.url("/")])
        assert done.stat("pages/fetched_twice") == 0
        assert done.stat("pages/dropped") == len(paths) - 1


@on_asyncio
async def test_equal_answers_at_many_places_are_not_fetched_once_more() -> None:
    """A login page says the same wherever it stands."""
    with Site() as site:
        paths = [f"/{'-'.join(words(number, 2))}" for number in range(30)]
        serve(site, paths, lambda _: member(prose("log in", 80)))
        site["/"] = page("start", links=tuple(paths))
        done = await crawl(SiteSpider, ADDON, start_urls=[site.url("/")])
        assert done.stat("pages/stub") > 0
        assert done.stat("pages/fetched_twice") == 0


@on_asyncio
async def test_what_another_process_of_the_run_finds_to_be_a_family_is_fetched_once_more(tmp_path: Path) -> None:
    """Each drops a part of the family, and only one of them sees the eighth page."""
    with Site() as site:
        paths = serve_family(site, 30)
        shared = {
            **ADDON,
            "SIMDEDUP_STORE": f"sqlite:///{tmp_path / 'pages.db'}",
            "SIMDEDUP_RUN": "night",
            "DOWNLOAD_DELAY": 0.05,
        }
        urls = site.urls(*paths)
        one, other = await asyncio.gather(
            crawl(PathsSpider, shared, urls=urls[::2]), crawl(PathsSpider, shared, urls=urls[1::2])
        )
        assert sorted(one.urls + other.urls) == sorted(urls)
        assert one.stat("pages/fetched_twice") > 0
        assert other.stat("pages/fetched_twice") > 0


@pytest.mark.parametrize(("room", "times"), [(32_000_000, {1}), (0, {1, 2})])
@on_asyncio
async def test_what_is_still_at_hand_is_not_asked_of_the_server_again(
    monkeypatch: pytest.MonkeyPatch, room: int, times: set[int]
) -> None:
    """It may be busy by then, or answer with another page."""
    monkeypatch.setattr(second_fetch, "MAX_HELD_BYTES", room)
    with Site() as site:
        paths = serve_family(site, 20)
        done = await crawl(PathsSpider, ADDON, urls=site.urls(*paths))
        assert sorted(done.urls) == sorted(site.urls(*paths))
        assert done.stat("pages/fetched_twice") > 0
        assert set(Counter(path for path in site.requested if path in paths).values()) == times


@pytest.mark.parametrize("members", [[7, 0, 9], [9, 8, 7, 0, 1]])
@on_asyncio
async def test_no_second_fetch_leads_to_a_third(tmp_path: Path, members: list[int]) -> None:
    """A later run fetches a part of a family, each page of which it may find like another one than the first."""
    with Site() as site:
        paths, others = serve_family(site, 20), serve_others(site, 12)
        settings = {**ADDON, "SIMDEDUP_STORE": f"sqlite:///{tmp_path / 'pages.db'}", "CONCURRENT_REQUESTS": 1}
        first = await crawl(PathsSpider, settings, urls=site.urls(*paths, *others))
        assert len(first.urls) == len(paths) + len(others)
        site.requested.clear()
        chosen = [paths[number] for number in members]
        again = await crawl(PathsSpider, settings, urls=site.urls(*others, *chosen))
        assert sorted(again.urls) == sorted(site.urls(*others, *chosen))
        assert max(Counter(site.requested).values()) <= 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Scrapy 2.14 leaves its queue open
@pytest.mark.parametrize(("count", "stop"), [(20, 4), (20, 7), (20, 9), (20, 14), (5, 3)])
@on_asyncio
async def test_a_job_that_is_stopped_and_resumed_loses_no_page_of_a_family(
    tmp_path: Path, count: int, stop: int
) -> None:
    """Neither those that it had dropped when it was stopped, nor what it was about to fetch once more."""
    with Site() as site:
        paths = serve_family(site, count)
        settings = {**ADDON, "JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
        urls = site.urls(*paths)
        first = await crawl(PathsSpider, settings | {"CLOSESPIDER_PAGECOUNT": stop}, urls=urls)
        second = await crawl(PathsSpider, settings, urls=[])
        assert set(first.urls + second.urls) == set(urls)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Scrapy 2.14 leaves its queue open
@pytest.mark.parametrize("stop", [12, 20, 26, 28])
@on_asyncio
async def test_a_job_that_is_stopped_before_it_asked_for_records_again_loses_none_of_them(
    tmp_path: Path, stop: int
) -> None:
    with Site() as site:
        others, records = serve_others(site, 8), serve(site, [f"/show?id={number}" for number in range(20)])
        settings = {**ADDON, "JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
        urls = site.urls(*others, *records)
        first = await crawl(PathsSpider, settings | {"CLOSESPIDER_PAGECOUNT": stop}, urls=urls)
        second = await crawl(PathsSpider, settings, urls=[])
        assert set(first.urls + second.urls) == set(urls)


class LockedSpider(PathsSpider):
    """Counts its pages in the state of its job, and makes requests that no file can hold."""

    async def start(self) -> Any:
        async for request in super().start():
            yield request.replace(meta={"lock": threading.Lock()})

    def parse(self, response: Any) -> Any:
        self.state["pages"] = self.state.get("pages", 0) + 1
        yield from super().parse(response)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Scrapy 2.14 leaves its queue open
@on_asyncio
async def test_a_job_keeps_its_state_whatever_the_requests_of_dropped_pages_hold(tmp_path: Path) -> None:
    """Scrapy writes the state of a job as a whole, or loses it."""
    with Site() as site:
        paths = serve_family(site, 20)
        settings = {**ADDON, "JOBDIR": str(tmp_path / "job")}
        first = await crawl(LockedSpider, settings, urls=site.urls(*paths[:7]))
        assert first.spider.state["pages"] == len(first.urls) == 7
        second = await crawl(LockedSpider, settings, urls=site.urls(*paths[7:]))
        assert second.spider.state["pages"] == len(first.urls + second.urls)
        assert set(second.urls) == set(site.urls(*paths[7:]))


@on_asyncio
async def test_what_a_process_dropped_that_has_ended_is_fetched_by_the_one_that_finds_the_family(
    shared_url: str,
) -> None:
    """Its own crawl was over before the eighth page came."""
    with Site() as site:
        paths, others = serve_family(site, 20), serve_others(site, 6)
        settings = {**ADDON, "SIMDEDUP_STORE": shared_url, "SIMDEDUP_RUN": "night"}
        first = await crawl(PathsSpider, settings, urls=site.urls(*others, *paths[:2]))
        second = await crawl(PathsSpider, settings, urls=site.urls(*paths[2:]))
        assert first.urls == site.urls(*others, paths[0])
        assert set(second.urls) == set(site.urls(*paths[1:]))


@on_asyncio
async def test_a_family_is_found_though_the_bytes_of_most_of_its_pages_are_known(tmp_path: Path) -> None:
    """They are read once more for that, as in each run that goes on after a kill."""
    with Site() as site:
        others, paths = serve_others(site, 12), serve_family(site, 3)
        settings = {**ADDON, "SIMDEDUP_STORE": f"sqlite:///{tmp_path / 'pages.db'}"}
        first = await crawl(PathsSpider, settings, urls=site.urls(*others, *paths[:2]))
        assert first.urls == site.urls(*others, paths[0])
        second = await crawl(PathsSpider, settings, urls=site.urls(*others, *paths))
        assert set(second.urls) == set(site.urls(*others, *paths))


KILLED = """
import json, os, signal, sys
from scrapy.crawler import CrawlerProcess
from helpers.crawling import ADDON, PatientSpider
from scrapy_simdedup.signals import near_duplicate_dropped

class Killed(PatientSpider):
    @classmethod
    def from_crawler(cls, crawler, **arguments):
        spider = super().from_crawler(crawler, **arguments)
        spider.dropped = 0
        crawler.signals.connect(spider.count, near_duplicate_dropped)
        return spider

    def count(self):
        self.dropped += 1
        if self.dropped == 6:
            os.kill(os.getpid(), signal.SIGKILL)

process = CrawlerProcess({**ADDON, "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False, **json.loads(sys.argv[1])})
process.crawl(Killed, urls=sys.argv[2:])
process.start()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal")
@on_asyncio
async def test_what_a_process_dropped_that_was_killed_is_fetched_by_the_next_one(tmp_path: Path) -> None:
    """What it had counted died with it, and its queue held the rest of the family alone."""
    with Site() as site:
        paths = serve_family(site, 12)
        settings = {"SIMDEDUP_STORE": f"sqlite:///{tmp_path / 'pages.db'}", "SIMDEDUP_RUN": "night"}
        killed = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", KILLED, json.dumps(settings), *site.urls(*paths[:7])),
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        )
        assert await killed.wait() == -signal.SIGKILL
        site.requested.clear()
        next_one = await crawl(PathsSpider, ADDON | settings, urls=site.urls(*paths[7:]))
        assert set(next_one.urls) == set(site.urls(*paths[1:]))
        assert len(next_one.urls) == len(paths) - 1
        later = await crawl(PathsSpider, ADDON | settings, urls=[])
        assert later.urls == []


@on_asyncio
async def test_later_runs_see_of_a_family_what_is_new_and_what_was_edited(tmp_path: Path) -> None:
    """Beside it comes the page with which the others were compared: it may have given no item."""
    with Site() as site:
        known, added = serve_family(site, 31), "/offers/another"
        incremental = {**ADDON, "SIMDEDUP_STORE": f"sqlite:///{tmp_path / 'pages.db'}", "SIMDEDUP_UNCHANGED": "drop"}
        first = await crawl(PathsSpider, incremental, urls=site.urls(*known))
        assert sorted(first.urls) == sorted(site.urls(*known))
        again = await crawl(PathsSpider, incremental, urls=site.urls(*known))
        assert again.urls == site.urls(known[0])
        edited = known[20]
        site[edited] = member(FAMILIES["events in other cities"](20).replace("</p>", " and elsewhere</p>", 1))
        site[added] = event(40)
        later = await crawl(PathsSpider, incremental, urls=site.urls(*known, added))
        assert sorted(later.urls) == sorted(site.urls(known[0], edited, added))
