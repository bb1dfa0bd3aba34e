"""Pages that share nearly all of their text and are two: products of two sizes, dates of one event."""

from __future__ import annotations

import json
from secrets import token_hex
from typing import Any

import pytest
from scrapy import Request

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from helpers.site_server import Site
from scrapy_simdedup import NearDuplicateDetector, compare_pages, fingerprint_page

COMMON = prose("what both have", 220)


def entry(title: str, h1: str, facts: str, text: str = COMMON) -> str:
    """A page with some facts of its own above a text that others have as well."""
    lines = "".join(f"<li>{fact}</li>" for fact in facts.split("; "))
    heading = f"<h1>{h1}</h1>" if h1 else ""
    return f"<title>{title}</title><nav>Home</nav><main>{heading}<ul>{lines}</ul>{text}</main><footer>Shop</footer>"


def kettle(model: int, size: str) -> str:
    name = f"Kettle model {model} {size} l"
    return entry(f"{name} | Shop", name, f"{20 + model}.90 EUR; Article {model}-{size}", prose(f"kettle {model}", 200))


TWINS = {
    "job advertisements of two cities": [
        entry(f"Tailor in {city}", f"Tailor (m/f/d), {city}", f"{city}; Reference {number}; tailor@{city}.example")
        for city, number in (("Ghent", 1204), ("Bruges", 1377))
    ],
    "two flats of a house": [
        entry(f"Flat {number}", f"Flat {number}", f"{rooms} rooms; {area} m²; {rent} EUR; floor {number}")
        for number, rooms, area, rent in ((3, 2, 61, 840), (4, 3, 78, 1_060))
    ],
    "two paragraphs of a tariff": [
        entry(f"Section {number}", f"Section {number}", f"The fee is {fee} EUR") for number, fee in ((12, 35), (13, 90))
    ],
    "products without an h1": [
        entry(f"Pan {size} cm", "", f"{price} EUR", COMMON) for size, price in ((24, "39.90"), (28, "49.90"))
    ],
    "a title for the whole site": [
        entry("Shop", f"Pan {size} cm", f"{price} EUR", COMMON) for size, price in ((24, "39.90"), (28, "49.90"))
    ],
    "headings for readers of screens": [
        f"<h1>Site</h1>{entry('Shop', f'Pan {size} cm', 'New', COMMON)}" for size in (24, 28)
    ],
}


async def crawl_pages(site: Site, pages: dict[str, str], settings: dict[str, Any] | None = None) -> Any:
    """Crawl pages behind eight others, so that it is known what the site repeats."""
    others = {f"/other/{number}": page(number) for number in range(8)}
    for path, html in (others | pages).items():
        site[path] = html
    done = await crawl(PathsSpider, ADDON | (settings or {}), urls=site.urls(*others, *pages))
    done.kept = [path for path in pages if site.url(path) in done.urls]
    return done


@on_asyncio
async def test_a_shop_with_a_page_for_each_size_keeps_all_of_them(site: Site) -> None:
    """Thirty kettles in three sizes, which share 200 words of description."""
    pages = {f"/p/{model}-{size}": kettle(model, size) for model in range(30) for size in ("1.0", "1.5", "2.0")}
    done = await crawl_pages(site, pages)
    assert len(done.kept) == 90
    assert done.stat("pages/dropped") == 0


@pytest.mark.parametrize("settings", [{}, {"SIMDEDUP_METHOD": "minhash"}, {"SIMDEDUP_IDENTICAL": 0.9}], ids=str)
@pytest.mark.parametrize("kind", TWINS)
@on_asyncio
async def test_what_is_called_otherwise_is_kept(site: Site, kind: str, settings: dict[str, Any]) -> None:
    one, other = TWINS[kind]
    done = await crawl_pages(site, {"/1": one, "/2": other, "/1?print=1": one + "<aside>Printed</aside>"}, settings)
    assert done.kept == ["/1", "/2"]


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        (("Inbox", "", "Seen 7 times"), ("(3) Inbox", "", "Seen 7 times"), 1),
        (("Inbox", "", "Seen 7 times"), ("Inbox", "", "Seen 8 times"), 1),
        (("Inbox", "Inbox", "Seen 7 times"), ("(3) Inbox", "Inbox", "Seen 8 times"), 1),
        (("Inbox", "", "Seen 7 times"), ("(3) Inbox", "", "Seen 8 times"), 2),
    ],
)
@on_asyncio
async def test_a_counter_in_the_title_or_a_clock_in_the_text_makes_no_other_page(
    site: Site, one: Any, other: Any, kept: int
) -> None:
    """Only both together do, and only where there is no h1."""
    done = await crawl_pages(site, {"/1": entry(*one), "/2": entry(*other)})
    assert len(done.kept) == kept


def test_numbers_of_any_script_tell_pages_apart() -> None:
    one, other = (entry(f"Pan {n}", "", f"سعر {n}") for n in ("٣٩", "٤٩"))
    assert compare_pages(one, other).kind == "near"


# ------------------------------------------------------------------ identity


def date(day: str, *, script: str = "") -> str:
    """An evening of a play that is given on several."""
    return entry("The Tide", "The Tide", f"<b class=date>{day}</b>; 19:30") + script


def offer(sku: str) -> str:
    return date("Friday", script=f'<script type="application/ld+json">{{"@graph": [{{"sku": "{sku}"}}]}}</script>')


DATES = {"/1": date("1 May"), "/2": date("2 May"), "/1?from=home": date("1 May") + "<aside>Welcome</aside>"}
NO_IDENTITY: dict[str, Any] = {"SIMDEDUP_IDENTITY": []}
SKUS = {"/1": offer("A"), "/2": offer("B"), "/1?from=home": offer("A") + "<aside>Welcome</aside>"}


@pytest.mark.parametrize("more", [{}, {"SIMDEDUP_WORKERS": 1}, {"SIMDEDUP_DROP": "near"}], ids=str)
@pytest.mark.parametrize(
    ("pages", "places"), [(DATES, ".date"), (DATES, [".date::text", ".place"]), (SKUS, "sku"), (SKUS, '["sku"]')]
)
@on_asyncio
async def test_pages_with_another_identity_are_kept_under_one_headline(
    site: Site, pages: dict[str, str], places: Any, more: dict[str, Any]
) -> None:
    done = await crawl_pages(site, pages, {"SIMDEDUP_IDENTITY": places, **more})
    assert done.kept == ["/1", "/2"]
    assert done.stat("pages/dropped") == 1


def shirt(colour: str, number: int, *, microdata: bool = False) -> str:
    """A shirt whose data name its number; what they say of the cap beside it, a new one each time, is not its own."""
    html = entry("Shirt | Shop", "Shirt", f"Colour: {colour}; 29.90 EUR")
    if microdata:
        stock = '<link itemprop="availability" href="https://schema.org/InStock">'
        own, cap = (f'<meta itemprop="sku" content="{of}">' for of in (f"S-{number}", token_hex(4)))
        shirt = f"<div itemscope>{html.replace('<h1', f'{own}{stock}<h1 itemprop=name')}</div>"
        return f"{shirt}<h2>Similar</h2><ul><li itemscope>{cap}<a href=/cap itemprop=name>Cap</a></ul>"
    data = {
        "@type": "Product",
        "name": "Shirt",
        "sku": f"S-{number}",
        "isRelatedTo": {"name": "Cap", "sku": token_hex(4)},
    }
    script = f'<script type="application/ld+json">{json.dumps(data)}</script>'
    return html + script


@pytest.mark.parametrize(
    ("settings", "kept"),
    [({}, ["/1", "/2", "/3"]), ({"SIMDEDUP_WORKERS": 1}, ["/1", "/2", "/3"]), (NO_IDENTITY, ["/1", "/2", "/3"])],
)
@pytest.mark.parametrize("microdata", [False, True])
@on_asyncio
async def test_things_of_one_name_are_told_apart_by_the_numbers_in_their_data(
    site: Site, settings: dict[str, Any], kept: list[str], *, microdata: bool
) -> None:
    colours = enumerate(("red", "blue", "green"), 1)
    shirts = {f"/{number}": shirt(colour, number, microdata=microdata) for number, colour in colours}
    repeats = {
        f"/{number}?from=home": shirt(colour, number, microdata=microdata)
        for number, colour in ((1, "red"), (2, "blue"))
    }
    assert (await crawl_pages(site, shirts | repeats, settings)).kept == kept


@pytest.mark.parametrize("key", ["127.0.0.1", "127.0.0.1/1", "/"])
@on_asyncio
async def test_the_identity_can_be_set_for_a_site_or_a_kind_of_page(site: Site, key: str) -> None:
    settings = {"SIMDEDUP_SITE_SETTINGS": {key: {"identity": "sku"}, "127.0.0.1/2": {"identity": ["sku"]}}}
    assert (await crawl_pages(site, SKUS, settings)).kept == ["/1", "/2"]


class Dated(PathsSpider):
    """Gives the identity with the request: the path's last part."""

    async def start(self) -> Any:
        async for request in super().start():
            yield Request(request.url, meta={"simdedup_identity": int(request.url[-1])}, priority=request.priority)


@pytest.mark.parametrize("more", [{}, {"SIMDEDUP_IDENTITY": "sku"}, {"SIMDEDUP_METHOD": "exact"}], ids=str)
@on_asyncio
async def test_the_identity_of_a_request_comes_first_even_for_the_same_bytes(site: Site, more: dict[str, Any]) -> None:
    """As for a shell that a script fills."""
    pages = {path: offer("A") for path in ("/1", "/2", "/3/1")}
    for path, html in pages.items():
        site[path] = html
    done = await crawl(Dated, ADDON | more, urls=site.urls(*pages))
    assert done.urls == site.urls("/1", "/2")


@on_asyncio
async def test_the_identity_counts_where_only_bodies_are_compared(site: Site) -> None:
    cut = page(1) + "<script>"
    for path in ("/1", "/2", "/3/1"):
        site[path] = cut
    done = await crawl(Dated, urls=site.urls("/1", "/2", "/3/1"))
    assert done.urls == site.urls("/1", "/2")


@on_asyncio
async def test_the_detector_takes_an_identity() -> None:
    detector = NearDuplicateDetector()
    await detector.open()
    html = page(1)
    kinds = [
        (await detector.add(html, url=f"https://a.example/{n}", identity=name)).kind for n, name in enumerate("aba")
    ]
    assert kinds[0] == "new"
    assert kinds[1:] == ["near", "identical"]
    assert (await detector.judge(html, url="https://a.example/0", identity="c")).kind == "changed"
    await detector.close()


@pytest.mark.parametrize("settings", [{}, {"method": "minhash"}, {"method": "exact"}, {"method": "bits"}], ids=str)
def test_other_identities_are_never_identical_by_any_method(settings: dict[str, Any]) -> None:
    one, other = (fingerprint_page(offer(sku), identity="sku", **settings) for sku in "AB")
    assert one.compare(other).kind == one.compare(other, identical=0.5, near=0.4).kind == "near"
    assert compare_pages(offer("A"), offer("B"), identity="sku", **settings).kind == "near"


# ------------------------------------------------------------------ the summary


@on_asyncio
async def test_the_summary_warns_where_dropped_pages_have_other_headlines(site: Site, caplog: Any) -> None:
    pages = {f"/{n}": entry(f"Article {' '.join(words(n, 3))}", "", "New") for n in range(6)}
    done = await crawl_pages(site, pages)
    assert done.stat("pages/dropped_other_headline") == done.stat("pages/dropped") == 5
    assert "5 of 5 dropped pages have another headline than their original" in caplog.text
    assert "SIMDEDUP_IDENTITY" in caplog.text


@on_asyncio
async def test_the_summary_says_nothing_of_ordinary_repeats(site: Site, caplog: Any) -> None:
    done = await crawl_pages(site, {f"/{n}": page("one", n) for n in range(6)})
    assert done.stat("pages/dropped") == 5
    assert done.stat("pages/dropped_other_headline") == 0
    assert "another headline" not in caplog.text
