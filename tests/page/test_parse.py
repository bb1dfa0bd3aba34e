"""A parse is whole, or it says why it is not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from helpers.soup import soup
from scrapy_simdedup.page.parse import MAX_ATTRIBUTES, MAX_ELEMENTS, MAX_LINKS, MAX_TEXT, parse, utf8

REST = "<p>The rest of the page.</p>"


def text_of(html: str) -> str:
    root = parse(html).root
    assert root is not None
    return " ".join(root.text_content().split())


@pytest.mark.parametrize(
    "html",
    [
        "<!DOCTYPE html><html><head><title>t</title></head><body><p>One.</p>" + REST + "</body></html>",
        "<p>One.</p></body></html>" + REST,
        "<HTML><BODY><p>One.</p></BODY ></HTML\n>" + REST,
        "<body><p>One.</p></body><body>" + REST,
        "<?xml version='1.0' encoding='latin-1'?><html><body><p>One.</p>" + REST + "</body></html>",
        "<p>One.<ul><li>" + REST,
        "<div>" * 1_000 + "One. " + REST,
        "<frameset><frame src=a></frameset><p>One.</p>" + REST,
        "<p>One.</p><button>" + REST,
        "<div><button><div><svg></svg>Menu</button></div><p>One.</p>" + REST,
    ],
)
def test_whatever_the_markup_the_end_of_the_page_is_in_the_tree(html: str) -> None:
    """What a browser shows after </html>, in bad nesting or deep down is read like the rest."""
    assert text_of(html).endswith("The rest of the page.")


@pytest.mark.parametrize(
    "opened",
    [
        "<!-- ",
        "<script>",
        "<style>",
        "<title>",
        "<textarea>",
        "<iframe>",
        "<svg><g>",
        "<noscript>",
        "<template>",
        "<select><option>",
        '<a href="never closed>',
        "<div class='never closed>",
        "<div>" * 3_000,
        "<b>x" * 3_000,
    ],
)
def test_a_page_whose_rest_is_swallowed_is_cut(opened: str) -> None:
    """Two pages that differ only in what the parser dropped would look the same, so they are not judged."""
    assert parse(f"<p>One.</p>{opened}{REST}").unjudged == "cut"


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("\x00", "empty"),
        ("x" * 2_001, "too_big"),
        ("<p>" + "\ufffd" * 20 + "word", "undecodable"),
        ("GIF89a" + "".join(map(chr, range(256))) * 4, "binary"),
        ("<br>" * (MAX_ELEMENTS + 1), "too_many_elements"),
        ("<i></i>" * (MAX_ELEMENTS + 1), "too_many_elements"),
        ("<a href=/>x</a>" * (MAX_LINKS + 1), "too_many_links"),
        ("<p>" + "tide " * (MAX_TEXT // 4 + 1), "too_much_text"),
        ("<simdedup-end-of-page></simdedup-end-of-page><!--" + REST, "cut"),
    ],
)
def test_a_page_that_cannot_be_trusted_gives_its_reason(html: str, reason: str) -> None:
    """The tree of such a page is withheld."""
    document = parse(html, max_bytes=2_000 if reason == "too_big" else 5_000_000)
    assert (document.root, document.unjudged) == (None, reason)


def attributes(count: int, value: str) -> str:
    return " ".join(f"a{number}={value}" for number in range(count))


@pytest.mark.parametrize("value", ["1", "'>'", '"<b>"', "x=y"])
@pytest.mark.parametrize("tag", ["div", "script", "STYLE"])
def test_a_tag_of_thousands_of_attributes_is_refused_before_it_is_parsed(tag: str, value: str) -> None:
    """The parser's search for repeated names is quadratic; quoted angle brackets hide nothing from the count."""
    page = f"<{tag} {attributes(20_000, value)}></{tag}>{REST}"
    assert parse(page).unjudged == "too_many_attributes"


@pytest.mark.parametrize(
    "html",
    [
        f"<!-- <div {attributes(20_000, '1')}> -->",
        f"<script>if (a<b) {{ {attributes(20_000, '1')} }}</script>",
        f"<div data-state='{attributes(20_000, '1')}'>x</div>",
        f'<a href="stray quote""> {attributes(20_000, "1")} </a>',
        f"<p {attributes(MAX_ATTRIBUTES - 1, '1')}>" + "x " * 40_000,
    ],
)
def test_what_only_looks_like_attributes_does_not_count(html: str) -> None:
    """Comments, scripts, long values and text may hold any number of equals signs."""
    assert parse(html + REST).unjudged is None


def test_an_inline_image_of_megabytes_is_set_aside() -> None:
    """A data URI says nothing about the text, and is longer than what the parser takes in one attribute."""
    image = "data:image/png;base64," + "iVBORw0K" * 250_000
    assert text_of(f'<img src="{image}">{REST}') == "The rest of the page."


def test_a_script_of_megabytes_is_no_text() -> None:
    """Applications send their state with the page."""
    assert text_of(f"<style>p {{}}</style>{REST}<script>{'[1,2],' * (MAX_TEXT // 4)}</script>").endswith("[1,2],")


def test_nul_and_lone_surrogates_do_no_harm() -> None:
    """Neither is text, and neither ends the page."""
    assert text_of("<p>a\x00b \ud800c</p>" + REST) == "ab ?cThe rest of the page."


def test_comments_and_processing_instructions_are_no_text() -> None:
    """They are gone from the tree."""
    assert text_of("<p>a<!-- b --><?php echo 1 ?>c</p>") == "ac"


def test_the_mark_behind_the_page_is_gone_from_the_tree() -> None:
    """What checks for the end leaves no trace."""
    root = parse("<p>One.</p>").root
    assert root is not None
    assert [element.tag for element in root.iter()] == ["html", "body", "p"]


@given(soup)
@settings(max_examples=300)
def test_nothing_makes_it_raise(html: str) -> None:
    """There is a tree or a reason, never both and never neither."""
    document = parse(html)
    assert (document.root is None) == (document.unjudged is not None)


def test_a_page_is_encoded_once() -> None:
    """For its digest and for the parser; another page in between changes nothing."""
    one, other, broken = (f"<p>tides {name} é</p>" for name in ("one", "other", "\ud800"))
    assert utf8(one, "surrogatepass") is utf8(one, "replace")
    assert utf8(other, "replace") == other.encode()
    assert utf8(broken, "replace") == broken.encode("utf-8", "replace")
    assert utf8(broken, "surrogatepass") == broken.encode("utf-8", "surrogatepass")
    assert utf8(one, "replace") == one.encode()
