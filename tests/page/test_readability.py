"""Readability finds the article of a page, and the blocks that stand in it are those that count in full."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml.html import HtmlElement, fragment_fromstring, fromstring, tostring
from readability import Document

from helpers.pages import page, prose, words
from scrapy_simdedup import page_markdown
from scrapy_simdedup.page import readability
from scrapy_simdedup.page.block_tree import build_block_tree
from scrapy_simdedup.page.classify import BlockClass, classify_blocks
from scrapy_simdedup.page.page import Page, read_page
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.readability import (
    MAX_READABILITY_ELEMENTS,
    ArticleDocument,
    find_article_blocks,
    text_length,
)
from scrapy_simdedup.page.roles import DEFAULT_ROLE_WORDS

LONG = prose("long", 200)
ARTICLE = f"<div class=content><h1>Headline</h1>{prose('article', 300)}</div><div class=footer>Imprint</div>"
TEASERS = "<div>" + "".join(f"<div><p>{' '.join(words(n, 9))}</p></div>" for n in range(3)) + "</div>"


def read(html: str) -> HtmlElement:
    root = parse(html).root
    assert root is not None
    return root


def chosen_blocks(root: HtmlElement) -> list[bool]:
    tree = build_block_tree(root, DEFAULT_ROLE_WORDS)
    return find_article_blocks(root, tree, *classify_blocks(tree))


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
    """Readability takes its tree apart, and the Markdown is made of the page's own."""
    root = read(page("article", links=("/a", "/b")))
    before = [(element.tag, element.text, element.tail) for element in root.iter()]
    assert sum(chosen_blocks(root)) > 5
    assert [(element.tag, element.text, element.tail) for element in root.iter()] == before


def test_the_article_of_a_page_is_found() -> None:
    """Without what surrounds it."""
    found = page_markdown(page("seed", wrapping=1), extractor="readability")
    assert [word.lower() for word in re.findall(r"\w+", found)][-240:] == words("seed", 240)
    assert "Served" not in found


def nested(levels: int) -> str:
    return f"<div><p>{' '.join(words('nest', 8))}</p>" * levels + "end" + "</div>" * levels


@pytest.mark.parametrize(
    "html", [f"<main>{'<p>a</p>' * (MAX_READABILITY_ELEMENTS + 1)}</main>", f"<main>{nested(900)}</main>"]
)
def test_readability_is_not_asked_about_pages_that_would_take_it_too_long(
    html: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks at nested text once per level; the classes of the blocks answer instead."""
    asked: list[ArticleDocument] = []
    monkeypatch.setattr(ArticleDocument, "article", asked.append)
    assert chosen_blocks(read(html)) == []
    assert asked == []


def test_what_readability_cannot_parse_is_left_to_the_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It wraps whatever went wrong in one exception, and logs it."""

    def fail(_: ArticleDocument) -> Iterable[HtmlElement]:
        raise ValueError("broken")

    monkeypatch.setattr(ArticleDocument, "remove_unlikely_candidates", fail)
    html = f"<main>{LONG}</main>"
    assert chosen_blocks(read(html)) == []
    assert read_page(html, extractor="readability") == read_page(html)


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


def kinds(html: str) -> dict[str, BlockClass]:
    """The kind of each block, by its text."""
    return {block.text: block.block_class for block in read_page(html, extractor="readability").blocks}


def test_the_main_content_stays_firm_and_other_paragraphs_become_loose() -> None:
    """Teasers of other articles are paragraphs too, and say less about the page."""
    roles = {block.text: block.block_class for block in read_page(ARTICLE + TEASERS).blocks}
    found = kinds(ARTICLE + TEASERS)
    teasers = [" ".join(words(n, 9)) for n in range(3)]
    assert {roles[teaser] for teaser in teasers} == {BlockClass.CONTENT}
    assert {found[teaser] for teaser in teasers} == {BlockClass.UNMARKED}
    assert {kind for text, kind in found.items() if text not in (*teasers, "Imprint")} == {BlockClass.CONTENT}


def test_text_of_the_article_rises_whatever_its_element() -> None:
    """What counts in full are the words of the Markdown, and Readability's article has text between paragraphs, too."""
    html = ARTICLE.replace("</div>", "<div>Loose text</div><aside>Aside</aside></div>", 1) + "<nav>Menu</nav>"
    assert kinds(html)["Loose text"] is BlockClass.CONTENT
    assert kinds(html)["Menu"] is kinds(html)["Aside"] is BlockClass.BOILERPLATE


def test_only_letters_are_compared() -> None:
    """Readability cuts and joins blocks: text beside inline elements becomes paragraphs of its own."""
    inline = f"<div>{' '.join(words(1, 30))} <b>bold</b> <a href=/x/y>link</a> tail<p>more</p></div>"
    html = ARTICLE.replace("class=content", "class=content role=main").replace("</h1>", f"</h1>{inline}")
    assert kinds(html)[f"{' '.join(words(1, 30))} bold link tail"] is BlockClass.CONTENT


def test_where_the_text_under_the_headline_is_not_found_the_kinds_stay() -> None:
    """The terms that every page of a shop carries may be longer than what the page is about."""
    html = f"<h1>Product</h1><div><p>{' '.join(words('own', 30))}</p></div><div>{prose('terms', 600)}</div>"
    assert read_page(html, extractor="readability") == read_page(html)


@pytest.mark.parametrize("problem", ["error", "effort"])
def test_where_it_fails_or_would_take_too_long_the_kinds_stay(
    problem: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An error must not cost the page its fingerprint."""

    def fail(*_: object) -> Page:
        raise RuntimeError("a bug of ours")

    if problem == "error":
        monkeypatch.setattr(readability, "find_article_blocks", fail)
    else:
        monkeypatch.setattr(readability, "MAX_MATCHING_COST", 1_000)
    html = ARTICLE + TEASERS
    assert read_page(html, extractor="readability") == read_page(html)
    assert ("a bug of ours" in caplog.text) == (problem == "error")


@pytest.mark.parametrize("html", ["<p>word</p>", "<nav>Menu</nav>", "<div>word</div>", "<title>T</title>"])
def test_of_pages_with_next_to_nothing_all_that_there_is_counts(html: str) -> None:
    """There is nothing that could count more."""
    assert all(block.block_class is BlockClass.CONTENT for block in read_page(html, extractor="readability").blocks)
