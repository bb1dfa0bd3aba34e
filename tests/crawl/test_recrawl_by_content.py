"""A recrawl sees every edit and nothing else, in whatever changes by itself around it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from helpers.changing_site import article
from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from helpers.site_server import Site

COUNT = 40
EDITS = {3: "sentence", 11: "added", 19: "number", 27: "rewritten", 35: "title"}


def serve(site: Site, run: int) -> list[str]:
    """Serve the site of a run; from the third on some pages are edited."""
    for number in range(COUNT):
        site[f"/{number}"] = article(number, run, EDITS.get(number, "") if run >= 3 else "")
    return site.urls(*(f"/{number}" for number in range(COUNT)))


@on_asyncio
async def test_of_forty_pages_exactly_the_five_that_were_edited_are_exported(site: Site, shared_url: str) -> None:
    """Advertisements, clocks, counters, related pages, tokens and sidebars are others on all forty in every run."""
    await check_what_is_exported(site, SIMDEDUP_STORE=shared_url)


@on_asyncio
async def test_so_they_are_where_links_are_followed(site: Site, sqlite_store: str) -> None:
    await check_what_is_exported(site, SIMDEDUP_STORE=sqlite_store, SIMDEDUP_MODE="items")


async def check_what_is_exported(site: Site, **more: Any) -> None:
    settings: dict[str, Any] = ADDON | {"SIMDEDUP_UNCHANGED": "drop"} | more
    exported = [await crawl(PathsSpider, settings, urls=serve(site, run)) for run in (1, 2, 3, 4)]
    paths = [sorted(int(url.rpartition("/")[2]) for url in done.urls) for done in exported]
    assert paths == [list(range(COUNT)), [], sorted(EDITS), []]
    assert exported[2].stat("pages/changed") == len(EDITS)
    assert exported[2].stat("units/edited") >= 4
    assert exported[1].stat("pages/unchanged") == COUNT


@on_asyncio
async def test_a_session_in_each_url_makes_no_page_new(site: Site, sqlite_store: str) -> None:
    """No URL is known in any run. What changes by itself is learned nevertheless, so that edits are what is left."""
    settings: dict[str, Any] = ADDON | {"SIMDEDUP_STORE": sqlite_store, "SIMDEDUP_UNCHANGED": "drop"}
    exported, last = [], 3
    for run in range(1, last + 1):
        paths = [f"/{number}?sid={run:032x}" for number in range(COUNT)]
        for number, path in enumerate(paths):
            html = article(number, run, EDITS.get(number, "") if run == last else "")
            site[path] = html.replace("</h1>", f"</h1><p>Read {number * 7 + run} times so far by our guests</p>")
        done = await crawl(PathsSpider, settings, urls=site.urls(*paths))
        exported.append(sorted(int(url.rpartition("/")[2].partition("?")[0]) for url in done.urls))
    assert exported[0] == list(range(COUNT))
    assert len(exported[1]) < COUNT / 4  # until the counter is known to be one
    assert exported[2] == sorted(EDITS)


@on_asyncio
async def test_pages_whose_parameters_name_them_are_new_under_one_path(site: Site, shared_url: str) -> None:
    """As in a forum that shows all threads by one script, under one title."""
    settings: dict[str, Any] = ADDON | {"SIMDEDUP_STORE": shared_url, "SIMDEDUP_UNCHANGED": "drop"}
    threads = {f"/thread?id={number}": article(number, 1) for number in range(6)}
    for path, html in threads.items():
        site[path] = re.sub(r"(?s)<(title|h1)([^>]*)>.*?</", r"<\1\2>The forum of our town</", html)
    first, rest = list(threads)[:3], list(threads)[3:]
    await crawl(PathsSpider, settings, urls=site.urls(*first))
    again = await crawl(PathsSpider, settings, urls=site.urls(*rest))
    assert sorted(again.urls) == sorted(site.urls(*rest))


@on_asyncio
async def test_by_similarity_an_edit_of_some_words_is_not_seen(site: Site, tmp_path: Any) -> None:
    settings = ADDON | {
        "SIMDEDUP_STORE": f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}",
        "SIMDEDUP_UNCHANGED_BY": "similarity",
    }
    await crawl(PathsSpider, settings, urls=serve(site, 1))
    again = await crawl(PathsSpider, settings, urls=serve(site, 3))
    assert again.stat("pages/changed") < len(EDITS)
    assert again.stat("pages/revisited_by_similarity") == COUNT


@pytest.mark.parametrize(("novel_words", "exported"), [(20, ["/1"]), (None, [])])
@on_asyncio
async def test_by_similarity_a_new_paragraph_is_seen(
    site: Site, sqlite_store: str, novel_words: int | None, exported: list[str]
) -> None:
    settings: dict[str, Any] = ADDON | {
        "SIMDEDUP_STORE": sqlite_store,
        "SIMDEDUP_UNCHANGED": "drop",
        "SIMDEDUP_UNCHANGED_BY": "similarity",
        "SIMDEDUP_NOVEL_WORDS": novel_words,
    }
    texts = [prose(number, 900) for number in range(3)]
    for added in ("", f"<p>{words('added', 30)}</p>"):
        for number, text in enumerate(texts):
            site[f"/{number}"] = page(number, body=text + added * (number == 1))
        done = await crawl(PathsSpider, settings, urls=site.urls("/0", "/1", "/2"))
    assert done.urls == site.urls(*exported)


@on_asyncio
async def test_an_edit_is_exported_although_a_revision_of_the_page_is_nearly_the_same(
    site: Site, shared_url: str
) -> None:
    """As in a wiki, where each page links to what it was before."""
    settings: dict[str, Any] = ADDON | {"SIMDEDUP_STORE": shared_url, "SIMDEDUP_UNCHANGED": "drop"}
    site["/page"] = article(3, 1)
    await crawl(PathsSpider, settings, urls=site.urls("/page"))
    site["/page"], site["/page?rev=1"] = article(3, 2, "number"), article(3, 2)
    await crawl(PathsSpider, settings, urls=site.urls("/page?rev=1"))
    again = await crawl(PathsSpider, settings | {"SIMDEDUP_AGAINST": "history"}, urls=site.urls("/page"))
    assert again.urls == site.urls("/page")
    assert again.stat("pages/changed") == 1


@pytest.mark.parametrize("session", ["", "in each URL"])
@on_asyncio
async def test_a_site_that_changes_its_name_has_edited_no_page(site: Site, shared_url: str, session: str) -> None:
    """Titles end with the name of their site, or with its version. One page gets another title at the same time."""
    settings: dict[str, Any] = ADDON | {"SIMDEDUP_STORE": shared_url, "SIMDEDUP_UNCHANGED": "drop"}
    exported = []
    for name in ("Acme 1.2", "Acme 1.3: all for your home"):
        paths = [f"/{number}{session and f'?sid={hash((number, name)):x}'}" for number in range(9)]
        for number, path in enumerate(paths):
            title = "Read this first" if number == 4 and "1.3" in name else f"Notice {number}"
            site[path] = f"<title>{title} | {name}</title><main><h1>Notice {number}</h1>{prose(number)}</main>"
        done = await crawl(PathsSpider, settings, urls=site.urls(*paths))
        exported.append(sorted(int(url.rpartition("/")[2].partition("?")[0]) for url in done.urls))
    assert exported == [list(range(9)), [4]]


@on_asyncio
async def test_another_question_above_the_same_answer_is_an_edit(site: Site, sqlite_store: str) -> None:
    """Questions that open their answers are links, which lead to no other page."""
    settings: dict[str, Any] = ADDON | {"SIMDEDUP_STORE": sqlite_store, "SIMDEDUP_UNCHANGED": "drop"}
    exported = []
    for limit in ("thirty", "forty"):
        for number in range(6):
            days = limit if number == 4 else "thirty"
            site[f"/{number}"] = page(
                number, body=f"<a href='#days'>May I return it after {days} days?</a><div id=days>{prose(number)}</div>"
            )
        exported.append((await crawl(PathsSpider, settings, urls=site.urls(*map("/{}".format, range(6))))).urls)
    assert exported[1] == site.urls("/4")


@pytest.mark.parametrize("against", ["run", "history"])
@on_asyncio
async def test_records_that_a_clock_told_apart_are_what_they_were_once_the_clock_is_known(
    site: Site, sqlite_store: str, against: str
) -> None:
    """Two numbers in which pages of one headline differ are facts, and one of them alone is a counter."""
    settings: dict[str, Any] = ADDON | {
        "SIMDEDUP_STORE": sqlite_store,
        "SIMDEDUP_UNCHANGED": "drop",
        "SIMDEDUP_AGAINST": against,
    }
    text, exported = prose("we mourn", 200), []
    for run in range(1, 5):
        for number in range(30):
            born = 1930 + number + (40 if run == 4 and number in {7, 21} else 0)
            notice = f"<p>Born in {born}</p>{text}<p>Served in {run * 31 % 17 + number} ms</p>"
            site[f"/{number}"] = page("notice", body=notice)
            site[f"/other/{number}"] = page(number, count=120)
        paths = [f"/other/{number}" for number in range(8)] + [f"/{number}" for number in range(30)]
        done = await crawl(PathsSpider, settings, urls=site.urls(*paths))
        exported.append(sorted(url for url in done.urls if "other" not in url))
    assert exported[0] == sorted(site.urls(*(f"/{number}" for number in range(30))))
    assert exported[2:] == [[], sorted(site.urls("/7", "/21"))]
