"""Pages for tests: seeded prose, wrapped differently each time."""

from __future__ import annotations

import random
from functools import lru_cache

SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu zan der mil tor pen gar lis von".split()


def words(seed: object, count: int) -> list[str]:
    """Made-up words, the same for the same seed on every Python."""
    return list(_words(str(seed), count))


@lru_cache(1 << 14)
def _words(seed: str, count: int) -> tuple[str, ...]:
    """The tests make the same pages over and over."""
    rng = random.Random(seed)
    return tuple("".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 3))) for _ in range(count))


def prose(seed: object, count: int = 240) -> str:
    """Paragraphs of 40 words."""
    text = words(seed, count)
    return "\n".join(f"<p>{' '.join(text[i : i + 40]).capitalize()}.</p>" for i in range(0, count, 40))


def page(seed: object, wrapping: object = 0, *, count: int = 240, links: tuple[str, ...] = (), body: str = "") -> str:
    """An article of its own for each seed, in a frame of its own for each wrapping."""
    rng = random.Random(f"wrapping {wrapping}")
    title = " ".join(words(f"title {seed}", 5)).capitalize()
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body data-token="{rng.getrandbits(64):x}">
<nav><ul>{anchors}<li><a href="#">{" ".join(words(rng.random(), 3))}</a></li></ul></nav>
<div class="ad-banner"><p>{" ".join(words(rng.random(), 12))}</p></div>
<main><article><h1>{title}</h1>
{body or prose(seed, count)}
</article></main>
<aside class="related"><p>{" ".join(words(rng.random(), 20))}</p></aside>
<footer><p>Served at {rng.randint(0, 10**9)}</p></footer>
</body></html>"""
