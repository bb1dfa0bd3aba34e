"""What a page says about itself, wherever it says it, and whatever is wrong with it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.soup import soup
from scrapy_simdedup import Content, page_content
from scrapy_simdedup.page import content
from scrapy_simdedup.page.metadata import MAX_DESCRIPTION_LENGTH, MAX_DESCRIPTIONS, find_declared
from scrapy_simdedup.page.parse import parse

URL = "https://site.example/news/harbour"


def meta(**named: str) -> str:
    return "".join(f'<meta property="{name.replace("__", ":")}" content="{value}">' for name, value in named.items())


def json_ld(value: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


def found(head: str, lang: str = "") -> Content:
    return page_content(f"<html{lang}><head>{head}</head><body><p>Some text</p></body></html>", url=URL)


ARTICLE = {
    "@context": "https://schema.org",
    "@graph": [
        {"@type": "WebSite", "name": "The site", "author": "Nobody"},
        {
            "@type": ["NewsArticle"],
            "headline": "The harbour &amp; the sea",
            "author": [{"@type": "Person", "name": "Ada Obst"}, {"name": "Ben Lund"}],
            "datePublished": "2026-11-22T10:00:00+01:00",
            "inLanguage": "en-GB",
            "publisher": {"@type": "Organization", "name": "The Gazette"},
        },
    ],
}


def test_json_ld_of_an_article() -> None:
    """That of the site around it says nothing about the text."""
    page = found(json_ld(ARTICLE) + "<title>Harbour | The Gazette</title>")
    assert page.title == "The harbour & the sea"
    assert page.author == "Ada Obst, Ben Lund"
    assert page.date == "2026-11-22T10:00:00+01:00"
    assert page.language == "en-GB"
    assert page.site_name == "The Gazette"


def test_opengraph_and_other_metas() -> None:
    page = found(
        meta(og__title="The harbour", og__site_name="The Gazette", og__locale="de_DE", og__url="/news/harbour")
        + meta(article__published_time="2026-11-22", author="Ada Obst")
    )
    assert (page.title, page.site_name, page.language) == ("The harbour", "The Gazette", "de-DE")
    assert (page.date, page.author, page.canonical) == ("2026-11-22", "Ada Obst", URL)


def test_html_itself() -> None:
    page = found("<title> The\n harbour </title><link rel='canonical' href='/harbour'>", lang=" lang=pt-BR")
    assert (page.title, page.canonical, page.language) == ("The harbour", "https://site.example/harbour", "pt-BR")


@pytest.mark.parametrize(
    ("written", "date"),
    [
        *(("2026-11-22", "2026-11-22"), ("20261122", "2026-11-22"), ("2026/11/22", "2026-11-22")),
        *(("2026-11-22 10:30", "2026-11-22T10:30"), ("2026-11-22T10:30:00Z", "2026-11-22T10:30:00Z")),
        *(("Sun, 22 Nov 2026 10:30:00 +0100", "2026-11-22T10:30:00+01:00"), ("2026-13-45", ""), ("yesterday", "")),
    ],
)
def test_dates_are_written_as_iso_8601_says(written: str, date: str) -> None:
    """What is no date is none."""
    assert found(meta(date=written)).date == date


@pytest.mark.parametrize(
    "head",
    [
        "<script type=application/ld+json>{broken</script>",
        "<script type=application/ld+json>" + "[" * 100_000 + "</script>",
        json_ld([None, 5, "x", {"@type": 5}, {"@type": ["Article"], "author": 5, "headline": [], "datePublished": {}}]),
        json_ld({"@type": "Article", "headline": "x" * 5_000, "author": [[]], "publisher": {"name": {}}}),
        meta(og__locale="<>", og__url="http://[", og__title="", date="9" * 5_000),
        "<link rel=canonical href='javascript:x()'><link rel=canonical>",
    ],
)
def test_bad_metadata_say_nothing(head: str) -> None:
    page = found(head)
    known = {page.title, page.date, page.language, page.site_name, page.canonical, page.author}
    assert known <= {"", "5"}
    assert page.text == "Some text"


@pytest.mark.parametrize(
    ("head", "kinds", "descriptions"),
    [
        ("", {"og_none"}, ()),
        (meta(og__type="Article"), {"og_article"}, ()),
        (meta(og__type="product.item"), {"og_product"}, ()),
        (meta(og__type="profile"), set(), ()),
        (
            json_ld({"@graph": [{"@type": ["Thing", "BlogPosting"]}, {"@type": "WebSite"}]}),
            {"posting", "site", "og_none"},
            (),
        ),
        (
            json_ld({"@type": "DiscussionForumPosting", "comment": [{"@type": "Comment"}]}),
            {"thread", "replies", "og_none"},
            (),
        ),
        (json_ld({"@type": {"@value": "Product"}, "description": 5}), {"og_none"}, ()),
        (
            '<meta name=description content="A lamp &amp;amp; a wick, made by hand">'
            + meta(og__description="A lamp & a wick, made by hand", twitter__description="A lamp")
            + json_ld({"@type": "Product", "description": "<p>A lamp of brass,\n with a wick of wool"}),
            {"product", "og_none"},
            ("A lamp & a wick, made by hand", "A lamp of brass, with a wick of wool"),
        ),
    ],
)
def test_what_a_page_declares_of_its_content(head: str, kinds: set[str], descriptions: tuple[str, ...]) -> None:
    """Its kind by JSON-LD and OpenGraph, and its descriptions but those that are too short to tell a text."""
    root = parse(f"<html><head>{head}</head><body><p>Some text</p></body></html>", with_html_methods=False).root
    assert root is not None
    declared = find_declared(root)
    assert declared.kinds == kinds
    assert declared.descriptions == descriptions


def test_descriptions_without_end_are_cut() -> None:
    many = [{"@type": "Product", "description": f"{number} " + "wick " * 2_000} for number in range(50)]
    root = parse(f"<html><head>{json_ld(many)}</head><body>a</body></html>", with_html_methods=False).root
    assert root is not None
    found = find_declared(root).descriptions
    assert len(found) == MAX_DESCRIPTIONS
    assert max(map(len, found)) <= MAX_DESCRIPTION_LENGTH


@given(soup, st.text(max_size=30))
def test_no_page_is_too_broken(html: str, value: str) -> None:
    page_content(json_ld({"@type": value, "author": value, "datePublished": value}) + html, url=value)


def test_an_error_of_ours_costs_the_metadata_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(content, "find_metadata", fail)
    assert found("<title>T</title>") == Content(markdown="Some text", text="Some text")
