"""The structure tells a new template from new content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.pages import page, prose
from scrapy_simdedup.fingerprint.unit_changes import (
    STRUCTURE_SIZE,
    structure_minhash,
    structure_resemblance,
    what_changed,
)
from scrapy_simdedup.page.page import layout_paths
from scrapy_simdedup.page.parse import parse


def of(html: str, secret: bytes = b"") -> bytes:
    root = parse(html).root
    assert root is not None
    return structure_minhash(layout_paths(root), secret)


def redesigned(seed: object) -> str:
    """The article of a seed in a template of its own."""
    return f"""<html><head><title>t</title></head><body class="site dark">
<div class="top-bar"><div class="logo"></div><ul class="menu"><li><a href="/">Home</a></li></ul></div>
<div class="grid"><div class="cell wide"><section class="story"><div class="head"><h2>Title</h2></div>
<div class="text">{prose(seed)}</div></section></div>
<div class="cell narrow"><table><tr><td>Ad</td></tr></table></div></div>
<div class="bottom"><ul><li>Imprint</li></ul></div></body></html>"""


def test_it_tells_apart_what_changed() -> None:
    """Content, template, both, or nothing."""
    one, other, new = of(page("tides")), of(page("moons", 1)), of(redesigned("tides"))
    assert structure_resemblance(one, other) == 1
    assert structure_resemblance(one, new) < 0.3
    assert what_changed(same_content=True, one=one, other=one) == "none"
    assert what_changed(same_content=False, one=one, other=other) == "content"
    assert what_changed(same_content=True, one=one, other=new) == "template"
    assert what_changed(same_content=False, one=one, other=new) == "both"


def test_more_of_the_same_is_the_same_structure() -> None:
    """A list that grew, a longer text."""
    few, many = ("".join(f'<li class="item"><p>{n}</p></li>' for n in range(count)) for count in (3, 300))
    assert of(f"<body><ul>{few}</ul></body>") == of(f"<body><ul>{many}</ul></body>")


def test_numbered_classes_do_not_count() -> None:
    """They number pages and builds; the others do count."""
    assert of('<div class="post post-17 css-1x9">a</div>') == of('<div class="css-77a post post-18">a</div>')
    assert of('<div class="post">a</div>') != of('<div class="shop">a</div>')


def test_it_is_keyed() -> None:
    """Nobody can build a page of a given structure without the secret."""
    assert of(page("tides")) != of(page("tides"), b"secret")


@given(st.text(alphabet="<>/divpulspanbrtable class=\"'x1", max_size=200))
def test_every_page_has_one(html: str) -> None:
    """Of one size; each resembles itself."""
    root = parse(html).root
    if root is not None:
        made = structure_minhash(layout_paths(root))
        assert len(made) == STRUCTURE_SIZE
        assert structure_resemblance(made, made) == 1


@pytest.mark.parametrize("html", ["<div>" * 200 + "x", "<ul>" + "<li>x" * 20_000, f'<p class="{"a " * 100_000}">x</p>'])
def test_deep_wide_and_named_pages_are_bounded(html: str) -> None:
    """Each path has three elements, and of a class attribute the beginning is read."""
    assert len(of(html)) == STRUCTURE_SIZE
