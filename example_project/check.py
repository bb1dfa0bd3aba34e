"""What the demonstration promises, checked against what the crawl delivered."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from website.addresses import all_addresses
from website.pages import all_pages, must_not_drop, of_kind
from website.trouble import GUESTBOOK

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Promise:
    """One line of the table."""

    name: str
    kept: int
    of: int
    at_least: float = 1.0
    """The share that must be kept, 0 to 1."""

    @property
    def holds(self) -> bool:
        return self.of > 0 and self.kept >= self.at_least * self.of

    def __str__(self) -> str:
        share = f" ({self.kept / self.of:.0%}, promised {self.at_least:.0%})" if self.at_least < 1 else ""
        return f"{'kept  ' if self.holds else 'BROKEN'}  {self.name:<44} {self.kept:>4} of {self.of}{share}"


def promises(items_file: Path, visited: list[str], dropped: int) -> list[Promise]:
    """All of them.

    Args:
        items_file: what the crawl delivered, in JSON lines.
        visited: the path and query of every page that was fetched.
        dropped: how many of these the plugin kept from the spider.
    """
    return [
        Promise(
            "addresses of the site that were visited", len(set(visited) & set(all_addresses())), len(all_addresses())
        ),
        Promise("pages recognised as repeats", dropped, len(visited), at_least=0.7),
        *promises_of_items(items_file),
    ]


def promises_of_items(*files: Path) -> list[Promise]:
    """Those about what was delivered, by one crawler or by several together."""
    items: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            item = json.loads(line)
            items[item["id"]].append(item)
    whole = Counter({name: sum(is_whole(item) for item in items[name]) for name in all_pages()})

    def delivered(ids: Iterable[str]) -> int:
        return sum(whole[name] > 0 for name in ids)

    def exactly_once(*kinds: str) -> tuple[int, int]:
        ids = of_kind(*kinds)
        return sum(once(items[i], whole[i]) for i in ids), len(ids)

    recipes = of_kind("recipe")
    return [
        Promise("articles and products delivered exactly once", *exactly_once("article", "product")),
        Promise("posts of no declared length delivered once", *exactly_once("post")),
        Promise("recipes whose small view gives no item", delivered(recipes), len(recipes)),
        *(Promise(f"not dropped: {reason}", delivered(ids), len(ids)) for reason, ids in must_not_drop().items()),
        Promise("not dropped: the page in a broken encoding", min(1, len(items[GUESTBOOK.id])), 1),
    ]


def is_whole(item: dict[str, Any]) -> bool:
    """Whether an item has all of its page's text, in whatever order a listing was sorted."""
    page = all_pages()[item["id"]]
    return item["title"] == page.title and sorted(item["text"].split("\n\n")) == sorted(page.texts)


def once(items: list[dict[str, Any]], whole: int) -> bool:
    return len(items) == whole == 1
