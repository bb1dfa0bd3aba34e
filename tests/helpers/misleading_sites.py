"""Sites that mislead: a rule is wrong for a few pages, or from some time on, or two parts of URLs change together."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from helpers.simulated_crawl import Page, in_crawl_order, same, token, word


@in_crawl_order
def minority(share: float, pages: int, rng: random.Random, extra: Sequence[str] = ()) -> Iterator[list[Page]]:
    """``/print`` is another page for a small share of the stories, and nothing in the URL says for which."""
    for number in range(pages):
        url = f"https://print.example/story/{number}-{word(rng)}"
        full = url + " full" if rng.random() < share else url
        yield [*same(url, url, *(f"{url}?{name}={rng.randrange(50)}" for name in extra)), Page(url + "/print", full)]


@in_crawl_order
def print_four_in_sections(rng: random.Random) -> Iterator[list[Page]]:
    """The same in each of 25 sections, so that no path pattern shows many of the pages for which it is wrong."""
    for number in range(1500):
        url = f"https://print.example/{'abcdefghijklmnopqrstuvwxy'[number % 25] * 5}/{number}-{word(rng)}"
        full = url + " full" if rng.random() < 0.04 else url
        yield [*same(url, url, f"{url}?ref={rng.randrange(50)}"), Page(url + "/print", full)]


def print_ten(rng: random.Random) -> list[Page]:
    return minority(0.10, 1500, rng)


def print_four(rng: random.Random) -> list[Page]:
    return minority(0.04, 1500, rng)


def print_three(rng: random.Random) -> list[Page]:
    return minority(0.03, 1500, rng)


def print_two(rng: random.Random) -> list[Page]:
    return minority(0.02, 1500, rng)


def print_four_among_others(rng: random.Random) -> list[Page]:
    return minority(0.04, 1500, rng, ("ref", "hl", "view"))


def print_two_among_others(rng: random.Random) -> list[Page]:
    return minority(0.02, 1500, rng, ("ref", "hl", "view"))


@in_crawl_order
def colour_for_few(rng: random.Random) -> Iterator[list[Page]]:
    """``color`` matters for 4 % of the products; there, one of the colours is what is shown without any."""
    for number in range(900):
        url = f"https://colour.example/p/{number}-{word(rng)}"
        matters = rng.random() < 0.04
        own = [Page(url, url), Page(f"{url}?ref={rng.randrange(50)}", url)]
        for colour in ("red", "blue", "green"):
            shown = f"{url} {colour}" if matters and colour != "red" else url
            own += same(shown, f"{url}?color={colour}", f"{url}?color={colour}&ref={rng.randrange(50)}")
        yield own


@in_crawl_order
def three_nearly_true(rng: random.Random) -> Iterator[list[Page]]:
    """All that the site has are three parameters, each of them wrong for about 5 % of the pages."""
    for number in range(900):
        url = f"https://three.example/item/{number}"
        own = same(url, url)
        for name in ("view", "sort", "print"):
            shown = f"{url} {name}" if rng.random() < 0.05 else url
            own.append(Page(f"{url}?{name}=1", shown))
        yield own


@in_crawl_order
def section_parameter(rng: random.Random) -> Iterator[list[Page]]:
    """``full`` matters in 10 % of the sections, but the section is a parameter: no path pattern shows it."""
    for item in range(900):
        url = f"https://param.example/view?section={item % 30}&item={item}"
        full = url + " full" if item % 30 < 3 else url
        yield [Page(url, url), *same(full, f"{url}&full=1", f"{url}&full=2")]


@in_crawl_order
def only_together(rng: random.Random) -> Iterator[list[Page]]:
    """``b`` matters only where ``a=1`` is given."""
    for item in range(600):
        url = f"https://together.example/x?item={item}"
        both = url + " with a and b"
        yield [
            *same(url, url, f"{url}&b=1", f"{url}&ref={item % 9}"),
            Page(f"{url}&a=1", url + " with a"),
            Page(f"{url}&a=1&b=1", both),
        ]


@in_crawl_order
def clamped(share_of_two: float, rng: random.Random) -> Iterator[list[Page]]:
    """A page number beyond the end shows the last page; most categories have one page only."""
    for category in range(400):
        last = 2 if rng.random() < share_of_two else 1
        url = f"https://clamp.example/c/{category}"
        own = same(f"{url} 1", url, f"{url}?ref={category % 11}")
        own += [Page(f"{url}?page={n}", f"{url} {min(n, last)}") for n in (1, 2, 3)]
        yield own


def clamped_at_one(rng: random.Random) -> list[Page]:
    return clamped(0.0, rng)


def clamped_at_two_for_some(rng: random.Random) -> list[Page]:
    return clamped(0.12, rng)


def changes_its_mind(rng: random.Random) -> list[Page]:
    """``variant`` is irrelevant for the first 300 items, and relevant for each of the next 300."""
    pages = []
    for item in range(600):
        url = f"https://late.example/item?id={item}"
        pages.append(Page(url, url))
        for variant in rng.sample("abcdef", 3):
            shown = f"{url} {variant}" if item >= 300 else url
            pages.append(Page(f"{url}&variant={variant}", shown))
    return pages


def same_content_first(rng: random.Random) -> list[Page]:
    """The variants that are alike come close together, those that are not come at the end of the crawl."""
    alike = []
    unlike = []
    for item in range(300):
        url = f"https://order.example/item?id={item}"
        alike += same(url, url, f"{url}&view=a")
        unlike.append(Page(f"{url}&view=b", f"{url} b"))
    rng.shuffle(unlike)
    return [*alike, *unlike]


@in_crawl_order
def tokens_that_change_together(rng: random.Random) -> Iterator[list[Page]]:
    """A time stamp and a signature that no URL has alone, session ids in paths and path parameters."""
    for number in range(400):
        stamps = [f"t={rng.randrange(10**9, 2 * 10**9)}&sig={token(rng)}" for _ in range(4)]
        doc = f"https://tokens.example/doc?id={number}"
        yield same(doc, *(f"{doc}&{stamp}" for stamp in stamps))
        page = f"https://tokens.example/page/{number}.html"
        yield same(page, page, f"{page};jsessionid={token(rng)}")
        view = f"view {number}"
        yield same(view, *(f"https://tokens.example/s/{token(rng)}/view/{number}" for _ in range(2)))


def endless_calendar(rng: random.Random) -> list[Page]:
    """93 % of the days are one empty page, so that the date looks irrelevant; the time zone is."""
    pages = []
    for number in range(2500):
        date = f"{2000 + number // 360:04d}-{number // 30 % 12 + 1:02d}-{number % 30 + 1:02d}"
        day = f"http://cal.example/events?date={date}"
        urls = [day, f"{day}&tz={rng.choice(('utc', 'cet', 'est'))}"] if rng.random() < 0.7 else [day]
        pages += same(day, *urls) if rng.random() < 0.07 else [Page(url, "no events", stub=True) for url in urls]
    return pages
