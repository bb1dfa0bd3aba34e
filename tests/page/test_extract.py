"""The main content is what Readability finds, or what the page's own tags say."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml.html import HtmlElement, fragment_fromstring, fromstring, tostring
from readability import Document

from helpers.pages import page, prose, words
from scrapy_simdedup.page.clean import clean_page
from scrapy_simdedup.page.main_content import (
    CHAR_THRESHOLD,
    MAX_READABILITY_ELEMENTS,
    ArticleDocument,
    main_content,
    text_length,
)
from scrapy_simdedup.page.parse import parse

LONG, SHORT = prose("long", 200), prose("short", 12)


def read(html: str) -> HtmlElement:
    root = parse(html).root
    assert root is not None
    return root


def words_of(element: HtmlElement) -> list[str]:
    return re.findall(r"\w+", " ".join(element.itertext()))


@st.composite
def articles(draw: st.DrawFn) -> str:
    """Pages of prose, lists, tables, quotations, teasers and links in some order, indented as templates do."""
    seeds = st.integers(0, 50)
    paragraph = seeds.map(lambda seed: f"<p>{', '.join(words(seed, 30))}.</p>")
    teaser = seeds.map(lambda seed: f"<div class='teaser related'><a href=/{seed}>{' '.join(words(seed, 6))}</a></div>")
    listed = seeds.map(lambda seed: "<ul>" + "".join(f"<li>{word}</li>" for word in words(seed, 5)) + "</ul>")
    table = seeds.map(lambda seed: f"<table><tr><td>{' '.join(words(seed, 20))}</td></tr></table>")
    quote = paragraph.map(lambda inner: f"<blockquote>{inner}</blockquote>")
    bare = seeds.map(lambda seed: f"<div>{' '.join(words(seed, 25))} <b>bold</b> tail</div>")
    parts = st.lists(st.one_of(paragraph, paragraph, teaser, listed, table, quote, bare), min_size=1, max_size=12)
    wrap = st.sampled_from(["article", "main", "div", "div class=content", "section id=menu"])
    made = []
    for tag, inner in zip(
        draw(st.lists(wrap, min_size=1, max_size=3)), draw(st.lists(parts, min_size=3)), strict=False
    ):
        indent = "\n" + " " * draw(st.integers(0, 40))
        made.append(f"<{tag}>{indent.join(['', *inner])}</{tag.split()[0]}>")
    return "<html><body>" + "\n".join(made) + "</body></html>"


@settings(max_examples=60)
@given(articles())
def test_the_faster_document_finds_the_words_of_the_plain_one(html: str) -> None:
    """Only what it costs is different."""
    plain = fragment_fromstring(Document(html).summary(html_partial=True), create_parent="div")
    assert words_of(ArticleDocument(read(html)).article()) == words_of(plain)


@pytest.mark.parametrize(
    "hook", ["_parse", "get_clean_html", "get_link_density", "transform_misused_divs_into_paragraphs"]
)
def test_without_a_private_hook_the_plain_behaviour_takes_over(hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later readability-lxml may not call it any more."""
    html = page("article")
    expected = words_of(ArticleDocument(read(html)).article())
    monkeypatch.delattr(ArticleDocument, hook)
    assert words_of(ArticleDocument(read(html)).article()) == expected
    assert words("article", 240)[0].capitalize() in expected


def test_the_given_tree_stays_as_it_is() -> None:
    """Readability takes its tree apart, and the page's tags may still be asked."""
    root = read(page("article", links=("/a", "/b")))
    before = [(element.tag, element.text, element.tail) for element in root.iter()]
    main_content(root)
    assert [(element.tag, element.text, element.tail) for element in root.iter()] == before


def test_the_article_of_a_page_is_found() -> None:
    """Without what surrounds it."""
    found = words_of(main_content(clean_page(read(page("seed", wrapping=1)))))
    assert [word.lower() for word in found][-240:] == words("seed", 240)
    assert "Served" not in found


@pytest.mark.parametrize(
    ("html", "tag"),
    [
        (f"<div><p>Teaser</p></div><article>{SHORT}</article>", "article"),
        (f"<div><p>Teaser</p></div><main>{SHORT}</main>", "main"),
        (f"<div><p>Teaser</p></div><div role=main>{SHORT}</div>", "div"),
        (f"<div><p>Teaser</p></div><section id=content>{SHORT}</section>", "section"),
        (f"<section>{SHORT}</section><p>x", "section"),
        (f"<div><section><ul><li>{SHORT}</li></ul></section></div>", "section"),
        ("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "table"),
        ("<p>one<p>two<p>three", "body"),
    ],
)
def test_of_a_short_page_its_own_tags_say_what_is_main(html: str, tag: str) -> None:
    """Below 400 characters Readability's find is some fragment; an element that nobody names must hold nearly all."""
    assert len(SHORT) < CHAR_THRESHOLD
    assert main_content(read(html)).tag == tag


@pytest.mark.parametrize("tag", ["article", "main"])
def test_one_teaser_of_many_is_not_the_main_content(tag: str) -> None:
    """Of a list of short articles all are kept."""
    teasers = [f"<{tag}><h2>Title {number}</h2><a href=/{number}>More</a></{tag}>" for number in range(5)]
    assert "Title 0" in main_content(read("".join(teasers))).text_content()
    assert "Title 4" in main_content(read("".join(teasers))).text_content()


def nested(levels: int) -> str:
    return f"<div><p>{' '.join(words('nest', 8))}</p>" * levels + "end" + "</div>" * levels


@pytest.mark.parametrize(
    "html", [f"<main>{'<p>a</p>' * (MAX_READABILITY_ELEMENTS + 1)}</main>", f"<main>{nested(900)}</main>"]
)
def test_readability_is_not_asked_about_pages_that_would_take_it_too_long(
    html: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks at nested text once per level; the tags of the page answer instead."""
    asked: list[ArticleDocument] = []
    monkeypatch.setattr(ArticleDocument, "article", asked.append)
    assert main_content(read(html)).tag == "main"
    assert asked == []


def test_what_readability_cannot_parse_is_left_to_the_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """It wraps whatever went wrong in one exception, and logs it."""

    def fail(_: ArticleDocument) -> Iterable[HtmlElement]:
        raise ValueError("broken")

    monkeypatch.setattr(ArticleDocument, "remove_unlikely_candidates", fail)
    assert main_content(read(f"<main>{LONG}</main>")).tag == "main"


def test_a_length_counts_a_run_of_white_space_once() -> None:
    """Indentation is not text."""
    assert text_length(read("<p> one \n\n   two </p>")) == len("one two")


@pytest.mark.parametrize(
    "html",
    [
        "<div>text alone</div>",
        "<div>text <b>and</b> more<p>a paragraph</p>tail <i>slanted</i> end</div>",
        "<div>one<br>two<br><br>three<ul><li>item</ul><a href=/>link</a> tail</div>",
        "<div><div>inner</div><span><img src=a.png></span> behind</div>",
        "<div><a href=/><svg><path d=M0></path></svg></a><em>drawn</em></div>",
        "<div> <table><tr><td>cell</table> <div>\n</div>loose</div>",
    ],
)
def test_divs_become_paragraphs_as_in_readability_lxml(html: str) -> None:
    """The same tree, without writing it out again and again."""
    ours, theirs = (ArticleDocument(fromstring(f"<html><body>{html}</body></html>")) for _ in range(2))
    ours._html()
    theirs._html()
    ours.transform_misused_divs_into_paragraphs()
    Document.transform_misused_divs_into_paragraphs(theirs)
    assert tostring(ours.html) == tostring(theirs.html)
