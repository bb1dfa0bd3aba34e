"""Views of one thing: each article of a wiki has a page of its files and of its links, and most of them are empty."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import words
from scrapy_simdedup import NearDuplicateDetector, Verdict

ARTICLES = range(6)
NONE_YET = f"<p>{' '.join(words('there are none yet', 70))}</p>"


def name_of(number: int) -> str:
    return " ".join(words(("article", number), 2))


def page(number: int, h1: str, text: str, *, day: int | None = None) -> str:
    """A page of a wiki, which says above its heading and below its text what it is about, and when that changed."""
    name, day = name_of(number), number if day is None else day
    about = f"<p>{name}, changed on {day + 1} May 2024 by Ann</p>"
    return f"<title>{name}</title><main><p>Page {name}</p><h1>{h1}</h1>{text}{about}</main>"


def article(number: int) -> str:
    return page(number, name_of(number), f"<p>{' '.join(words(('text', number), 60))}</p>")


async def wiki(detector: NearDuplicateDetector, end: str = "") -> None:
    for number in ARTICLES:
        await detector.add(article(number), url=f"https://wiki.example/{number}{end}")
    await detector.add(page(0, "Files", NONE_YET), url="https://wiki.example/0?view=files")


@pytest.mark.parametrize("end", ["", "/", "?action="])
@on_asyncio
async def test_the_same_view_of_another_thing_that_is_known_says_nothing_new(end: str) -> None:
    """What has no value says nothing of a page, so that the URL of a thing may have it, and that of its view not."""
    async with NearDuplicateDetector(secret="wiki") as detector:
        await wiki(detector, end)
        views = [
            await detector.add(page(number, "Files", NONE_YET), url=f"https://wiki.example/{number}?view=files")
            for number in ARTICLES[1:]
        ]
    assert {(verdict.kind, verdict.reason, verdict.is_duplicate) for verdict in views} == {
        ("identical", "known_view", True)
    }
    assert {verdict.original for verdict in views} == {"https://wiki.example/0?view=files"}


COMMENT = f"<section class=comments><p>{' '.join(words('comment', 30))}</p></section>"
OTHERS = {
    "of a thing that is not known": page(9, "Files", NONE_YET),
    "that says something of its own": page(3, "Files", NONE_YET.replace("</p>", " but one</p>")),
    "with another headline": page(3, "Links", NONE_YET),
    "with a comment": page(3, "Files", NONE_YET + COMMENT),
    "with the name of one thing and the day of another": page(3, "Files", NONE_YET, day=5),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@on_asyncio
async def test_a_view_is_kept(other: str) -> None:
    async with NearDuplicateDetector(secret="wiki") as detector:
        await wiki(detector)
        verdict = await detector.add(other, url="https://wiki.example/3?view=files")
    assert not verdict.is_duplicate


@on_asyncio
async def test_what_gave_no_item_does_not_vouch_for_a_view() -> None:
    """The article may have been fetched for its links alone."""
    async with NearDuplicateDetector(secret="wiki") as detector:
        await detector.add(page(0, "Files", NONE_YET), url="https://wiki.example/0?view=files")
        known = await detector.judge(article(3), url="https://wiki.example/3")
        assert known.page is not None
        await detector.confirm(known.page, items=False)
        verdict = await detector.add(page(3, "Files", NONE_YET), url="https://wiki.example/3?view=files")
    assert not verdict.is_duplicate


UNLISTED = '<meta name="robots" content="noindex,nofollow">'
MENU = "".join(f"<li><a href=/{number}>{' '.join(words(('entry', number), 3))}</a></li>" for number in range(40))
LIST = f"<p>{' '.join(words('all of the pages', 12))}</p><ul>{MENU}</ul>"


def view_from(number: int, text: str = LIST, *, head: str = UNLISTED, title: str = "Sitemap") -> str:
    """A view that has nothing to do with an article but that a visitor came from it."""
    html = page(number, "Sitemap", text).replace(f"<title>{name_of(number)}</title>", f"<title>{title}</title>")
    return head + html


@pytest.mark.parametrize("title", ["Sitemap", "{} - Sitemap"])
@on_asyncio
async def test_a_view_that_no_one_is_to_find_says_nothing_of_whence_a_visitor_came(title: str) -> None:
    """Its title may be the same for all articles, and each line of it stands on the view of another or on its own."""
    async with NearDuplicateDetector(secret="wiki") as detector:
        await wiki(detector)
        verdicts = [
            await detector.add(
                view_from(number, title=title.format(name_of(number))), url=f"https://wiki.example/{number}?do=index"
            )
            for number in ARTICLES
        ]
    assert [(verdict.reason, verdict.is_duplicate) for verdict in verdicts] == [
        (None, False),
        *[("known_view", True)] * (len(ARTICLES) - 1),
    ]


OWN_VIEWS = {
    "that is to be found": view_from(3, head=""),
    "of a thing that is not known": view_from(9),
    "with another link": view_from(3, LIST.replace("</li></ul>", "</li><li><a href=/10>tin</a></li></ul>")),
    "with a link in place of another": view_from(3, LIST.replace(" ".join(words(("entry", 4), 3)), "tin")),
    "with a link less": view_from(3, LIST.replace(MENU, MENU[: MENU.rindex("<li>")])),
    "with a line more": view_from(3, LIST + "<p>Last made at noon</p>"),
    "with another word in the title": view_from(3, title="Sitemap of tin"),
    "with a text to be edited": view_from(3, LIST + "<form><textarea>A new text</textarea></form>"),
}


@pytest.mark.parametrize("view", OWN_VIEWS.values(), ids=OWN_VIEWS)
@on_asyncio
async def test_a_view_with_something_of_its_own_is_kept(view: str) -> None:
    number = 9 if view == OWN_VIEWS["of a thing that is not known"] else 3
    async with NearDuplicateDetector(secret="wiki") as detector:
        await wiki(detector)
        await detector.add(view_from(0), url="https://wiki.example/0?do=index")
        verdict = await detector.add(view, url=f"https://wiki.example/{number}?do=index")
    assert not verdict.is_duplicate


TOWNS, JOBS = ("Leeds", "York", "Hull"), ("Baker", "Driver", "Cleaner", "Sales assistant")
URLS_OF_JOBS: dict[str, Callable[[int, int], str]] = {
    "a number for each job": lambda town, job: f"job/{town * len(JOBS) + job}",
    "numbers of town and job": lambda town, job: f"{town}/{job}",
    "names": lambda town, job: f"{TOWNS[town]}/{JOBS[job]}",
}


@pytest.mark.parametrize("url_of", URLS_OF_JOBS.values(), ids=URLS_OF_JOBS)
@on_asyncio
async def test_the_same_job_in_another_town_is_no_view_of_the_town(url_of: Callable[[int, int], str]) -> None:
    """The titles say the town alone, and all that tells the jobs of the towns apart stands on the town's other jobs."""
    async with NearDuplicateDetector(secret="jobs") as detector:
        for town, job in product(range(len(TOWNS)), range(len(JOBS))):
            text = f"<p>Place: {TOWNS[town]}</p><h1>{JOBS[job]}</h1><p>{' '.join(words(('job', job), 70))}</p>"
            html = f"<title>Jobs in {TOWNS[town]}</title><main>{text}<p>Apply at our branch in {TOWNS[town]}</p></main>"
            verdict = await detector.add(html, url=f"https://jobs.example/{url_of(town, job)}")
            assert not verdict.is_duplicate


def product_page(number: int, request: int) -> str:
    """A page of a shop between two columns, whose boxes show other products at each request."""
    name, text = name_of(number), " ".join(words(("description", number), 40))
    teasers = [
        f"<div><a href=/{at}>{' '.join(words((request, at), 3))}</a><p>{at + request}.90</div>" for at in range(8)
    ]
    boxes = [
        f'<div class="leftBox"><h3>{box}</h3><div class="sideBoxContent">{teasers[at]}{teasers[at + 4]}</div></div>'
        for at, box in enumerate(("New", "Featured", "Liked", "Seen"))
    ]
    middle = f"<h1>{name}</h1><ul><li>Model {number}<li>{number + 3} in stock</ul><div>{text}</div>"
    menu = "<div id=mainNav><a href=/>Home</a> <a href=/news>News</a></div>"
    return f"<title>{name}</title>{menu}<div class=col1>{''.join(boxes)}</div><div class=col2>{middle}</div>"


@on_asyncio
async def test_a_product_is_known_under_its_other_category_whatever_stands_beside_it() -> None:
    async with NearDuplicateDetector(secret="shop") as detector:
        urls = [f"https://shop.example/item?category={of % 3}&id={of // 3}" for of in range(24)]
        verdicts = [await detector.add(product_page(at // 3, at), url=url) for at, url in enumerate(urls)]
    assert [verdict.is_duplicate for verdict in verdicts] == [False, True, True] * 8


NOTES = f"<p>{' '.join(words('notes of the shop', 60))}</p>"
SHOPPING, STEPS = ("2 eggs", "100 g rice", "1 leek"), " ".join(words("steps", 60))


def recipe(*lines: str, h1: str = "Rice with leek", title: str = "Rice with leek", beside: str = NOTES) -> str:
    items = "".join(f"<li>{line}</li>" for line in lines)
    return f"<title>{title}</title><div><h1>{h1}</h1><ul>{items}</ul><p>{STEPS}</p></div><div>{beside}</div>"


async def verdict_of(html: str, path: str) -> Verdict:
    async with NearDuplicateDetector(secret="kitchen") as detector:
        for number in ARTICLES:
            await detector.add(article(number), url=f"https://kitchen.example/{number}")
        await detector.add(recipe(*SHOPPING), url="https://kitchen.example/rice-with-leek")
        return await detector.add(html, url=f"https://kitchen.example/{path}")


@pytest.mark.parametrize("path", ["print/rice-with-leek", "rice-with-leek?print=1"])
@on_asyncio
async def test_a_print_view_is_known_however_much_stands_beside_the_text(path: str) -> None:
    verdict = await verdict_of(recipe(*SHOPPING, beside=""), path)
    assert (verdict.reason, verdict.is_duplicate) == ("known_view", True)


LINKS = "".join(f"<li><a href=/{number}>{name_of(number)}</a></li>" for number in ARTICLES)
PARTS = {
    "at the URL of another page": (recipe(*SHOPPING, beside=""), "rice-with-leek-2"),
    "with another amount": (recipe("3 eggs", *SHOPPING[1:], beside=""), "rice-with-leek?for=3"),
    "with a line more": (recipe(*SHOPPING, "salt", beside=""), "rice-with-leek?print=1"),
    "in another order": (recipe(*SHOPPING[::-1], beside=""), "rice-with-leek?sort=name"),
    "under another title": (recipe(*SHOPPING, title="Rice for three", beside=""), "rice-with-leek?for=3"),
    "under another headline": (recipe(*SHOPPING, h1="Rice for three", beside=""), "rice-with-leek?for=3"),
    "with other links": (recipe(*SHOPPING, beside=f"<ul>{LINKS}</ul>"), "rice-with-leek?page=2"),
}
"""A page that lacks what stands beside the text of another, and where it is."""


@pytest.mark.parametrize("name", PARTS)
@on_asyncio
async def test_what_may_be_another_page_is_no_part_of_one(name: str) -> None:
    assert not (await verdict_of(*PARTS[name])).is_duplicate
