"""Small servers that end a page by closing the connection: whole pages are judged, half of one is kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from helpers.crawl_script import run
from helpers.crawling import ADDON, Crawl, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from helpers.site_server import PlainServer
from scrapy_simdedup import fingerprint_page
from scrapy_simdedup.crawl.requests import PageEndings, ends_as_page


async def read(server: PlainServer) -> Crawl:
    with server:
        return await crawl(PatientSpider, urls=server.urls)


@on_asyncio
async def test_pages_without_a_declared_length_are_judged() -> None:
    pages = {f"/{name}?v={version}": page(name, version) for version in range(2) for name in "abc"}
    found = await read(PlainServer(pages))
    assert (found.stat("pages/judged"), found.stat("pages/dropped"), found.stat("pages/unjudged")) == (6, 3, 0)
    assert len(found.items) == 3


@pytest.mark.parametrize("order", [["/half", "/whole", "/again"], ["/whole", "/half", "/again"]])
@on_asyncio
async def test_half_a_page_is_kept_and_displaces_nobody(order: list[str]) -> None:
    """The server dies in the middle of it, and nothing but the page itself tells."""
    pages = {"/half": page("a", 1), "/whole": page("a", 2), "/again": page("a", 3)}
    server = PlainServer({path: pages[path] for path in order}, cut={"/half": len(pages["/half"]) - 60})
    found = await read(server)
    assert [url.removeprefix(server.url("")) for url in found.urls] == order[:2]
    assert found.stat("pages/unjudged_reason_count/unended") == 1
    assert found.stat("pages/dropped") == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["asyncio", "reactorless"])
def test_half_a_page_is_kept_whichever_handler_downloads_it(kind: str) -> None:
    """Scrapy's handler of aiohttp sets no flag."""
    pages = {"/half": page("a", 1), "/whole": page("a", 2), "/again": page("a", 3)}
    with PlainServer(pages, cut={"/half": len(pages["/half"]) - 60}) as server:
        stats = run(kind, server.urls)["stats"]
    assert stats["simdedup/pages/unjudged_reason_count/unended"] == 1
    assert (stats["simdedup/pages/judged"], stats["simdedup/pages/dropped"]) == (2, 1)


def without_end_tags(number: int, ending: str = "") -> str:
    footer = "<footer><p>The harbour office answers letters on weekdays between nine and five.</p></footer>"
    return page(number).replace("</body></html>", footer + ending)


@on_asyncio
async def test_pages_without_end_tags_are_judged_once_some_have_ended_alike() -> None:
    """HTML allows to leave the last end tags out; a counter of seconds at the end makes no difference."""
    pages = {f"/{number}": without_end_tags(number // 2, f"<p>Made in 0.0{number} s") for number in range(12)}
    found = await read(PlainServer(pages))
    assert (found.stat("pages/unjudged_reason_count/unended"), found.stat("pages/judged")) == (3, 9)
    assert found.stat("pages/dropped") == 4


def of_template(number: int) -> str:
    """A page in a box, whose last words are its own, and which leaves the last two end tags out."""
    links = f"<ul><li>{prose(f'links {number}', 8)}</li></ul>"
    box = f"<div class=head><p>{prose('head', 20)}</p></div><div class=text><h1>On {number}</h1>{prose(number)}</div>"
    return f"<html><body><div class=page>{box}</div><div class=more>{links}</div><script src=/count.js></script>"


@on_asyncio
async def test_pages_that_end_in_words_of_their_own_are_judged_once_some_ended_behind_the_same_element() -> None:
    pages = {f"/{number}": of_template(number // 2) for number in range(12)}
    found = await read(PlainServer(pages))
    assert (found.stat("pages/unjudged_reason_count/unended"), found.stat("pages/judged")) == (3, 9)
    assert found.stat("pages/dropped") == 4


@on_asyncio
async def test_a_page_that_breaks_behind_any_element_of_such_a_template_is_kept() -> None:
    """There its end looks like one, but other pages go on behind that element, or end what is around it."""
    whole = {f"/{number}": of_template(number) for number in range(6)}
    ends = [found.end() for found in re.finditer(r"</\w+>", of_template(0))]
    cut = {f"/half-{at}": at for at in ends if "</script>" in of_template(0)[at:] and "more" in of_template(0)[at:]}
    found = await read(PlainServer(whole | {path: of_template(0) for path in cut}, cut=cut))
    assert len(cut) > 8
    assert found.stat("pages/unjudged_reason_count/unended") == 3 + len(cut)
    assert len(found.items) == 6 + len(cut)


@pytest.mark.parametrize("page_of", [of_template, without_end_tags])
def test_no_place_of_a_page_is_its_end_but_the_end(page_of: Callable[[int], str]) -> None:
    """Wherever a page breaks among whole ones; of the last script and the white space nothing is lost."""
    endings = PageEndings()
    assert [endings.is_whole(page_of(number), "a") for number in range(8)] == [False] * 3 + [True] * 5
    said = page_of(9).rindex(page_of(9).rstrip().removesuffix("<script src=/count.js></script>")[-8:])
    for at in range(60, said, 7):
        assert not endings.is_whole(page_of(9)[:at], "a")
    assert endings.is_whole(page_of(10), "a")


@on_asyncio
async def test_half_a_page_without_end_tags_is_kept() -> None:
    pages = {f"/{number}": without_end_tags(number) for number in range(6)} | {"/half": without_end_tags(0)}
    found = await read(PlainServer(pages, cut={"/half": len(pages["/half"]) - 60}))
    assert len(found.items) == 7
    assert found.stat("pages/unjudged_reason_count/unended") == 4


@on_asyncio
async def test_pages_that_break_at_one_place_are_halves_where_others_have_their_end_tags() -> None:
    """A server that dies once its menu is sent leaves pages that all end with the menu."""
    pages = {"/whole": page(0)} | {f"/{number}": without_end_tags(number) for number in range(8)}
    found = await read(PlainServer(pages))
    assert found.stat("pages/unjudged_reason_count/unended") == 8


@on_asyncio
async def test_a_site_whose_pages_are_all_unjudged_is_in_the_summary_with_the_remedy(caplog: Any) -> None:
    """Its pages leave their last end tags out, and each ends in its own way, so that none differs from half of one."""
    pages = {f"/{number}": without_end_tags(number, prose(f"end {number}")) for number in range(12)}
    found = await read(PlainServer(pages))
    assert len(found.items) == 12
    assert found.stat("pages/unjudged_reason_count/unended") == 12
    assert "warning: 12 of 12 pages of 127.0.0.1 are unjudged (unended): each may have come in part" in caplog.text
    assert "only end tags, or pages that ended alike, show that all is there" in caplog.text


class SoundServers:
    """As in the guide about tuning."""

    def process_response(self, request: Any, response: Any) -> Any:
        response.headers.setdefault("Content-Length", str(len(response.body)))
        return response


@on_asyncio
async def test_a_middleware_can_say_that_a_server_sends_whole_pages() -> None:
    pages = {f"/{number}": without_end_tags(number // 2, prose(f"end {number // 2}")) for number in range(12)}
    with PlainServer(pages) as server:
        found = await crawl(PatientSpider, ADDON | {"DOWNLOADER_MIDDLEWARES": {SoundServers: 545}}, urls=server.urls)
    assert (found.stat("pages/judged"), found.stat("pages/dropped")) == (12, 6)


@pytest.mark.parametrize(
    "end",
    [
        "</body></html>",
        "</BODY>\n</HTML >\n\n",
        "</body>",
        "</html>\n<!-- page made in 0.2 s -->\n<!-- -->",
        "</body><script async>count('</p>')</script></html>",
    ],
)
def test_a_page_that_ends_with_its_end_tag_is_whole(end: str) -> None:
    assert ends_as_page("<html><body><p>All of it.</p>" + end)


@pytest.mark.parametrize(
    "end",
    [
        "",
        "</p>",
        "</bod",
        "</html",
        "</html><!-- page made in",
        "</body><p>An advertisement behind it.",
        "<script>frame.write('<html></html>')</script>",
        "</html>" + " " * 50_000,
    ],
)
def test_a_page_without_its_end_tag_may_be_half_of_one(end: str) -> None:
    assert not ends_as_page("<html><body><p>Half of it." + end)


@pytest.mark.parametrize("begun", ["<script>frame.write('", "<!-- ", "<a title='", "<style>/* "])
def test_an_end_tag_in_the_middle_of_something_ends_no_page(begun: str) -> None:
    """The parser finds that what was begun has no end."""
    html = f"<html><body>{prose('a')}{begun}</body></html>"
    assert ends_as_page(html)
    assert fingerprint_page(html).unjudged == "cut"


def test_the_end_of_a_page_is_found_in_linear_time() -> None:
    """Even where nothing that was begun behind it ever ends."""
    for part in ("</body><!--", "<!---->", "</html><script>", " ", "<script></script>", "<style>"):
        ends_as_page("</body>" + part * 200_000)


class TestInLaterRuns:
    """A page of which nothing shows its end is compared with its own past, and with no other page."""

    @staticmethod
    def flat(number: int, edit: str = "") -> str:
        """A page that ends paragraph by paragraph."""
        return f"<html><body><h1>On {number}</h1>{prose(number)}{edit}{prose(f'end {number}', 80)}"

    @staticmethod
    async def crawl(server: PlainServer, store: Path) -> tuple[list[str], Crawl]:
        settings = {"SIMDEDUP_STORE": f"sqlite:///{store.as_posix()}", "SIMDEDUP_UNCHANGED": "drop"}
        found = await crawl(PatientSpider, ADDON | settings, urls=server.urls)
        return [urlsplit(url).path for url in found.urls], found

    @on_asyncio
    async def test_such_pages_are_exported_where_they_changed(self, tmp_path: Path) -> None:
        def pages(edit: str = "") -> dict[str, str]:
            return {f"/{number}": self.flat(number, edit if number == 4 else "") for number in range(6)}

        store = tmp_path / "pages.sqlite"
        with PlainServer(pages()) as server:
            first, found = await self.crawl(server, store)
            assert (len(first), found.stat("pages/unjudged_reason_count/unended")) == (6, 6)
            assert (await self.crawl(server, store))[0] == []
            server.pages = pages("<p>The harbour is closed on Mondays.</p>")
            assert (await self.crawl(server, store))[0] == ["/4"]
            assert (await self.crawl(server, store))[0] == []

    @on_asyncio
    async def test_half_a_page_takes_no_place_of_the_whole(self, tmp_path: Path) -> None:
        """It is exported each time that it comes, and the whole page is not, as it did not change."""
        store, pages = tmp_path / "pages.sqlite", {f"/{number}": of_template(number) for number in range(6)}
        with PlainServer(pages) as server:
            assert len((await self.crawl(server, store))[0]) == 6
            assert (await self.crawl(server, store))[0] == []
            server.cut = {"/5": len(pages["/5"]) // 2}
            assert (await self.crawl(server, store))[0] == ["/5"]
            server.cut = {}
            assert (await self.crawl(server, store))[0] == []

    @on_asyncio
    async def test_two_halves_that_are_the_same_are_no_repeats(self, tmp_path: Path) -> None:
        pages = {f"/{number}": page("one", 1, body=prose("one") + prose(number)) for number in range(4)}
        cut = dict.fromkeys(pages, len(pages["/0"]) // 2)
        assert len({html[: cut[path]] for path, html in pages.items()}) == 1
        with PlainServer(pages, cut=cut) as server:
            assert (await self.crawl(server, tmp_path / "pages.sqlite"))[0] == list(pages)
