"""Pages for the benchmarks: seeded sites of one template each, as heavy as real pages are; or real pages from a zip."""

from __future__ import annotations

import json
import random
import zipfile
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu zan der mil tor pen gar lis von".split()
ACCENTED = "é ü ñ ø ş å".split()
SIGNS = ("’s", " –", "…", "”", " ·")
VOCABULARY = 8_000
CASCADE = "margin padding color border display font-size line-height background width height".split()


@dataclass(frozen=True)
class Page:
    """What a server answers."""

    url: str
    html: str


class Language:
    """Made-up words that are as unevenly used as those of any language (Zipf's law)."""

    def __init__(self, seed: object) -> None:
        rng = random.Random(f"language {seed}")
        self.words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(VOCABULARY)]
        for at in range(0, VOCABULARY, 9):
            self.words[at] += rng.choice(ACCENTED)
        self.weights = list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))

    def say(self, rng: random.Random, count: int) -> list[str]:
        return rng.choices(self.words, cum_weights=self.weights, k=count)

    def sentence(self, rng: random.Random, count: int) -> str:
        words = self.say(rng, count)
        if rng.random() < 0.4:
            words[rng.randrange(count)] += rng.choice(SIGNS)
        return " ".join(words).capitalize() + "."


class Site:
    """One template, and as many articles in it as are asked for."""

    def __init__(self, name: str, seed: object = 0) -> None:
        self.name = name
        self.language = Language(seed)
        rng = random.Random(f"site {name} {seed}")
        self.depth = rng.randint(1, 5)
        self.menu = [" ".join(self.language.say(rng, rng.randint(1, 3))) for _ in range(rng.randint(12, 70))]
        self.legal = " ".join(self.language.sentence(rng, 18) for _ in range(rng.randint(1, 5)))
        self.head = "".join(
            f'<meta name="{name}" content="{" ".join(self.language.say(rng, 6))}">\n'
            for name in self.language.say(rng, 9)
        )
        rules = (f".{name}{{{rng.choice(CASCADE)}:{rng.randint(0, 99)}px}}" for name in self.language.say(rng, 250))
        self.style = (
            f"<style>\n{chr(10).join(rules)}\n</style>\n<script>\nvar words={self.language.say(rng, 300)}\n</script>"
        )

    def page(self, number: int, wrapping: int = 0, *, words: int | None = None) -> Page:
        """Article ``number``; with another ``wrapping`` the same article between other advertisements and links."""
        rng, around = random.Random(f"{self.name} {number}"), random.Random(f"{self.name} {number} {wrapping}")
        title = " ".join(self.language.say(rng, 6)).capitalize()
        body = self._article(rng, words or int(min(6_000, rng.lognormvariate(6.2, 0.9))))
        html = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title} | {self.name}</title>
{self.head}{self.style}
</head>
<body class="page-{number} token-{around.getrandbits(64):x}">
<header class="site-header"><a href="/" class="logo"><img src="/logo.svg" alt="">{self.name}</a></header>
<nav id="main-menu"><ul>
{self._links(self.menu, "menu-item")}
</ul></nav>
{'<div class="wrapper">' * self.depth}
<main>
<article>
<h1>{title}</h1>
<div class="byline"><span>{" ".join(self.language.say(rng, 2))}</span> <time>{around.randint(0, 10**9)}</time></div>
{body}
</article>
</main>
<aside class="sidebar">
<div class="ad-slot"><p>{self.language.sentence(around, 24)}</p></div>
<h3>{" ".join(self.language.say(rng, 2))}</h3>
<ul class="related">
{self._links([self.language.sentence(around, 7) for _ in range(12)], "teaser")}
</ul>
</aside>
{"</div>" * self.depth}
<footer class="site-footer">
<p>{self.legal}</p>
<ul>{self._links(self.menu[:12], "footer-item")}</ul>
</footer>
<script>track("{around.getrandbits(128):x}")</script>
</body>
</html>"""
        return Page(f"https://{self.name}/articles/{number}" + (f"?ref={wrapping}" if wrapping else ""), html)

    def _links(self, texts: list[str], name: str) -> str:
        return "\n".join(
            f'    <li class="{name} {name}-{len(text)}">\n      <a href="/{text.replace(" ", "-").lower()}" '
            f'class="{name}-link" data-track="{name}:{number}" title="{text}"><span>{text}</span></a>\n    </li>'
            for number, text in enumerate(texts)
        )

    def _article(self, rng: random.Random, words: int) -> str:
        parts = []
        while words > 0:
            count = min(words, rng.randint(12, 80))
            words -= count
            kind = rng.random()
            said = [self.language.sentence(rng, n) for n in [12] * (count // 12) or [count]]
            if kind < 0.15:
                parts.append(f"<h2>{' '.join(self.language.say(rng, 4))}</h2>")
            if kind < 0.25:
                parts.append("<ul>\n" + "\n".join(f"  <li>{sentence}</li>" for sentence in said) + "\n</ul>")
            elif kind < 0.3:
                cells = "".join(
                    f"<tr><td>{a}</td><td>{rng.randint(0, 999)}</td></tr>\n" for a in " ".join(said).split()
                )
                parts.append(f"<table>\n{cells}</table>")
            else:
                said[0] = f'<strong>{said[0]}</strong> <a href="/articles/{rng.randint(0, 999)}">{said[-1][:30]}</a>'
                parts.append(f"<p>\n      {' '.join(said)}\n    </p>")
            if kind > 0.6:
                parts[-1] = f'<div class="block block-text spacing-{count}" data-index="{words}">\n{parts[-1]}\n</div>'
        return "\n".join(parts)


def generated(count: int, *, repeats: float = 0.0, seed: int = 1) -> list[Page]:
    """``count`` pages of many sites; a share of ``repeats`` shows an article that came before in another wrapping."""
    rng = random.Random(seed)
    sites = [Site(f"site{number}.example", seed) for number in range(max(1, count // 15))]
    return [_next_of(sites, rng, number, repeats) for number in range(count)]


def _next_of(sites: list[Site], rng: random.Random, number: int, repeats: float) -> Page:
    shown = number
    if number and rng.random() < repeats:
        shown = rng.randrange(number)
    return sites[shown % len(sites)].page(shown, wrapping=number if shown != number else 0)


def corpus(path: Path, count: int, *, seed: int = 1) -> list[Page]:
    """``count`` real pages from a zip of ``pages.jsonl`` (``path`` and ``url`` of each) and the files it names."""
    with zipfile.ZipFile(path) as archive:
        rows = map(json.loads, archive.read("pages.jsonl").decode().splitlines())
        real = sorted((row for row in rows if row.get("family") != "perturbed"), key=lambda row: row["path"])
        chosen = random.Random(seed).sample(real, min(count, len(real)))
        return [Page(row["url"], archive.read(row["path"]).decode("utf-8", "replace")) for row in chosen]
