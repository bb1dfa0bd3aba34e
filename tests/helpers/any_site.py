"""Pages of a site and settings, drawn at random: near copies of few contents, whose lines differ in what is asked."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from helpers.archives import Fetch
from helpers.pages import words

HOST = "www.example.com"
COLORS = "red", "blue", "green"
LINES: tuple[Callable[[int], str], ...] = (
    lambda v: f"{v + 3} people read this page",
    lambda v: f"Updated {v + 1} days ago",
    lambda v: f"{20 + v} EUR",
    lambda v: f"EUR{20 + v}",
    lambda v: f"{40 + v} %",
    lambda v: f"Share: {40 + v} %",
    lambda v: f"Color: {COLORS[v % 3]}",
    lambda v: f"On {10 + v}. May 2026",
    lambda v: f"Place: {words(('town', v), 1)[0].capitalize()}",
    lambda v: f"IMG_00{v}.jpg",
    lambda v: f"2:{v}",
    lambda v: "—" * (v % 2 + 1),
    lambda v: "yes" if v % 2 else "no",
    lambda v: f"{' '.join(words('long', 14))} {v} {' '.join(words('longer', 14))}",
    lambda v: f"{' '.join(words('named', 14))} B{v} {' '.join(words('longer', 14))}",
    lambda v: f"{' '.join(words('text', 20))} {words(v, 1)[0]} {' '.join(words('rest', 9))}",
    lambda v: f"Printed from http://{HOST}/shirts/{COLORS[v % 3]}-shirt/with/a/very/long/address/of/many/parts/{v}",
    lambda v: f"现在有{v}个人在看这个页面的内容",
    lambda v: " ".join(words(("own", v), 4 + 4 * v)),
)
MAX_VALUE = 5
URLS: tuple[Callable[[int], str], ...] = (
    lambda v: f"/shirts/{COLORS[v % 3]}-shirt",
    lambda v: f"/shirts?color={COLORS[v % 3]}",
    lambda v: f"/course?on=2026-05-{10 + v}",
    lambda v: f"/news/{v}",
    lambda v: f"/news/{v}?print=1",
    lambda v: f"/{words(('path', v), 1)[0]}/index.html",
    lambda v: f"/shirts/{COLORS[v % 3]}-shirt/with/a/very/long/address/of/many/parts/{v}",
)
SETTINGS: dict[str, tuple[Any, ...]] = {
    "drop": ("near",),
    "identical": (0.9, 1.0),
    "near": (0.5,),
    "novel_words": (None, 3, 7),
    "max_copies": (2, 3),
    "prefer": (("canonical", "https", "shorter_url"), ("longer",)),
    "unchanged": ("drop",),
    "unchanged_by": ("similarity", ("title",)),
    "against": ("history",),
    "clocks": (False,),
    "callbacks": ("any",),
    "extractor": ("content", "readability"),
    "min_words": (1, 5, 60),
    "identity": (("sku",), ("h1",)),
    "stubs": ("drop", "keep"),
    "scope": ("host",),
    "method": ("minhash", "exact", "shingles", "bits"),
    "track_layout": (True,),
    "bits": (128,),
    "shingle_size": (1, 2, 5),
    "ttl": (6.0,),
    "max_pages_per_site": (4,),
    "max_page_bytes": (2_500,),
    "role_words": ({"content": ["lines"]}, {"comments": ["lines"]}),
}
OF_PATTERN = (
    *("drop", "identical", "near", "novel_words", "max_copies", "prefer", "unchanged", "unchanged_by", "clocks"),
    *("extractor", "min_words", "identity"),
)
"""Settings that pages of one site can have one by one."""


def any_site(rng: random.Random, count: int) -> list[Fetch]:
    """So many pages of a site; each is one of few contents, with lines of its own."""
    contents = [Content(rng, number) for number in range(rng.randint(1, 3))]
    found, now = [], 1_000.0
    for _ in range(count):
        if found and rng.random() < 0.2:
            url, html = rng.choice(found).url, rng.choice(found).html
        else:
            content = rng.choice(contents)
            scheme, host = rng.choice(("http", "https")), rng.choice((HOST, HOST, "shop.example.com"))
            url = f"{scheme}://{host}{rng.choice(URLS)(rng.randint(0, MAX_VALUE))}"
            html = content.page(rng)
        now += rng.choice((0.0, 1.0, 1.0, 5.0))
        found.append(Fetch(url, html, now))
    return found


class Content:
    """A content, and the places of it that differ between its pages."""

    def __init__(self, rng: random.Random, number: int) -> None:
        self.text = words(("content", number % 2, rng.randint(0, 1)), rng.choice((6, 30, 90, 240, 1_800)))
        self.lines = [(rng.choice(LINES), rng.randint(0, MAX_VALUE)) for _ in range(rng.randint(0, 7))]
        self.title = " ".join(words(("title", number), 3))
        self.has_h1, self.tag = rng.random() < 0.5, rng.choice(("p", "div", "li", "td"))

    def page(self, rng: random.Random) -> str:
        lines = [
            (line, rng.randint(0, MAX_VALUE) if rng.random() < 0.3 else value)
            for line, value in self.lines
            if rng.random() > 0.05
        ]
        if rng.random() < 0.2:
            lines.insert(rng.randint(0, len(lines)), (rng.choice(LINES), rng.randint(0, MAX_VALUE)))
        if rng.random() < 0.1:
            rng.shuffle(lines)
        made = [f"<{self.tag}>{line(value)}</{self.tag}>" for line, value in lines]
        text = self.text
        if rng.random() < 0.2:
            at = rng.randrange(len(text))
            text = [*text[:at], *words(rng.random(), rng.choice((1, 8, 30))), *text[at + 1 :]]
        paragraphs = [f"<p>{' '.join(text[at : at + 30])}.</p>" for at in range(0, len(text), 30)]
        at = rng.choice((0, 1, len(paragraphs)))
        body = [*paragraphs[:at], f"<div class=lines>{''.join(made)}</div>", *paragraphs[at:]]
        comment = f"<section class=comments><p>{' '.join(words(rng.randint(0, 2), 30))}.</p></section>"
        footer = f"<footer><p>{rng.choice(LINES)(rng.randint(0, MAX_VALUE))}</p></footer>"
        data = f'<script type="application/ld+json">{{"@type": "Product", "sku": "{rng.randint(1, 2)}"}}</script>'
        return "".join(
            (
                f"<title>{self.title} {rng.choice(('', '', rng.randint(1, 2)))}</title>",
                data if rng.random() < 0.1 else "",
                f"<main>{f'<h1>{self.title}</h1>' if self.has_h1 else ''}{''.join(body)}</main>",
                comment if rng.random() < 0.15 else "",
                footer if rng.random() < 0.4 else "",
            )
        )


def any_settings(rng: random.Random) -> dict[str, Any]:
    """A few settings other than the defaults, some of them for one kind of page alone."""
    made: dict[str, Any] = {name: rng.choice(SETTINGS[name]) for name in rng.sample(list(SETTINGS), rng.randint(0, 3))}
    if rng.random() < 0.3:
        names = rng.sample(OF_PATTERN, rng.randint(1, 2))
        made["site_settings"] = {f"{HOST}/news/*": {name: rng.choice(SETTINGS[name]) for name in names}}
    return made
