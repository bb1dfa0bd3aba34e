"""A wall of words about cookies is no content, whatever its class says; a text about cookies is."""

from __future__ import annotations

import pytest

from helpers.pages import prose, words
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import read_page
from scrapy_simdedup.page.roles import COOKIE

ARTICLE = f"<h1>Tides</h1>{prose('article', 200)}"
WALL = f"<p>Target cookies make this site work. {' '.join(words('wall', 30))}</p><p>Which cookie do you like?</p>"


def kind_of(html: str) -> BlockClass:
    """The kind of the block that begins with the target."""
    return next(block.block_class for block in read_page(html).blocks if block.text.startswith("Target"))


@pytest.mark.parametrize("layout", ["", '<div class="sidebar">Side</div>'])
@pytest.mark.parametrize("html", [f"<div>{WALL}</div>{ARTICLE}", f"{ARTICLE}<section><div>{WALL}</div></section>"])
def test_a_consent_text_at_the_edge_of_a_page_is_frame(html: str, layout: str) -> None:
    """Before or after the content, with names or without."""
    assert kind_of(html + layout) is BlockClass.BOILERPLATE


MENU = f"<div><ul>{''.join(f'<li><a href=/{word}>{word} and more</a></li>' for word in words('menu', 12))}</ul></div>"


@pytest.mark.parametrize("html", [f"{MENU}<div>{WALL}</div>{ARTICLE}", f"{ARTICLE}<div>{WALL}</div>{MENU}"])
def test_a_menu_may_stand_between_a_consent_text_and_the_edge(html: str) -> None:
    """Of a short article, so that the menu is a good part of what is not said about cookies."""
    assert kind_of(html) is BlockClass.BOILERPLATE
    assert kind_of(html.replace(MENU, f"<p>{' '.join(words('text', 40))}</p>")) > BlockClass.BOILERPLATE


def test_a_text_about_cookies_among_links_is_content() -> None:
    assert kind_of(f"<h1>Links</h1>{MENU}<div>{WALL}</div>{MENU}") > BlockClass.BOILERPLATE


def test_a_consent_text_knows_why_it_is_frame() -> None:
    """So that a report can say so."""
    blocks = read_page(f"<div>{WALL}</div>{ARTICLE}").blocks
    assert [block.boilerplate_roles for block in blocks[:2]] == [COOKIE, COOKIE]


@pytest.mark.parametrize(
    "html",
    [
        f"<title>About cookies</title><div>{WALL}</div>{ARTICLE}",
        f"<div><h1>Our cookies</h1>{WALL}</div>{ARTICLE}",
        f"<div><article>{WALL}</article></div>{ARTICLE}",
        f"<h1>Policy</h1>{prose('before', 200)}<div>{WALL}</div>{prose('after', 200)}",
        f"<div>{WALL}{prose('much else', 200)}</div>{ARTICLE}",
        f"<div><p>Target cookie jar. {' '.join(words('jar', 30))}</p></div>{ARTICLE}",
        f"<div>{WALL}</div><p>Hello.</p>",
    ],
    ids=["title", "headline", "main part", "chapter", "mostly other text", "one mention", "nothing else"],
)
def test_a_text_about_cookies_is_content(html: str) -> None:
    """A recipe, a chapter of a policy, a page that holds little besides."""
    assert kind_of('<div class="sidebar">Side</div>' + html) > BlockClass.BOILERPLATE
