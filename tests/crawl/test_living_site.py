"""A site lives on between the runs of an incremental crawl: each text is exported, what nobody touched is not again.

What happens is drawn by lot: edits, new pages, and pages that go, change their URLs or come under a second one.
"""

from __future__ import annotations

import random
import re
from itertools import count
from typing import Any

import pytest

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, words
from helpers.site_server import Site

PAGES, RUNS, EVENTS_PER_RUN = 25, 5, 6
MARK = re.compile(r"Mark\w+")
"""A word that stands in one text alone."""


class TextsSpider(PathsSpider):
    """Yields the words by which a page's texts are told apart."""

    def parse(self, response: Any) -> Any:
        yield {"url": response.url, "marks": MARK.findall(response.text)}


class LivingSite:
    """The texts of each page, by its path."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"living site {seed}")
        self._texts = (f"Mark{''.join(words(at, 6))} {' '.join(words(f'{seed} {at}', 24))}." for at in count())
        self._paths = (f"/{self._rng.choice(['news', 'shop', 'help'])}/{at}" for at in count())
        self.pages: dict[str, list[str]] = {}
        self.touched: set[str] = set()
        """Paths of pages to which something happened since the last run."""
        for _ in range(PAGES):
            self.add()

    def add(self) -> None:
        """A new page, of one text to six."""
        path = next(self._paths)
        self.pages[path] = [next(self._texts) for _ in range(self._rng.randint(1, 6))]
        self.touched.add(path)

    def live(self) -> None:
        """Let something happen to a page."""
        one, other = self._rng.sample(sorted(self.pages), 2)
        event = self._rng.choice(["edit", "insert", "cut", "add", "go", "swap", "move", "copy"])
        texts = self.pages[one]
        if event == "edit":
            texts[self._rng.randrange(len(texts))] = next(self._texts)
        elif event == "insert":
            texts.insert(self._rng.randint(0, len(texts)), next(self._texts))
        elif event == "cut" and len(texts) > 1:
            del texts[self._rng.randrange(len(texts))]
        elif event == "add":
            self.add()
        elif event == "go":
            del self.pages[one]
        elif event == "swap":
            self.pages[one], self.pages[other] = self.pages[other], self.pages[one]
        elif event == "move":
            self.pages[next(self._paths)] = self.pages.pop(one)
        elif event == "copy":
            self.pages[f"{one.partition('?')[0]}?ref={self._rng.randint(1, 99)}"] = list(texts)
        self.touched |= {one, other} if event == "swap" else {one}

    def serve(self, site: Site) -> list[str]:
        """The URLs of all pages in any order; what stands around the texts is another each time."""
        site.answers.clear()
        for path, texts in self.pages.items():
            body = "".join(f"<p>{text}</p>" for text in texts)
            site[path] = page(texts[0], self._rng.random(), body=body)
        return site.urls(*self._rng.sample(sorted(self.pages), len(self.pages)))

    @property
    def marks(self) -> set[str]:
        return {mark for texts in self.pages.values() for text in texts for mark in MARK.findall(text)}


@pytest.mark.parametrize("mode", ["pages", "items"])
@pytest.mark.parametrize("seed", range(2))
@on_asyncio
async def test_each_text_is_exported_and_what_nobody_touched_is_not(
    site: Site, sqlite_store: str, seed: int, mode: str
) -> None:
    living, exported = LivingSite(seed), set[str]()
    more = {"SIMDEDUP_AGAINST": "history", "SIMDEDUP_UNCHANGED": "drop", "SIMDEDUP_MODE": mode}
    settings: dict[str, Any] = ADDON | {"SIMDEDUP_STORE": sqlite_store} | more
    for _ in range(RUNS):
        urls = living.serve(site)
        done = await crawl(TextsSpider, settings, urls=urls)
        exported |= {mark for item in done.items for mark in item["marks"]}
        assert living.marks <= exported
        known = set(site.urls(*living.touched)) | {url for url in urls if "?" in url}
        assert set(done.urls) <= known
        living.touched.clear()
        for _ in range(EVENTS_PER_RUN):
            living.live()
