"""Text is parted into blocks where a browser begins a new line."""

from __future__ import annotations

import pytest

from scrapy_simdedup.page.block_tree import BlockTree, build_block_tree
from scrapy_simdedup.page.page import read_page
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import COMMENT, DEFAULT_ROLE_WORDS, FOOTER, H1, HEADING, MAIN, NAV, PARAGRAPH


def outline_of(html: str) -> BlockTree:
    root = parse(html).root
    assert root is not None
    return build_block_tree(root, DEFAULT_ROLE_WORDS)


@pytest.mark.parametrize(
    ("html", "texts"),
    [
        ("<p>One</p><p>two</p>", ["One", "two"]),
        ("<p>One <b>bold</b> and <i>slanted</i> word</p>", ["One bold and slanted word"]),
        ("<div>before<p>inside</p>after</div>", ["before", "inside", "after"]),
        ("one<br>two<hr>three", ["one", "two", "three"]),
        ("<table><tr><td>a<td>b</table>", ["a", "b"]),
        ("<ul><li>a<ul><li>b</ul></ul>", ["a", "b"]),
        ("<p>un<wbr>broken and <x-custom>unknown</x-custom> tags</p>", ["unbroken and unknown tags"]),
        ("<p>Hy&shy;phens \u200band places\u200b to break</p>\u200b", ["Hyphens and places to break"]),
        ("<p> \n </p><div>&nbsp;</div><p>text</p>", ["text"]),
        ("<p>a</p></body>tail", ["a", "tail"]),
        ("<title>head</title><p>body</p>", ["body"]),
        ("<title>no body tag</title><main>a <x-app>b</x-app><p>c</p></main>", ["a b", "c"]),
        ("<p>a<script>code</script>b<svg><text>drawn</text></svg>c</p>", ["abc"]),
        ("<x-card><template shadowrootmode=open><p>shown</p></template></x-card><template>not</template>", ["shown"]),
        ("<xmp><p>shown as it is</p></xmp>", ["<p>shown as it is</p>"]),
        ("<noscript>enable it</noscript><select><option>x</select><button>press</button>", []),
    ],
)
def test_blocks_are_the_lines_that_a_reader_sees(html: str, texts: list[str]) -> None:
    """Inline elements join, block elements part, and code and choices are not read."""
    assert outline_of(html).texts == texts


@pytest.mark.parametrize("space", [" ", "\n", "\r\n\t\t    ", " " * 200, "&nbsp;", " \xa0", "<!-- ad -->\n  "])
def test_how_a_page_is_indented_changes_nothing(space: str) -> None:
    """A cache that minifies pages answers some requests, and the application answers others."""
    menu = "<p>Read our<a href=/a>full{0}review</a>{0}<a href=/b>{0}more{0}of{0}them{0}</a>{0}</p>"
    html = f"<main>{{0}}<h1>Tide{{0}}clocks</h1>{menu}<p>By{{0}}Ann,{{0}}{{0}}3 May</p>{{0}}</main>"
    found, minified = read_page(html.format(space)), read_page(html.format(" "))
    assert found.blocks == minified.blocks
    assert found.blocks[0].text == "Tide clocks"
    assert outline_of(html.format(space)).link_lengths == outline_of(html.format(" ")).link_lengths


def test_a_block_knows_what_its_text_is() -> None:
    """Inline elements inside a heading or paragraph belong to it."""
    found = outline_of("<h1>a <em>b</em></h1><h2>c</h2><p>d <a href=/>e</a></p><div>f</div>")
    assert found.text_roles == [HEADING | H1, HEADING, PARAGRAPH, 0]


def test_nodes_are_the_elements_with_roles() -> None:
    """Tag, ARIA role, class and id are joined; parents come before their children."""
    found = outline_of('<nav class="footer"><div><p>a</p></div></nav><div role="main"><p id="comments">b</p></div>c')
    assert found.element_numbers == [0, 2, 5]  # of html, body, nav, div, p, div
    assert found.role_parents == [-1, 0, 0]
    assert found.node_roles[1] == NAV | FOOTER
    assert found.node_roles[2] & MAIN
    assert found.role_nodes == [1, 2, 0]


@pytest.mark.parametrize(
    ("html", "has_role"),
    [
        ('<div class="comments">a</div>', True),
        ('<div id="comments">a</div>', True),
        ('<section class="comments">a</section>', True),
        ('<h2 id="comments">a</h2>', False),
        ('<section id="comments">a</section>', False),
        ('<li id="comments">a</li>', False),
        ('<div id="comments" class="doc-section">a</div>', False),
        ('<article class="comments">a</article>', False),
        ('<a class="comments">a</a>', False),
        ('<pre class="comments">a</pre>', False),
    ],
)
def test_names_are_read_only_where_they_name_a_part_of_the_page(html: str, has_role: bool) -> None:
    """Ids of sections and classes of links and headings are made from their text."""
    assert any(role & COMMENT for role in outline_of(html).node_roles) == has_role


@pytest.mark.parametrize(
    ("html", "is_link"),
    [
        ('<a href="/returns">May I send it back?</a>', True),
        ('<a href="#returns">May I send it back?</a>', False),
        ('<h2><a href="#returns">Returns</a></h2>', False),
        ('<a href="#returns"><i class="icon"></i> May I send it back?</a>', False),
        ('<a name="returns">May I send it back?</a>', True),
        ('<a href="#">Share (12)</a>', True),
        ('<a href="#line-12"> 12 </a>', True),
        ('<a href="/returns#fees">Who pays?</a>', True),
    ],
)
def test_what_leads_to_a_place_of_its_own_page_is_text_of_the_page(html: str, is_link: bool) -> None:
    """A question that opens its answer, a heading with its address; but no button, and no number of a line."""
    blocks = read_page(f"<p>Ask us whatever you like.</p>{html}").blocks
    assert [block.links for block in blocks] == [False, is_link]


@pytest.mark.parametrize(
    ("attributes", "is_link"),
    [
        ('href="/minutes/2026-05.pdf"', False),
        ('href="https://town.example/Plan.DOCX?version=2#top"', False),
        ('href="/get?name=minutes.zip"', False),
        ('href="fix.patch"', False),
        ('href="/media/17" download', False),
        ("download", False),
        ('href="tel:+44205550173"', False),
        ('href="mailto:clerk@town.example?subject=minutes"', False),
        ('href="mailto:?subject=minutes"', True),
        ('href="/minutes.html"', True),
        ('href="/minutes.php?id=3"', True),
        ('href="/minutes.pdf/preview"', True),
        ('href="/view?file=a.pdf&amp;page=2"', True),
        ('href="/pdf"', True),
        ('href="/minutes#may.pdf"', True),
        ('href="javascript:open(17)"', True),
    ],
)
def test_what_leads_to_a_file_or_to_an_address_is_text_of_the_page(attributes: str, is_link: bool) -> None:
    """No other page says it. What shares the page by mail says nothing of it."""
    blocks = read_page(f"<p>Ask us whatever you like.</p><p><a {attributes}>Minutes of May</a></p>").blocks
    assert [block.links for block in blocks] == [False, is_link]


def test_deep_nesting_needs_no_recursion() -> None:
    """Two thousand levels are read like two."""
    assert outline_of("<div>" * 2_000 + "deep").texts == ["deep"]
