"""Sites whose pages change by themselves from visit to visit, and now and then because somebody edited them."""

from __future__ import annotations

import random

from helpers.pages import words

TOPICS = [f"topic {number}" for number in range(200)]


def sentence(seed: object, count: int = 14) -> str:
    return " ".join(words(seed, count)).capitalize() + "."


def paragraph(seed: object, sentences: int = 4) -> str:
    return " ".join(sentence((seed, number)) for number in range(sentences))


def article(number: int, run: int, edit: str = "") -> str:
    """A page of a magazine. What stands around the article is another with each run, and so are its clocks.

    Args:
        number: which page.
        run: the visit.
        edit: what somebody changed: ``sentence``, ``added``, ``number``, ``rewritten`` or ``title``.
    """
    noise = random.Random(f"{number} {run}")
    name = f"{sentence(('name', number), 4)[:-1]} {number}"
    texts = [paragraph((number, at)) for at in range(5)]
    price = 100 + number
    if edit == "sentence":
        texts[1] = texts[1].replace(sentence(((number, 1), 2)), sentence((number, "another")))
    elif edit == "added":
        texts[3] += " " + sentence((number, "more"))
    elif edit == "number":
        price += 7
    elif edit == "rewritten":
        texts[2] = paragraph((number, "anew"))
    elif edit == "title":
        name = f"{sentence(('other name', number), 4)[:-1]} {number}"
    related = noise.sample(TOPICS, 6)
    boxes = [
        f"<div class='widget'><h3>{topic}</h3><p>{sentence((topic, run), 9)}</p></div>"
        for topic in noise.sample(TOPICS, 4)
    ]
    return f"""<html><head><title>{name}</title><meta name="csrf-token" content="{noise.random()}"></head><body>
<header><nav><a href="/">Home</a> <a href="/all">All</a></nav></header>
<div class="ad-banner"><p>{sentence(("ad", noise.random()), 18)}</p></div>
<main><article><h1>{name}</h1>
<p class="meta"><time>{noise.randint(1, 23)} hours ago</time></p><p class="views">{noise.randint(9, 99_999)} views</p>
<p>{texts[0]}</p><p>The ticket costs {price} crowns at the door.</p>
{"".join(f"<p>{text}</p>" for text in texts[1:])}
<input type="hidden" value="{noise.random()}"></article></main>
<aside class="sidebar">{"".join(boxes)}</aside>
<div class="related"><ul>{"".join(f"<li><a href='/{topic}'>{topic}</a></li>" for topic in related)}</ul></div>
<footer><p>Page made in {noise.random():.3f} seconds</p></footer></body></html>"""


def product(number: int, run: int, *, price: int, text: str) -> str:
    """A page of a shop, whose stock and visitors are counted in its content, under names that say nothing."""
    noise = random.Random(f"{number} {run}")
    name = f"{sentence(('product', number), 3)[:-1]} {number}"
    return f"""<html><head><title>{name} | The shop</title></head><body><nav><a href="/">Shop</a></nav><main>
<h1>{name}</h1><div><p>{price}.90 EUR</p><p>In stock: {noise.randint(1, 400)}</p>
<p>{noise.randint(2, 60)} people are looking at this</p></div>
<div>{"".join(f"<p>{paragraph((text, part), 3)}</p>" for part in range(3))}</div></main>
<footer><p>The shop, all rights reserved</p></footer></body></html>"""
