"""Requests whose URLs lead to known content are counted, put off or not made, and no page is lost by it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from scrapy.utils.request import request_from_dict

from helpers.crawling import ADDON, ONE_BY_ONE, Crawl, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, words
from helpers.site_server import Site
from helpers.url_site import Magazine, Reader, times, url_notes
from scrapy_simdedup import NearDuplicatePage, SkippedRequest
from scrapy_simdedup.crawl import url_readmission
from scrapy_simdedup.crawl.requests import serialize_request
from scrapy_simdedup.crawl.url_journal import UrlJournal
from scrapy_simdedup.detect.events import URL_EVENTS, SeenUrl, SkippedUrl, decode_event
from scrapy_simdedup.errors import SettingError, StoreError
from scrapy_simdedup.store.memory import MemoryStore
from scrapy_simdedup.store.sqlite import SqliteStore
from scrapy_simdedup.urls import UrlLearner

SKIP = {"SIMDEDUP_URL_LEARNING": "skip", "SIMDEDUP_SECRET": "so that chance is the same each time"}


pytestmark = [pytest.mark.usefixtures("awake"), pytest.mark.slow]


async def read(site: Site, **settings: Any) -> Crawl:
    """One page after the other, so that with the same secret the same is learned each time."""
    return await crawl(Reader, {**ADDON, **ONE_BY_ONE, **settings}, root=site.root)


# ------------------------------------------------------------------ the modes


@on_asyncio
async def test_skipping_saves_two_fifths_of_the_requests_and_no_item(site: Site, caplog: Any) -> None:
    """The summary says how many."""
    magazine = Magazine(site, 60)
    found = await read(site, **SKIP)
    assert times(found.items) == dict.fromkeys(magazine.contents, 1)
    saved = len(magazine.addresses) - len(site.requested)
    assert saved >= 0.4 * len(magazine.addresses)
    assert found.stat("urls/skipped") - found.stat("urls/readmitted") == saved
    assert f"URLs: {saved} fetches saved (about " in caplog.text
    assert found.stat("urls/rules") > 0
    assert found.stat("urls/bytes_saved") > 1000 * saved
    assert [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}] == []


@on_asyncio
async def test_many_requests_at_a_time_lose_no_page(site: Site) -> None:
    magazine = Magazine(site, 40, relevant=20)
    settings = {"SIMDEDUP_URL_LEARNING": "skip", "CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}
    found = await crawl(Reader, ADDON | settings, root=site.root)
    assert times(found.items).keys() == magazine.contents


@on_asyncio
async def test_a_page_that_is_kept_for_text_of_its_own_is_an_exception_of_a_rule(site: Site) -> None:
    """The view of every third article ends with what a reader says."""

    class Commented(Magazine):
        def answer(self, path: str) -> str:
            made, number = super().answer(path), self.content(path)
            if "view" not in path or int(number) % 3:
                return made
            comment = " ".join(words(f"comment on {number}", 60)).capitalize()
            made = made.replace("data-content=", f'data-content="commented {number}" data-of=')
            return made.replace("</article>", f'<section class="comments"><p>{comment}</p></section></article>')

    Commented(site, 60)
    found = await read(site, **SKIP)
    assert found.stat("urls/skipped") > 60
    assert {f"commented {number}" for number in range(0, 60, 3)} <= times(found.items).keys()


@on_asyncio
async def test_observing_fetches_everything_and_counts_what_it_would_have_skipped(site: Site, caplog: Any) -> None:
    magazine = Magazine(site, 40)
    found = await read(site, **SKIP | {"SIMDEDUP_URL_LEARNING": "observe"})
    assert sorted(site.requested) == sorted(magazine.addresses)
    assert found.stat("urls/would_skip") > 20
    assert f"URLs: {found.stat('urls/would_skip')} fetches would have been saved" in caplog.text


@on_asyncio
async def test_where_nothing_is_dropped_nothing_is_skipped(site: Site) -> None:
    """``SIMDEDUP_MODE = "observe"`` speaks for URLs, too."""
    magazine = Magazine(site, 40)
    found = await read(site, **SKIP, SIMDEDUP_MODE="observe")
    assert sorted(site.requested) == sorted(magazine.addresses)
    assert found.stat("urls/would_skip") > 20


@on_asyncio
async def test_what_is_put_off_is_fetched_once_and_last(site: Site) -> None:
    """Each request goes back to the scheduler at most once, though the dupefilter knows it."""
    magazine = Magazine(site, 40)
    found = await read(site, **SKIP | {"SIMDEDUP_URL_LEARNING": "deprioritize"})
    assert sorted(site.requested) == sorted(magazine.addresses)
    put_off = found.stat("urls/deprioritized")
    assert put_off > 20
    firsts = {magazine.content(path) for path in site.requested[:-put_off] if path.startswith("/story")}
    assert firsts == magazine.contents


class Following(CrawlSpider):
    """Follows links by rules, as most crawls of whole sites do."""

    name = "following"
    custom_settings = Reader.custom_settings
    root = ""
    rules = (Rule(LinkExtractor(), callback="parse_item", follow=True),)

    async def start(self) -> Any:
        yield Request(f"{self.root}/")

    def parse_item(self, response: Any) -> Any:
        for content in response.css("h1::attr(data-content)").getall():
            yield {"content": content, "url": response.url, "link": response.meta["link_text"]}


@on_asyncio
async def test_a_crawl_spider_saves_as_much(site: Site) -> None:
    """Its requests hold the texts of their links, of lxml's own class of texts. Some requests are readmitted."""
    magazine = Magazine(site, 160, ("", "&view=full", "&sid={token}"), relevant=100)
    found = await crawl(Following, {**ADDON, **ONE_BY_ONE, **SKIP}, root=site.root)
    assert times(found.items).keys() == magazine.contents
    assert found.stat("urls/skipped") > 100
    assert found.stat("urls/readmitted") > 0
    assert found.stat("urls/kept_reason_count/unserializable") == 0
    assert all(item["link"] in item["url"] for item in found.items)


def test_the_methods_of_a_request_are_found_whatever_their_own_names_are() -> None:
    class Named(Reader):
        read = lambda self, response: None  # noqa: E731 - its name is <lambda>

    spider = Named()
    for callback in (spider.read, spider.parse):
        values = serialize_request(Request("https://e.com/", callback, errback=spider.failed), spider)
        made = request_from_dict({**values, "headers": {}}, spider=spider)
        assert (made.callback, made.errback) == (callback, spider.failed)


@on_asyncio
async def test_the_summary_says_what_could_not_be_skipped_and_why(site: Site, caplog: Any) -> None:
    class Holding(Reader):
        def parse(self, response: Any) -> Any:
            for output in super().parse(response):
                yield output.replace(meta={"thing": object()}) if isinstance(output, Request) else output

    magazine = Magazine(site, 40)
    found = await crawl(Holding, {**ADDON, **ONE_BY_ONE, **SKIP}, root=site.root)
    assert sorted(site.requested) == sorted(magazine.addresses)
    kept = found.stat("urls/kept_reason_count/unserializable")
    assert kept > 20
    assert f"{kept} requests could not be skipped: {kept} unserializable (such as {site.root}/story?id=" in caplog.text
    assert ": meta['thing'] holds what has no plain form (object))" in caplog.text


# ------------------------------------------------------------------ what is never touched


class Kinds(Spider):
    """Reads the plain pages, and then asks for other URLs of them in every way there is."""

    name = "kinds"
    custom_settings = ONE_BY_ONE
    root = ""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.skipped: list[Any] = []
        self.inline: list[str] = []

    def url(self, number: int, mark: str = "") -> str:
        return f"{self.root}/story?id={number}" + (f"&utm_source={mark}" if mark else "")

    async def start(self) -> Any:
        for number in range(10):
            yield Request(self.url(number), priority=10)
        yield Request(self.url(0, "start"))
        yield Request(f"{self.root}/hub", self.parse_hub, priority=-10)

    async def parse_hub(self, response: Any) -> Any:
        for number in range(10):
            yield Request(self.url(number, "ordinary"), errback=self.failed)
        yield Request(self.url(1, "unfiltered"), dont_filter=True)
        yield Request(self.url(2, "posted"), method="POST")
        yield Request(self.url(3, "body"), body=b"x")
        yield Request(self.url(4, "opted-out"), meta={"simdedup": False})
        yield Request(self.url(5, "function"), callback=lambda _: None)
        yield Request(self.url(6, "values"), cb_kwargs={"what": object()})
        yield Request(self.url(7, "verbatim"), meta={"verbatim_url": True})
        yield Request(self.url(8, "retried"), meta={"retry_times": 1})
        yield Request(f"{self.root}/redirect")
        awaited = await self.crawler.engine.download_async(Request(self.url(9, "awaited")))
        self.inline.append(awaited.url)

    def parse(self, response: Any, what: Any = None) -> Any:
        yield {"url": response.url}

    def failed(self, failure: Any) -> None:
        if isinstance(failure.value, SkippedRequest):
            self.skipped.append(failure.value)


UNTOUCHED = "start unfiltered posted body opted-out function values verbatim retried redirected awaited".split()


@on_asyncio
async def test_what_is_no_ordinary_request_is_made(site: Site) -> None:
    """While ordinary ones are skipped.

    That are start requests, ``dont_filter``, POST, a body, what opted out or is to be asked for verbatim, redirects,
    retries, what a callback downloads and awaits, and what could not be made again later.
    """

    def story(path: str) -> str:
        return page(path.partition("&")[0], len(site.requested), count=120)

    for number in range(10):
        for mark in ("", *(f"&utm_source={mark}" for mark in ("ordinary", *UNTOUCHED))):
            site[f"/story?id={number}{mark}"] = story
    site["/hub"] = page("hub", count=120)
    site["/redirect"] = (302, {"Location": "/story?id=2&utm_source=redirected"}, b"")
    found = await crawl(Kinds, {**ADDON, **SKIP}, root=site.root)

    marks = [path.rpartition("utm_source=")[2] for path in site.requested if "utm_source" in path]
    assert set(UNTOUCHED) <= set(marks)
    assert marks.count("ordinary") + len(found.spider.skipped) == 10
    assert marks.count("ordinary") <= 5
    assert found.stat("urls/kept_reason_count/unserializable") <= 2
    assert found.spider.inline


@on_asyncio
async def test_an_errback_is_told_which_page_the_url_leads_to(site: Site) -> None:
    class Told(Reader):
        told: list[SkippedRequest] = []

        def failed(self, failure: Any) -> None:
            if not isinstance(failure.value, NearDuplicatePage):
                self.told.append(failure.value)

    magazine = Magazine(site, 30)
    await crawl(Told, {**ADDON, **ONE_BY_ONE, **SKIP, "SIMDEDUP_URL_CHECKS": 0}, root=site.root)
    assert Told.told
    for skipped in Told.told:
        assert isinstance(skipped, SkippedRequest)
        paths = [str(url).removeprefix(site.root) for url in (skipped.url, skipped.known_url)]
        assert len({magazine.content(path) for path in paths}) == 1
        assert paths[0] not in site.requested
        assert paths[1] in site.requested
        assert "query:" in skipped.rule


# ------------------------------------------------------------------ rules that are given, and rules that fall


@on_asyncio
async def test_a_rule_file_works_from_the_first_request(site: Site, tmp_path: Path) -> None:
    """Even for ten articles, from which nothing could be learned."""
    file = tmp_path / "rules.json"
    rule = {"order": 1, "urlPattern": {"include": ["/story"]}, "processor": "queryRemoval", "args": ["mark"]}
    file.write_text(json.dumps([rule]))
    magazine = Magazine(site, 10, ("", "&mark={token}", "&mark=b", "&mark=c"))
    found = await read(site, **SKIP, SIMDEDUP_URL_RULES=[str(file)])
    assert times(found.items) == dict.fromkeys(magazine.contents, 1)
    assert found.stat("urls/skipped") > 15


@on_asyncio
async def test_a_view_that_gave_no_item_saves_no_fetch_of_the_page_behind_it(site: Site, tmp_path: Path) -> None:
    """Though a rule says that the two show one content."""
    file = tmp_path / "rules.json"
    rule = {"order": 1, "urlPattern": {"include": ["/story"]}, "processor": "queryRemoval", "args": ["view"]}
    file.write_text(json.dumps([rule]))
    views = [f"/story?id={number}&view=small" for number in range(20)]
    site["/"] = page("start", links=views)
    for number, view in enumerate(views):
        site[view] = page(number, "small", links=(f"/story?id={number}",))
        site[f"/story?id={number}"] = page(number, "whole", links=(f"/story?id={number}&view=print",))
        site[f"/story?id={number}&view=print"] = page(number, "print")

    class Views(Spider):
        name = "views"

        def parse(self, response: Any) -> Any:
            if "id=" in response.url and "view=small" not in response.url:
                yield {"url": response.url}
            yield from response.follow_all(css="a")

    settings = {**ADDON, **ONE_BY_ONE, **SKIP, "SIMDEDUP_URL_RULES": [str(file)]}
    found = await crawl(Views, settings, start_urls=site.urls("/"))
    assert sorted(found.urls) == sorted(site.urls(*(f"/story?id={number}" for number in range(20))))
    assert found.stat("urls/skipped") > 10, "print views of pages that gave their items"


@on_asyncio
async def test_a_site_that_turns_loses_no_page(site: Site) -> None:
    """``view`` does not matter for 100 articles, 300 pages and more, and then it does."""
    magazine = Magazine(site, 160, ("", "&view=full", "&sid={token}"), relevant=100)
    found = await read(site, **SKIP)
    assert times(found.items).keys() == magazine.contents
    assert found.stat("urls/skipped") > 100
    assert found.stat("urls/readmitted") > 0
    assert found.stat("urls/verified_wrong") > 0


@on_asyncio
async def test_a_url_that_redirects_leads_to_what_it_redirects_to(site: Site) -> None:
    """Once it is known that ``out`` does not matter, what it redirects to is not even asked for."""
    magazine = Magazine(site, 100, ("", "&out=home"))
    for number in range(magazine.articles):
        site[magazine.path(number, "&out=home")] = (302, {"Location": magazine.path(number, "")}, b"")
    found = await read(site, **SKIP)
    assert times(found.items).keys() == magazine.contents
    assert found.stat("urls/skipped") > 20
    skipped = set(magazine.addresses) - set(site.requested)
    assert {path.partition("&")[2] for path in skipped} <= {"out=home", ""}


@on_asyncio
async def test_links_that_carry_the_marks_of_a_redirect_teach_nothing_wrong(site: Site, tmp_path: Path) -> None:
    """As where a spider copies ``response.meta``, which has the redirects of another page in it."""

    class Copying(Reader):
        def parse(self, response: Any) -> Any:
            for output in super().parse(response):
                copied = isinstance(output, Request) and "redirect_urls" in response.meta
                yield output.replace(meta=response.meta) if copied else output

    magazine = Magazine(site, 30, ("", "&out=home"))
    for listing in magazine.listings:
        site[f"{listing}&to=it"] = (302, {"Location": listing}, b"")
    site["/"] = page("/", count=120, links=tuple(f"{listing}&to=it" for listing in magazine.listings))
    database = tmp_path / "pages.sqlite"
    settings = {**ADDON, **SKIP, "SIMDEDUP_STORE": f"sqlite:///{database}", "SIMDEDUP_CONFIRM": "callback"}
    found = await crawl(Copying, settings, root=site.root)
    assert times(found.items).keys() == magazine.contents

    seen = [note for note in url_notes(database) if isinstance(note, SeenUrl)]
    shown: defaultdict[str, set[str]] = defaultdict(set)
    for note in seen:
        path = note.url.removeprefix(site.root)
        shown[note.content].add(magazine.content(path) if "id=" in path else path.removesuffix("&to=it"))
    assert len([note for note in seen if "&to=it" in note.url]) == len(magazine.listings)
    assert {content: names for content, names in shown.items() if len(names) > 1} == {}


@on_asyncio
async def test_a_url_that_is_readmitted_while_it_is_noted_is_fetched(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody could find its note yet."""
    real = UrlJournal.record_skipped

    async def rule_falls(self: UrlJournal, note: SkippedUrl) -> bool:
        self._readmit([note.url])
        return await real(self, note)

    monkeypatch.setattr(UrlJournal, "record_skipped", rule_falls)
    magazine = Magazine(site, 40)
    found = await read(site, **SKIP)
    assert sorted(site.requested) == sorted(magazine.addresses)
    assert found.stat("urls/kept_reason_count/readmitted") > 20
    assert found.stat("urls/skipped") == 0


@on_asyncio
async def test_what_a_page_calls_its_own_address_needs_fewer_trials(site: Site) -> None:
    Magazine(site, 40)
    silent = await read(site, **SKIP)
    Magazine(site, 40, canonical="/story?id={}")
    telling = await read(site, **SKIP)
    assert telling.stat("urls/skipped") > silent.stat("urls/skipped")
    assert times(telling.items) == times(silent.items)


@on_asyncio
async def test_a_site_whose_pages_all_claim_to_be_one_loses_none(site: Site) -> None:
    magazine = Magazine(site, 40, relevant=20, canonical="/story?id=0")
    found = await read(site, **SKIP)
    assert times(found.items).keys() == magazine.contents


# ------------------------------------------------------------------ when something fails


@on_asyncio
@pytest.mark.parametrize("verb", ["put_note", "read_notes"])
async def test_a_store_that_fails_costs_requests_and_no_page(
    site: Site, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    calls = 0
    real = getattr(MemoryStore, verb)

    async def fails(self: MemoryStore, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 100 and calls % 3:
            raise StoreError("memory:", "is on strike")
        return await real(self, *arguments, **options)

    monkeypatch.setattr(MemoryStore, verb, fails)
    magazine = Magazine(site, 40)
    found = await read(site, **SKIP)
    assert times(found.items) == dict.fromkeys(magazine.contents, 1)
    assert found.stat("store/error_count") > 10


@on_asyncio
async def test_a_readmitted_request_is_made_though_the_store_fails_for_a_while(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be looked up at once is looked up again when the crawl is idle."""
    real = MemoryStore.get_note
    failures = iter(range(3))

    async def fails(self: MemoryStore, journal: str, key: bytes) -> bytes | None:
        if next(failures, None) is not None:
            raise StoreError("memory:", "is on strike")
        return await real(self, journal, key)

    monkeypatch.setattr(MemoryStore, "get_note", fails)
    magazine = Magazine(site, 100, ("", "&view=full"), relevant=50)
    found = await read(site, **SKIP)
    assert next(failures, None) is None
    assert times(found.items).keys() == magazine.contents


@pytest.mark.parametrize("remembered", [5000, 5])
@on_asyncio
async def test_a_request_whose_note_the_server_dropped_is_made_all_the_same(
    site: Site, monkeypatch: pytest.MonkeyPatch, remembered: int
) -> None:
    """A server that is short of memory drops what it likes, and one that was restarted may lose the newest."""
    monkeypatch.setattr(url_readmission, "MAX_REMEMBERED", remembered)
    real = MemoryStore.get_note
    dropped: set[bytes] = set()

    async def drops(self: MemoryStore, journal: str, key: bytes) -> bytes | None:
        note = await real(self, journal, key)
        if note is not None and note.startswith(b'["skipped"'):
            dropped.add(key)
            return None
        return note

    monkeypatch.setattr(MemoryStore, "get_note", drops)
    magazine = Magazine(site, 100, ("", "&view=full"), relevant=50)
    found = await read(site, **SKIP)
    assert dropped
    assert found.stat("urls/readmitted") >= len(dropped)
    assert times(found.items).keys() == magazine.contents


class Resumed(Reader):
    """Takes up a run, and asks for one page at most."""

    paths: tuple[str, ...] = ()

    async def start(self) -> Any:
        if self.paths:
            yield Request(f"{self.root}/", self.parse_start)

    def parse_start(self, response: Any) -> Any:
        for path in self.paths:
            yield response.follow(path, self.parse_one)

    def parse_one(self, response: Any) -> Any:
        yield {"content": response.css("h1::attr(data-content)").get(), "url": response.url}


@pytest.mark.parametrize("paths", [("/story?id=0&view=last",), ()], ids=["a page of the site", "nothing"])
@on_asyncio
async def test_a_request_that_is_lost_is_made_like_one_of_its_site_or_named_in_the_log(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any, paths: tuple[str, ...]
) -> None:
    """A process that takes up a run knows no request yet when it learns that it has to make those of another."""
    magazine = Magazine(site, 40)
    site["/story?id=0&view=last"] = magazine.answer
    settings = SKIP | {"SIMDEDUP_STORE": f"sqlite:///{(tmp_path / 's.sqlite').as_posix()}", "SIMDEDUP_RUN": "one"}
    first = await read(site, **settings)
    assert first.stat("urls/skipped") > 40
    real = SqliteStore.get_note
    gone: list[str] = []

    async def is_gone(self: SqliteStore, journal: str, key: bytes) -> bytes | None:
        note = await real(self, journal, key)
        if note is not None and note.startswith(b'["skipped"'):
            gone.append(decode_event(note, URL_EVENTS).url)
            return None
        return note

    monkeypatch.setattr(SqliteStore, "get_note", is_gone)
    monkeypatch.setattr(UrlJournal, "_would_skip", lambda self, url: False)  # as rules that have fallen would not
    site.requested.clear()
    again = await crawl(Resumed, {**ADDON, **ONE_BY_ONE, **settings}, root=site.root, paths=paths)
    lost = {url.removeprefix(site.root) for url in gone}
    errors = {record.getMessage() for record in caplog.records if record.levelname == "ERROR"}
    if paths:
        assert lost <= set(site.requested)
        assert again.stat("urls/readmitted") >= len(lost)
        assert errors == set()
    else:
        assert (site.requested, again.stat("urls/readmitted")) == ([], 0)
        said = "is readmitted, and its request is gone from the store, as is any like it"
        assert errors == {f"{site.root}{path} {said}" for path in lost}
    assert len(lost) > 40


@on_asyncio
async def test_a_note_that_cannot_be_read_keeps_no_other_request_from_being_made(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = UrlJournal.skipped_request
    unreadable: list[str] = []

    async def fails(self: UrlJournal, url: str) -> SkippedUrl | None:
        if url in unreadable or not unreadable:
            unreadable.append(url)
            raise ValueError("no note")
        return await real(self, url)

    monkeypatch.setattr(UrlJournal, "skipped_request", fails)
    magazine = Magazine(site, 100, ("", "&view=full"), relevant=50)
    found = await read(site, **SKIP)
    assert len(unreadable) == 1
    assert found.stat("urls/readmitted") > 0
    assert len(magazine.contents - times(found.items).keys()) <= 1


@on_asyncio
@pytest.mark.parametrize("verb", ["decide", "observe"])
async def test_a_learner_that_fails_costs_requests_and_no_page(
    site: Site, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(UrlLearner, verb, fails)
    magazine = Magazine(site, 10)
    found = await read(site, **SKIP)
    assert sorted(site.requested) == sorted(magazine.addresses)
    assert times(found.items) == dict.fromkeys(magazine.contents, 1)


# ------------------------------------------------------------------ many workers


@on_asyncio
async def test_workers_of_one_run_share_what_they_learn(shared_url: str, site: Site) -> None:
    """The second one meets too few articles to learn anything from, and skips all the same."""
    shared = {"SIMDEDUP_STORE": shared_url, "SIMDEDUP_RUN": "one"}
    Magazine(site, 40)
    first = await read(site, **SKIP, **shared)
    assert first.stat("urls/skipped") > 40
    site.answers.clear()
    magazine = Magazine(site, 10, prefix="/story?id=9")
    second = await read(site, **SKIP, **shared)
    assert times(second.items) == dict.fromkeys(magazine.contents, 1)
    assert second.stat("urls/skipped") > 15


# ------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (None, "name a JSON file that can be read"),
        ("{}", "write a JSON list of rules"),
        ("[{}]", "write a rule such as"),
    ],
)
@on_asyncio
async def test_a_rule_file_that_cannot_be_used_stops_the_crawl(
    site: Site, tmp_path: Path, text: str | None, remedy: str
) -> None:
    file = tmp_path / "rules.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingError, match=f"SIMDEDUP_URL_RULES = .*{remedy}"):
        await read(site, SIMDEDUP_URL_RULES=[str(file)])
    assert site.requested == []
