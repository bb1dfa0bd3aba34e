"""Sites on which the order matters, or what no comparison of two URLs isolates."""

from __future__ import annotations

import random
from collections.abc import Iterator

from helpers.simulated_crawl import Page, in_crawl_order, same, token


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
