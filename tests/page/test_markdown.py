"""The Markdown that people read: GitHub's dialect, of bounded size, from any page."""

from __future__ import annotations

import subprocess
import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.pages import prose, words
from scrapy_simdedup import page_markdown
from scrapy_simdedup.page import markdown
from scrapy_simdedup.page.block_tree import build_block_tree
from scrapy_simdedup.page.content import MAX_GROWTH, MIN_LIMIT
from scrapy_simdedup.page.content_tree import ContentNode, build_content_tree
from scrapy_simdedup.page.markdown import MAX_COVERED_CELLS, MAX_COVERED_PER_CELL, MAX_INDENT, table_grid, to_markdown
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import DEFAULT_ROLE_WORDS

URL = "https://site.example/docs/page"


def of(html: str) -> str:
    """The Markdown of all of a fragment."""
    root = parse(html).root
    assert root is not None
    return to_markdown(root, [True for _ in build_block_tree(root, DEFAULT_ROLE_WORDS).texts], url=URL)


INLINE = [
    ("<p>a <em>b</em> <strong>c</strong> <del>d</del></p>", "a _b_ **c** ~~d~~"),
    ("<p>a<br>b</p>", "a  \nb"),
    ("<p>a<br><br>b</p>", "a\n\nb"),
    ("<p>a\n   b&nbsp;\t c</p>", "a b c"),
    ('<p><a href="/x?a=1&amp;b=2">link</a></p>', "[link](https://site.example/x?a=1&b=2)"),
    ('<p><a href="/a_(b)">link</a></p>', r"[link](https://site.example/a_\(b\))"),
    ('<p><a href="https://x.example/">https://x.example/</a></p>', "<https://x.example/>"),
    ('<p><a href="#part">link</a></p>', "link"),
    (
        """<p><a href="/x" title='a "b"'>link</a> <abbr title="World Wide Web">WWW</abbr></p>""",
        "[link](https://site.example/x) WWW",
    ),
    ('<p>a <a href="/x"></a>b<b></b> <i><span></span></i>c</p>', "a b c"),
    ("<p>a<b> </b>b</p>", "a b"),
    ('<p><img src="i.png" alt="An [image]"></p>', r"![An \[image\]](https://site.example/docs/i.png)"),
    (
        '<a href="/x"><img src="/i.png" alt="i"></a>',
        "[![i](https://site.example/i.png)](https://site.example/x)",
    ),
    (
        '<a href="/x"><h3>Title</h3><p>Text</p></a>',
        "### [Title](https://site.example/x)\n\n[Text](https://site.example/x)",
    ),
    ("<p>call <code>f(*a)</code></p>", "call `f(*a)`"),
    ("<p><code>a`b</code> <code>``</code> <kbd>`x</kbd></p>", "``a`b`` ``` `` ``` `` `x ``"),
    ("<p><code>&lt;b&gt; \\ _x_</code></p>", r"`<b> \ _x_`"),
    ("<p>&lt;script&gt; 1 &lt; 2</p>", r"\<script> 1 < 2"),
    ("<p>1. a</p>", r"1\. a"),
    ("<p>2) a</p>", r"2\) a"),
    ("<p># a</p>", r"\# a"),
    ("<p>#a</p>", "#a"),
    ("<p>a<br># b<br>> c<br>* d</p>", "a  \n\\# b  \n\\> c  \n\\* d"),
    ("<p>- a</p><p>+ b</p><p>--- c</p>", "\\- a\n\n\\+ b\n\n\\--- c"),
    ("<p>```a</p><p>===</p>", "\\```a\n\n\\==="),
    ("<p><code>a_</code><a href=#b><code>b_</code></a></p>", "`a_`b\\_"),
    ("<p><em>a</em><a href=#b><em>b</em></a></p>", "*a*b"),
    ("<p>\ufdd00\ufdd1 a \ufdd29\ufdd3 <code>b</code></p>", "`b`"),
]


@pytest.mark.parametrize(("html", "expected"), INLINE)
def test_lines(html: str, expected: str) -> None:
    """What is in a line keeps its form, and text that looks like markup is escaped."""
    assert of(html).endswith(expected)


BLOCKS = [
    ("<h1>a</h1><h2>b <b>c</b></h2><h6>d<br>e</h6>", "# a\n\n## b **c**\n\n###### d e"),
    ('<h2>a<a class="headerlink" href="#a">¶</a></h2>', "## a"),
    ("a<p>b</p>c<div>d</div>", "a\n\nb\n\nc\n\nd"),
    ("<ul><li>a<li>b<li><p>c</p></ul><p>d", "- a\n- b\n- c\n\nd"),
    ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
    ('<ol start="9"><li>a<li>b<p>c</ol>', "9. a\n10. b\n\n    c"),
    ('<ol start="x"><li>a</ol><ol start="-1"><li>a</ol>', "1. a\n\n1. a"),
    ("<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>", "- a\n  - b\n    1. c\n- d"),
    ("<ul><li>a<ol start=3><li>b</ol></ul>", "- a\n\n  3. b"),
    ("<ul><li><ul><li>a<li>b</ul><li>c</ul>", "- - a\n  - b\n- c"),
    ("<ul><li>a</li><ul><li>b</li></ul><li>c</ul>", "- a\n  - b\n- c"),
    ("<ol start=2><p>a</p><li>b</ol>", "a\n\n2. b"),
    ("a<ol><li><img><li>b</ol>", "a\n\n2. b"),
    ("<ul>a<li>b</li>c</ul>", "a\n\n- b\n\n  c"),
    ("<ul><li></li><li>a</ul>", "- a"),
    ("<ul><li><p>a</p><p>b</p><pre>c</pre></li></ul>", "- a\n\n  b\n\n  ```\n  c\n  ```"),
    (
        "<ul><li><input type=checkbox checked>a<li><label><input type=checkbox> b</label></ul>",
        "- [x] a\n- [ ] b",
    ),
    ("<blockquote>a<p>b<p>c</blockquote>d", "> a\n>\n> b\n>\n> c\n\nd"),
    ("<blockquote><ul><li>a</ul><blockquote>b</blockquote></blockquote>", "> - a\n>\n> > b"),
    ("<ul><li><blockquote>a<br>b</blockquote></ul>", "- > a  \n  > b"),
    ("a<hr>b", "a\n\n---\n\nb"),
    ("<dl><dt>a<dd>b</dl>", "a\n\nb"),
    ("<div>a<div></div>b<span><p></p></span>c</div>", "a\n\nb\n\nc"),
    ("<div>a<p></p><b>b</b></div>", "a\n\n**b**"),
    ("<ul>a<li></li>b</ul><h2>c<div></div>d</h2>", "a\n\nb\n\n## c d"),
    ("<h2><b>a?</b><div></div></h2>", "## **a?**"),
    ("<figure><img src=/i alt=i><figcaption>a</figcaption></figure>", "![i](https://site.example/i)\n\na"),
]


@pytest.mark.parametrize(("html", "expected"), BLOCKS)
def test_blocks(html: str, expected: str) -> None:
    """Headings, lists of any depth, task lists and quotations."""
    assert of(html) == expected


CODE = [
    ("<pre>a\n  b\n\n    c\n</pre>", "```\na\n  b\n\n    c\n```"),
    ("<pre>```\na\n```</pre>", "````\n```\na\n```\n````"),
    ("<pre>&lt;b&gt; *a* # b</pre>", "```\n<b> *a* # b\n```"),
    ('<pre><code class="language-python">a</code></pre>', "```python\na\n```"),
    ('<pre><code class="x lang-js y">a</code></pre>', "```js\na\n```"),
    ('<pre class="language-c++"><code>a</code></pre>', "```c++\na\n```"),
    ('<pre><code class="hljs-rust">a</code></pre>', "```rust\na\n```"),
    ('<pre><code class="hljs rust">a</code></pre>', "```rust\na\n```"),
    ('<pre><code class="hljs language-go">a</code></pre>', "```go\na\n```"),
    ('<div class="highlight-shell"><div class="highlight"><pre>a</pre></div></div>', "```shell\na\n```"),
    ('<pre><code class="language-plaintext">a</code></pre>', "```\na\n```"),
    ('<pre><code class="slang-x">a</code></pre>', "```\na\n```"),
    ("<pre><span>a</span> <b>b</b><br>c<div>d</div><div>e</div></pre>", "```\na b\nc\nd\ne\n```"),
    ("<pre><div>a\n</div><div>b\n</div></pre>", "```\na\nb\n```"),
    ("<pre>  \n </pre>a", "a"),
]


@pytest.mark.parametrize(("html", "expected"), CODE)
def test_code(html: str, expected: str) -> None:
    """It is fenced, with more backticks than it holds, as it came, and with its language."""
    assert of(html) == expected


TABLES = [
    (
        "<table><thead><tr><th>a<th>b</thead><tbody><tr><td>1<td>2</tbody></table>",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
    ),
    ("<table><tr><td>a<td>b<tr><td>1<td>2</table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
    (
        "<table><tr><th>a|b<th><code>c|d</code><tr><td><b>x</b> <a href=/y>z</a><td>p<br>q</table>",
        "| a\\|b | `c\\|d` |\n| --- | --- |\n| **x** [z](https://site.example/y) | p<br>q |",
    ),
    (
        "<table><tr><td>a<td><p>b</p><p>c</p><tr><td><ul><li>d<li>e</ul><td></table>",
        "| a | b<br>c |\n| --- | --- |\n| d<br>e |  |",
    ),
    ("<table><tr><th>a<tr><td>1<td>2</table>", "| a |  |\n| --- | --- |\n| 1 | 2 |"),
    ("<table><tr><th colspan=2>a<tr><td>1<td>2</table>", "| a |  |\n| --- | --- |\n| 1 | 2 |"),
    (
        "<table><tr><th>a<th>b<th>c<tr><td rowspan=2>1<td>2<td rowspan=3>3<tr><td>4<tr><td>5</table>",
        "| a | b | c |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n|  | 4 |  |\n| 5 |  |  |",
    ),
    (
        "<table><tr><th rowspan=2 colspan=2>a<th>b<tr><td>1<tr><td>2<td>3<td>4</table>",
        "| a |  | b |\n| --- | --- | --- |\n|  |  | 1 |\n| 2 | 3 | 4 |",
    ),
    ("<table><caption>c</caption><tr><th>a<th>b<tr><td>1<td>2</table>", "c\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"),
    ("<table><tr><td>a</table>", "a"),
    ("<table><tr><td><h2>a</h2><td><p>b<tr><td>c<td>d</table>", "## a\n\nb\n\nc\n\nd"),
    ("<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>", "a\n\nb\n\nc\n\nd"),
    ("<table></table>a", "a"),
]


@pytest.mark.parametrize(("html", "expected"), TABLES)
def test_tables(html: str, expected: str) -> None:
    """A table of data is one; a table that lays out the page is what is in it."""
    assert of(html) == expected


@pytest.mark.parametrize(
    "text",
    ["Привет, мир", "你好，世界", "مرحبا بالعالم", "שלום עולם", "สวัสดีชาวโลก", "नमस्ते दुनिया", "e\u0301 — “q” ½ 👩‍👩‍👧"],
)
def test_every_script_comes_through(text: str) -> None:
    """No transliteration, whichever way the text runs."""
    assert of(f'<div dir="auto"><p>{text}</p><ul><li>{text}</li></ul></div>') == f"{text}\n\n- {text}"


@pytest.mark.parametrize(
    "html",
    [
        *("", " \n", "\x00", "<!-- only a comment -->", "<!DOCTYPE html>", "<html></html>", "<script>x</script>"),
        *("<p>one</p><!-- never closed <p>two</p>", "<p>a</p>" + "<div>" * 3_000 + "b", "x" * 5_000_001),
    ],
)
def test_a_page_without_text_or_with_a_part_missing_has_none(html: str) -> None:
    """Half of a page would pass for the whole."""
    assert page_markdown(html) == ""


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>a<p>b <b>c<p>d", "a\n\nb **c**\n\nd"),
        ("<ul><li>a<li>b", "- a\n- b"),
        ("<table><tr><td>a<td>b<tr><td>c<td>d<p>e", "| a | b |\n| --- | --- |\n| c | d<br>e |"),
        ("<div><pre>a\n b", "```\na\n b\n```"),
        ("</p></div>a<br/></br>b", "a"),
    ],
)
def test_tags_that_are_never_closed(html: str, expected: str) -> None:
    """They end where browsers end them."""
    assert of(html).startswith(expected)


def test_the_main_content_of_a_page_is_what_becomes_markdown() -> None:
    """Without the site around it, with addresses that work outside of it."""
    html = f"""<title>T</title><nav><a href=/>Home</a></nav><main><article><h1>Headline</h1>{prose("main", 120)}
        <p>There is more of it on <a href="next">the next page</a></p></article></main><footer>Imprint</footer>"""
    made = page_markdown(html, url=URL)
    assert made.startswith("# Headline\n\n")
    assert made.endswith("There is more of it on [the next page](https://site.example/docs/next)")
    assert [word.lower() for word in made.replace(".", "").split()[2:122]] == words("main", 120)


def test_the_element_stays_as_it_is() -> None:
    """Empty tags, code and line breaks are dealt with in a copy."""
    root = parse("<p><b></b><code>a</code></p><pre>b<br>c</pre>").root
    assert root is not None
    before = [(element.tag, element.text, element.tail) for element in root.iter()]
    assert to_markdown(root, [True] * 3) == "`a`\n\n```\nb\nc\n```"
    assert [(element.tag, element.text, element.tail) for element in root.iter()] == before


def test_what_is_left_out_parts_the_lines_around_it() -> None:
    """As an advertisement in the middle of a text that has no paragraphs."""
    root = parse("<div>Before<div>Advertisement</div>behind</div>").root
    assert root is not None
    assert to_markdown(root, [True, False, True]) == "Before\n\nbehind"


def test_an_error_of_ours_leaves_the_text(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The item that was to carry the Markdown must not be lost."""

    def fail(*_: object, **__: object) -> str:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(markdown, "to_markdown", fail)
    assert page_markdown("<p>The\n text</p>", url=URL) == "The text"
    assert URL in caplog.text


@pytest.mark.parametrize("levels", [300, 900])
def test_deep_nesting_keeps_its_text_and_a_bounded_indentation(levels: int) -> None:
    """Below some level, elements are no longer told apart."""
    for tags in (("<div>", "</div>"), ("<ul><li>x", "</li></ul>"), ("<blockquote>x", "</blockquote>")):
        made = of(tags[0] * levels + "core" + tags[1] * levels)
        assert "core" in made
        assert made.count("x") == (0 if "x" not in tags[0] else levels)
        assert max(len(line) - len(line.lstrip(" ->")) for line in made.split("\n")) <= MAX_INDENT + 4


soup = st.lists(
    st.sampled_from(
        [
            *("<p>", "</p>", "<div>", "</div>", "<ul>", "<li>", "</ul>", "<ol start=7>", "</ol>", "<blockquote>"),
            *("<table>", "<tr>", "<td>", "<th colspan=9>", "</table>", "<pre>", "</pre>", "<code>", "</code>", "<br>"),
            *("<b>", "</b>", "<a href=http://[>", "<a href=x>", "</a>", "<img src=x alt=`>", "<h1>", "</h2>", "<dd>"),
            *("`", "```", "|", "\\", "\n", "\n\n    ", "# ", "1. ", "word", "&nbsp;", "&lt;b&gt;", "[x](y)", "\ufdd01"),
        ]
    ),
    max_size=40,
)


@given(soup)
def test_any_soup_of_tags_keeps_its_words(parts: list[str]) -> None:
    """Whatever was opened inside of what."""
    html = "".join(parts)
    made = of(html + "<p>end</p>")
    assert made.count("word") == parts.count("word")
    assert len(page_markdown(html, url=URL)) <= MAX_GROWTH * len(html) + MIN_LIMIT


def test_the_size_is_bounded() -> None:
    """Long addresses and wide tables could make a page many times longer."""
    html = f"<base href=//x.example/{'x' * 900}/>" + "<p><a href=y>z z</a></p>" * 900
    assert len(of(html)) > 5 * len(html)
    assert len(page_markdown(html)) == MAX_GROWTH * len(html) + MIN_LIMIT


@pytest.mark.parametrize(
    "cell", ["<td rowspan=9999 colspan=9999>x<td>y", "<td colspan=20>x<td>y", "<td>x<td rowspan=20>y"]
)
def test_cells_that_reach_far_make_no_grid_without_bounds(cell: str) -> None:
    """Each row of nine letters could have a hundred cells."""
    root = parse(f"<table>{f'<tr>{cell}' * 1_000}</table>").root
    assert root is not None
    tree = build_content_tree(root, [True] * 2_000)
    assert tree is not None
    [table] = (node for node in tree.walk() if isinstance(node, ContentNode) and node.tag == "table")
    grid = table_grid(table)
    assert sum(map(len, grid)) <= 2_000 * (1 + MAX_COVERED_PER_CELL) + MAX_COVERED_CELLS
    assert [cell.element for row in grid for cell in row if cell is not None] == root.findall(".//td")


HOSTILE = """
PAGES = [
    "<p>a" + chr(10) * 40_000 + "b</p>",
    "<p>a" + " " * 400_000 + "b</p>",
    "<p>" + ("x" + "&#10;" * 254) * 2_000,
    "<pre>a" + chr(10) * 400_000 + "b</pre>",
    "<ul><li>" * 20_000,
    ("<ul><li>x" * 900 + "</li></ul>" * 900) * 10,
    "<div>" * 100_000 + "a",
    "<a href=/x>y</a> " * 100_000,
    "<p><a href=/x>y</a></p>" * 4_900,
    "<p class='" + "x " * 500_000 + "'>a",
    "<b>x" * 1_500,
    "<p>a" + "<br>" * 20_000,
    "<table><tr>" + "<td colspan=99>a" * 20_000 + "</table>",
    "<table><tr>" + "<td colspan=99 rowspan=99>a" * 10_000 + "<tr><td>b" * 10_000 + "</table>",
    "<table>" + "<tr><td>a<td>b|c" * 15_000 + "</table>",
    "<blockquote>x" * 900 + "</blockquote>" * 900,
    ("<table><tr><td>x<td>y" * 90 + "</table>" * 90) * 30,
    ("<div class=menu>x" * 900 + "</div>" * 900) * 10,
    "<div><p>some text, which is long</p>" * 900 + "text " * 200_000,
    "<pre>" + "`" * 100_000 + "</pre><code>" + "` " * 100_000,
    "<img srcset='" + "," * 400_000 + "'>a",
    "<p>" + "&amp;lt;[_*" * 30_000,
    "<p>" + "<em>a</em><b>b</b>" * 15_000,
]
from scrapy_simdedup import page_markdown
for page in PAGES:
    assert len(page_markdown(page, url="https://site.example/")) <= 4 * len(page) + 1_000
print(len(PAGES), "pages")
"""


@pytest.mark.slow
def test_hostile_pages_end() -> None:
    """Each of these makes a part of the usual chain take minutes; here all take seconds."""
    done = subprocess.run([sys.executable, "-c", HOSTILE], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.endswith(" pages\n"), done.stderr


def calls(html: str) -> int:
    """How many functions are called for a page: a measure of work that no other process disturbs."""
    count = 0

    def count_call(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    page_markdown("<p>a</p>", url=URL)  # what is loaded once does not count
    sys.setprofile(count_call)
    try:
        page_markdown(html, url=URL)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "part",
    [
        *("<p>some words, and more words</p>", "<p><a href=/x>y</a> z</p>", "<ul><li>a<ul><li>b</ul></ul>", "<hr>"),
        *("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "<pre>a</pre>", "<code>a</code>", "<div class=menu>a</div>"),
        *("<blockquote>a</blockquote>", "<p hidden>a</p>", "<h2>a</h2>", "<img data-src=a>", "<input type=checkbox>"),
    ],
)
def test_four_times_the_page_is_four_times_the_work(part: str) -> None:
    """Each kind of content costs the same however much there is."""
    assert calls(f"<main><p>a</p>{part * 400}</main>") < 5 * calls(f"<main><p>a</p>{part * 100}</main>")
