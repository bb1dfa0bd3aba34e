"""The words of the Markdown are the words of the chosen blocks, no more and no less, and in their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.pages import page, prose, words
from helpers.rendered import rendered_text
from helpers.soup import markup
from scrapy_simdedup import page_content
from scrapy_simdedup.fingerprint.hashing import split_words
from scrapy_simdedup.page import content_model
from scrapy_simdedup.page.block_tree import build_block_tree
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.content import find_content_blocks
from scrapy_simdedup.page.markdown import to_markdown
from scrapy_simdedup.page.page import read_page
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import DEFAULT_ROLE_WORDS
from scrapy_simdedup.settings import Extractor

_SIGNS = st.sampled_from(
    [
        *("*a*", "_b_", "__init__", "snake_case", "`c`", "``", "[d](e)", "[f]: g", "![h](i)", "<j>", "&lt;k&gt;"),
        *(
            "# l",
            "1. m",
            "- n",
            "> o",
            "===",
            "---",
            "~~p~~",
            "| q |",
            "&amp;lt;",
            "2*3*4",
            "a_b",
            "http://x.example/_y_",
            "\\*",
        ),
        *(
            "***",
            "___",
            "```",
            "~~~",
            "!",
            "\\",
            "=",
            "+",
            "word",
            "東京",
            "e\u0301",
            "½",
            "[x] ",
            "<http://z.example>",
        ),
    ]
)
_WORDS = st.lists(_SIGNS, min_size=1, max_size=4).map(" ".join)
_INLINE = st.recursive(
    _WORDS.map(lambda text: text.replace("<", "&lt;")),
    lambda inner: st.builds(
        lambda tag, parts, gap: f"<{tag}>{gap.join(parts)}</{tag.split()[0]}>",
        st.sampled_from(["b", "em", "code", "a href=/x", "a href=#y", "span", "del", "i", "strong", "q", "sub"]),
        st.lists(inner, min_size=1, max_size=3),
        st.sampled_from(["", " ", "<br>", "<img src=i alt=picture>"]),
    ),
    max_leaves=5,
)
_LINES = st.lists(_INLINE, max_size=4).map("".join)
_BLOCKS = st.recursive(
    st.builds(
        lambda tag, text: f"<{tag}>{text}</{tag}>", st.sampled_from(["p", "h2", "div", "pre", "li", "td", "dd"]), _LINES
    ),
    lambda inner: st.builds(
        lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
        st.sampled_from(["div", "ul", "ol", "blockquote", "li", "main", "section", "td", "table", "tr", "a", "nav"]),
        st.lists(st.one_of(inner, inner, _LINES), max_size=4),
    ),
    max_leaves=12,
)
_TABLES = st.lists(st.lists(_LINES, min_size=2, max_size=3), min_size=2, max_size=3).map(
    lambda rows: "".join(
        ["<table>", *("".join(["<tr>", *(f"<td>{cell}" for cell in row)]) for row in rows), "</table>"]
    )
)
documents = st.lists(st.one_of(_BLOCKS, _TABLES, _LINES), max_size=6).map("\n".join)


def words_of(text: str) -> list[str]:
    return [word.decode() for word in split_words(text)]


@example("<div>a<aside>b</aside>c<i><p></p>d</i></div>", 0b1101)
@given(st.one_of(documents, markup), st.integers(0, 2**64 - 1))
def test_any_choice_of_blocks_comes_out_as_it_stands(html: str, choice: int) -> None:
    root = parse(html).root
    if root is None:
        return
    texts = build_block_tree(root, DEFAULT_ROLE_WORDS).texts
    chosen = [bool(choice >> number % 64 & 1) for number in range(len(texts))]
    made = rendered_text(to_markdown(root, chosen, url="https://site.example/"))
    assert words_of(made) == words_of("\n".join(text for text, is_own in zip(texts, chosen, strict=True) if is_own))


articles = documents.map(lambda html: f"<main><h1>Title</h1>{prose(1, 120)}{html}</main>")


@given(st.sampled_from(["content", "readability"]), st.one_of(documents, articles))
def test_the_words_that_count_in_full_are_those_of_the_markdown(extractor: Extractor, html: str) -> None:
    """With the extractors that choose a main content; the blocks with roles weigh more of a page."""
    content = page_content(html, extractor=extractor)
    blocks = read_page(html, extractor=extractor).blocks
    counting = [block.text for block in blocks if block.block_class is BlockClass.CONTENT]
    assert words_of(rendered_text(content.markdown)) == words_of("\n".join(counting)) == words_of(content.text)


@pytest.mark.parametrize("extractor", ["content", "readability"])
def test_a_site_around_a_text_does_not_count_in_full(extractor: Extractor) -> None:
    content = page_content(page(1, wrapping=2), extractor=extractor)
    assert words_of(rendered_text(content.markdown))[-240:] == words("1", 240)
    assert "Served" not in content.text


@pytest.mark.parametrize("html", ["<nav><a href=/>Home</a></nav>", "<div>Few words</div>", "<footer>Imprint</footer>"])
def test_a_page_that_has_text_has_some_in_its_markdown(html: str) -> None:
    """Where nothing is content, the best that there is comes out."""
    assert words_of(page_content(html).text) == words_of(parsed_text(html)) != []


def parsed_text(html: str) -> str:
    root = parse(html).root
    return "" if root is None else root.text_content()


BETWEEN = "<main><p>{0}</p>{1}<p>{0}</p></main>".format(" ".join(words(1, 30)), "{}")


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("<img src=/i.png alt=picture>", "![picture](https://site.example/i.png)"),
        ("<figure><img src=/i.png alt=picture></figure>", "![picture](https://site.example/i.png)"),
        ("<hr>", "---"),
    ],
)
def test_what_has_no_text_stands_where_it_stood_between_chosen_blocks(between: str, expected: str) -> None:
    assert f"\n\n{expected}\n\n" in page_content(BETWEEN.format(between), url="https://site.example/").markdown


def test_a_picture_in_the_boilerplate_goes_with_it() -> None:
    logo = "<header><a href=/><img src=/logo.png alt=Logo></a><nav><a href=/a>One</a> <a href=/b>Two</a></nav></header>"
    footer = "<footer><p>Imprint</p><img src=/x.png alt=Sign></footer>"
    found = page_content(logo + BETWEEN.format("") + footer).markdown
    assert "Logo" not in found
    assert "Sign" not in found


def test_rows_that_are_not_chosen_leave_no_empty_ones() -> None:
    root = parse("<table><tr><td>a<td>b<tr><td>c<td>d<tr><td>e<td>f</table>").root
    assert root is not None
    build_block_tree(root, DEFAULT_ROLE_WORDS)
    assert to_markdown(root, [True, True, False, False, True, True]) == "| a | b |\n| --- | --- |\n| e | f |"


def test_items_keep_their_numbers() -> None:
    root = parse("<ol><li>a<li>b<li>c</ol>").root
    assert root is not None
    build_block_tree(root, DEFAULT_ROLE_WORDS)
    assert to_markdown(root, [False, True, True]) == "2. b\n3. c"


def chosen_blocks(html: str, taken: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The blocks of a page that are main content, a digit each, where the model takes some of them."""
    root = parse(html).root
    assert root is not None
    tree = build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True)
    choice = np.array([sign == "1" for sign in taken.replace(" ", "")])
    monkeypatch.setattr(content_model, "main_content", lambda _: choice)
    return "".join("01"[chosen] for chosen in find_content_blocks(root, tree, "content"))


def test_the_headline_stands_above_the_text_that_the_model_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the site, which is boilerplate, does not."""
    html = f"<header class=masthead><h1>The site</h1></header><div><h1>Headline</h1><p>By Ada</p>{prose(1, 80)}</div>"
    monkeypatch.setattr(content_model, "main_content", lambda _: np.array([False, False, False, True, True]))
    assert page_content(html).text.splitlines()[0] == "Headline"
    assert "The site" not in page_content(html.replace("<h1>Headline</h1>", "<p>x</p>")).text


@pytest.mark.parametrize(
    ("html", "taken", "expected"),
    [
        # A chapter of a manual: its heading is no h1, and the title repeats it.
        ("<title>2. The pier | Guide</title><h2>Guide</h2><h2>2. The pier</h2><p>Text</p>", "00 1", "01 1"),
        ("<title>The pier | Guide</title><h2>Guide</h2><h2>Opening</h2><p>Text</p>", "00 1", "10 1"),
        ("<title>The pier</title><h2>Opening</h2><p>Text</p>", "0 1", "0 1"),
        ("<title></title><h2>***</h2><p>Text</p>", "0 1", "0 1"),
        ("<title>The pier, Cromer</title><h2>The pier, Cromer</h2><h3>The pier</h3><p>Text</p>", "01 1", "11 1"),
        ("<title>The pier</title><h3>The pier</h3><p>Text</p><h4>The pier</h4><p>More</p>", "0 1 1 1", "0 1 1 1"),
        # What stands before an h1 was taken, such as a price in a column.
        ("<title>The pier</title><p>5.00</p><h1>The pier</h1><p>Text</p>", "1 0 1", "1 1 1"),
        ("<title>Shop</title><p>5.00</p><h1>The pier</h1><p>Text</p>", "1 0 1", "1 0 1"),
        ("<title>The pier</title><p>Text</p><h2>The pier</h2><p>More</p>", "1 0 1", "1 0 1"),
        ("<title>The pier</title><p>Text</p><h1>The pier</h1>", "1 0", "1 0"),
        ("<title>The pier</title><nav><h2>The pier</h2></nav><p>Text</p>", "0 1", "0 1"),
        # A reference whose headline is no heading; what repeats less of the title may be the name of the site.
        ("<title>Acme: the pier class</title><div>The pier class</div><p>Text</p>", "0 1", "1 1"),
        ("<title>Acme: the pier class</title><div>The pier class</div><p>Text</p><h3>Pier</h3>", "0 1 1", "1 1 1"),
        (
            "<title>Acme: the pier class</title><div>The pier class</div><h2>The pier class</h2><p>Text</p>",
            "00 1",
            "01 1",
        ),
        ("<title>Acme: the pier class</title><div>Acme</div><p>Text</p>", "0 1", "0 1"),
        ("<title>The pier</title><div><a href=/pier>The pier</a></div><p>Text</p>", "0 1", "0 1"),
        ("<title>The pier</title><nav>The pier</nav><p>Text</p>", "0 1", "0 1"),
    ],
)
def test_where_no_h1_is_above_the_text_the_title_tells_the_headline(
    html: str, taken: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chosen_blocks(html, taken, monkeypatch) == expected.replace(" ", "")


MENU = "<nav><a href=/a>Lamps</a><ul><li><a href=/b>Piers</a><li><a href=/c>Tides</a></ul></nav>"


@pytest.mark.parametrize(
    ("html", "taken", "expected"),
    [
        (f"{MENU}<h1>Tides</h1><p>Text</p>", "111 1 1", "000 1 1"),
        (f"<div><h1>All pages</h1>{MENU}</div>", "1 111", "1 111"),
        (f"{MENU}<p>Text</p>", "111 0", "111 0"),
        (f"{MENU.replace('nav>', 'div>')}<h1>Tides</h1>", "111 1", "111 1"),
    ],
)
def test_the_menu_of_the_site_above_a_short_text_is_no_part_of_it(
    html: str, taken: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of a page that lists pages stands below its headline."""
    assert chosen_blocks(html, taken, monkeypatch) == expected.replace(" ", "")


@pytest.mark.parametrize(
    ("below", "taken", "expected"),
    [("", "00 1", "11 1"), ("", "01 1", "11 1"), ("<h1>The pier</h1>", "10 1 0", "11 1 0")],
)
def test_a_headline_with_line_breaks_comes_as_a_whole(
    below: str, taken: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = f"<div><h1>Uses of<br>the lamp</h1><p>Text</p>{below}</div>"
    assert chosen_blocks(html, taken, monkeypatch) == expected.replace(" ", "")


TABLE = "<table><tr><th>Day<th>High water<tr><td>Monday<td>04:12<tr><td>Tuesday<td>05:01</table>"
AROUND = "<main><p>Text before</p>{}<p>Text behind</p></main>"


@pytest.mark.parametrize(
    ("html", "taken", "expected"),
    [
        (AROUND.format(TABLE), "1 000000 1", "1 111111 1"),
        (AROUND.format(TABLE), "1 000000 0", "1 000000 0"),
        (AROUND.format(TABLE), "0 101110 0", "0 111111 0"),
        (AROUND.format(TABLE), "0 000010 0", "0 000011 0"),
        (AROUND.format(f"<h2>Tides</h2>{TABLE}"), "1 1 000000 0", "1 1 111111 0"),
        (AROUND.format("<pre>a = 1</pre>"), "1 0 1", "1 1 1"),
        ("<h1>Tides</h1><pre>tides(month)</pre><p>Of a month.</p>", "0 0 1", "1 1 1"),
        (AROUND.format("<pre>a = 1<br>b = 2<br>and no more</pre>"), "0 001 0", "0 111 0"),
        (AROUND.format(f"<table><tr><td><h2>Part</h2><td>{TABLE}</table>"), "1 0 010000 1", "1 0 110000 1"),
        (AROUND.format("<table><tr><td><div>bert, nine hours ago</div><div>Yes.</div></table>"), "0 01 0", "0 01 0"),
    ],
)
def test_tables_of_data_and_code_come_as_wholes(
    html: str, taken: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell by itself looks like nothing, and a row without it says something else. A layout is no table of data."""
    assert chosen_blocks(html, taken, monkeypatch) == expected.replace(" ", "")
