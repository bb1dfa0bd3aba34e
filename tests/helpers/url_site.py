"""A site that serves each article under several URLs, and the spider that follows all of its links."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from scrapy import Request, Spider

from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup.detect.events import EVENTS, URL_EVENTS, UrlEvent, decode_event, split_journal_name

VARIANTS = ("", "&sid={token}", "&ref=home", "&utm_source=mail", "&view=full")
PER_LISTING = 20


class Magazine:
    """Articles under ``/story?id=N``, listed under ``/list?page=N``; each listing links to other URLs of them.

    Args:
        site: where it is served.
        articles: how many there are.
        variants: what is added to an article's URL.
        relevant: the number of the article from which on ``view`` leads to another page; None if it never does.
        prefix: what an article's URL begins with; its number follows.
        listing: the path of the listings.
        canonical: what an article's pages call their own address; ``{}`` stands for its number.
    """

    def __init__(
        self,
        site: Site,
        articles: int,
        variants: tuple[str, ...] = VARIANTS,
        *,
        relevant: int | None = None,
        prefix: str = "/story?id=",
        listing: str = "/list",
        canonical: str = "",
    ) -> None:
        self.prefix, self.canonical = prefix, canonical
        self.site, self.articles, self.variants, self.relevant = site, articles, variants, relevant
        self.served = 0
        for number in range(articles):
            for variant in variants:
                site[self.path(number, variant)] = self.answer
        self.listings = [f"{listing}?page={number}" for number in range(-(-articles // PER_LISTING) * len(variants))]
        for number, path in enumerate(self.listings):
            block, variant = divmod(number, len(variants))
            links = tuple(
                self.path(article, variants[(variant + article) % len(variants)])
                for article in range(block * PER_LISTING, min((block + 1) * PER_LISTING, articles))
            )
            site[path] = page(path, number, count=120, links=links)
        site["/"] = page("/", 0, count=120, links=tuple(self.listings))

    def path(self, article: int, variant: str) -> str:
        return f"{self.prefix}{article}" + variant.format(token=f"{article * 7919 % 65536:08x}")

    def content(self, path: str) -> str:
        """What an address shows; equal where the pages are."""
        query = parse_qs(urlsplit(path).query)
        article = query["id"][0]
        other = "view" in query and self.relevant is not None and int(article) >= self.relevant
        return f"{article} in full" if other else article

    @property
    def addresses(self) -> list[str]:
        """All paths."""
        stories = [self.path(article, variant) for article in range(self.articles) for variant in self.variants]
        return ["/", *self.listings, *stories]

    @property
    def contents(self) -> set[str]:
        """All there is to be found."""
        return {self.content(self.path(n, variant)) for n in range(self.articles) for variant in self.variants}

    def answer(self, path: str) -> str:
        self.served += 1
        content = self.content(path)
        claim = f'<link rel="canonical" href="{self.canonical.format(content.split()[0])}">' if self.canonical else ""
        made = page(content, self.served, count=120, body="").replace("<title>", f"{claim}<title>")
        return made.replace("<h1>", f'<h1 data-content="{content}">')


class Reader(Spider):
    """Yields an item per article and follows every link, as most spiders do."""

    name = "reader"
    custom_settings = {"DEPTH_PRIORITY": 1, "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
    root = ""

    async def start(self) -> Any:
        yield Request(f"{self.root}/")

    def parse(self, response: Any) -> Any:
        for content in response.css("h1::attr(data-content)").getall():
            yield {"content": content, "url": response.url}
        for link in response.css("main a, nav a").xpath("@href").getall():
            if link.startswith("/"):
                yield response.follow(link, errback=self.failed)

    def failed(self, failure: Any) -> None:
        """Nothing is wrong with a page that is not fetched."""


def times(items: list[dict[str, str]]) -> Counter[str]:
    """How often each content was delivered."""
    return Counter(item["content"] for item in items)


def url_notes(store: Path) -> list[UrlEvent]:
    """What crawls have noted about URLs in a SQLite store, the oldest first."""
    notes = "SELECT name, value FROM note JOIN journal ON journal = number ORDER BY position"
    with closing(sqlite3.connect(store)) as db:
        named = [(*split_journal_name(name), value) for name, value in db.execute(notes)]
    # What is known of a site is of no run.
    return [decode_event(value, URL_EVENTS) for run, site, value in named if run and site != EVENTS]
