"""Cleaning takes off what is not the page's own, and never takes off the page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.pages import prose, words
from scrapy_simdedup.page.clean import clean_page
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import role_words

ARTICLE = f"<article><h1>Headline</h1>{prose('article', 200)}</article>"
URL = "https://site.example/shop/item?id=1"


def cleaned(html: str, url: str = "") -> str:
    """The page's HTML after cleaning."""
    root = parse(html).root
    assert root is not None
    from lxml.html import tostring

    return str(tostring(clean_page(root, url), encoding="unicode"))


def text_of(html: str) -> str:
    root = parse(html).root
    assert root is not None
    return " ".join(clean_page(root).text_content().split())


def test_words_of_a_site_s_own_say_what_is_boilerplate() -> None:
    root = parse(f'<body>{ARTICLE}<div class="kolophon"><p>Target</p></div></body>').root
    assert root is not None
    assert "Target" not in clean_page(root, words=role_words((("footer", ("kolophon",)),))).text_content()
    assert "Target" in text_of(f'<body>{ARTICLE}<div class="kolophon"><p>Target</p></div></body>')


@pytest.mark.parametrize(
    "boilerplate",
    [
        "<nav>Target</nav>",
        "<header>Target</header>",
        "<footer><p>Target</p></footer>",
        "<aside>Target</aside>",
        "<form>Target <input name=q></form>",
        "<dialog open>Target</dialog>",
        "<div role=navigation>Target</div>",
        '<div class="ad-slot">Target</div>',
        '<div id="cookieBanner"><p>Target</p></div>',
        '<section class="related-posts"><h3>Target</h3></section>',
        '<div class="share-buttons">Target</div>',
        '<div id="comments"><p>Target</p></div>',
        "<script>Target</script>",
        "<style>Target</style>",
        "<noscript>Target</noscript>",
        "<template><p>Target</p></template>",
        "<svg><title>Target</title></svg>",
        "<button>Target</button>",
        "<select><option>Target</select>",
        "<p hidden>Target</p>",
        '<div style="color: red; display: none">Target</div>',
        '<p style="visibility:hidden !important">Target</p>',
        "<ul>" + "<li><a href=/>Target</a></li>" * 5 + "</ul>",
    ],
)
def test_boilerplate_is_taken_off(boilerplate: str) -> None:
    """Frames by their tag, ARIA role or name, what no reader sees, and lists that are nothing but links."""
    assert "Target" in parse_text(ARTICLE + boilerplate)
    assert "Target" not in text_of(ARTICLE + boilerplate)


def parse_text(html: str) -> str:
    root = parse(html).root
    assert root is not None
    return root.text_content()


@pytest.mark.parametrize(
    "content",
    [
        "<p>Target</p>",
        "<div>Target</div>",
        '<div class="x3ad9f">Target</div>',
        '<div class="padding-bottom--lg shadow">Target</div>',
        '<p class="byline">Target</p>',
        "<article><header><h1>Target</h1></header></article>",
        '<div hidden="until-found">Target</div>',
        '<p style="display: inline">Target</p>',
        f"<ul><li><a href=/>Target</a> {prose('item', 20)}<li><a href=/>b</a><li><a href=/>c</a></ul>",
        "<main><ul><li><a href=/>Target</a><li><a href=/>b</a><li><a href=/>c</a></ul></main>",
        "<ul><li><a href=/>Target</a></ul>",
        "<custom-card><template shadowrootmode=open><p>Target</p></template></custom-card>",
    ],
)
def test_content_stays(content: str) -> None:
    """A hashed name says nothing, an author is worth reading, lists of links in the main part belong to it."""
    assert "Target" in text_of(ARTICLE + content)


@pytest.mark.parametrize(
    "wrapped",
    [
        "<div class=menu>{}</div>",
        "<form>{}</form>",
        "<nav>{}</nav>",
        "<body class=cookie-consent style='visibility: hidden'>{}",
        "<div style='display:none'>{}</div><p>Loading ...</p>",
        "<div hidden>{}</div>",
        "<footer><div class=ads>{}</div></footer>",
    ],
)
def test_what_wraps_the_page_is_not_taken_off(wrapped: str) -> None:
    """However it is named or hidden: themes and scripts that show the page later write such things."""
    assert words("article", 200)[50] in text_of(wrapped.format(ARTICLE))


def test_a_page_of_links_keeps_them() -> None:
    """The links of an index are its content."""
    index = "".join(f"<li><a href=/{word}>{word}</a>\n" for word in words("index", 60))
    assert text_of(f"<h1>Index</h1><p>All there is.</p><ul>{index}</ul>").endswith(" ".join(words("index", 60)))


frames = st.sampled_from(["nav", "footer", "aside", "div class=menu", "p hidden", "p style='display:none'", "div", "p"])
trees = st.recursive(
    st.sampled_from(["word", "<a href=/>link</a>", "<img alt=x src=y>"]),
    lambda inner: st.builds(lambda tag, parts: f"<{tag}>{' '.join(parts)}</{tag.split()[0]}>", frames, st.lists(inner)),
    max_leaves=12,
)


@given(trees)
def test_a_page_that_has_text_keeps_some(html: str) -> None:
    """Whatever its parts are called, and however they are nested."""
    root = parse(html + " ").root
    if root is not None and root.text_content().strip():
        assert clean_page(root).text_content().strip()


@pytest.mark.parametrize(
    ("html", "address"),
    [
        ("<img src=a.png>", "https://site.example/shop/a.png"),
        ("<img src=data:image/gif;base64,R0 data-src=/b.png>", "https://site.example/b.png"),
        ("<img src=blank.gif data-lazy-src=b.png>", "https://site.example/shop/b.png"),
        ("<img data-original=//cdn.example/b.png>", "https://cdn.example/b.png"),
        ('<img srcset="s.png 480w, l.png 1080w, m.png 640w">', "https://site.example/shop/l.png"),
        ('<img data-srcset="one.png, two.png 2x">', "https://site.example/shop/two.png"),
        ('<img srcset="one.png 1..5x, two.png 3x,">', "https://site.example/shop/two.png"),
        ("<picture><source srcset='big.webp 2x'><img></picture>", "https://site.example/shop/big.webp"),
        ("<a href=next?page=2>", "https://site.example/shop/next?page=2"),
        ("<a href='\n /a\nb '>", "https://site.example/ab"),
        ("<a href=#part>", '"#part"'),
        ("<base href=/other/><a href=x>", "https://site.example/other/x"),
        ("<base href=//cdn.example><img src=x>", "https://cdn.example/x"),
    ],
)
def test_addresses_are_absolute_and_those_that_a_script_would_load(html: str, address: str) -> None:
    """Lazy images give theirs in other attributes; a <base> goes before the page's own address."""
    assert address in cleaned(f"{html}Text</a>{ARTICLE}", URL)


@pytest.mark.parametrize("address", ["javascript:go()", "JavaScript:go()", "http://[", "data:text/html,x"])
def test_a_link_that_leads_nowhere_is_only_its_text(address: str) -> None:
    """It cannot be followed outside of the page."""
    html = cleaned(f"<p><a href='{address}'>Text</a></p>{ARTICLE}", URL)
    assert "Text" in html
    assert "href" not in html


def test_a_base_of_any_length_does_not_multiply() -> None:
    """Each of a page's links would carry it."""
    html = cleaned(f"<base href='https://site.example/{'x' * 5_000}/'><a href=y>Link</a>{ARTICLE}", URL)
    assert 'href="y"' in html


def test_control_characters_do_not_stop_it() -> None:
    """The parser lets them through, and lxml refuses to move a text that has any."""
    assert text_of(f"<nav>Menu</nav>a\x01b &#2; c\x0c \uffff<p hidden>d</p> e {ARTICLE}").startswith("a b c e Headline")


@pytest.mark.parametrize("box", ["<input type=checkbox checked> Done", "<label><input type=CHECKBOX>Open</label>"])
def test_the_boxes_of_a_task_list_become_text(box: str) -> None:
    """Forms and their fields say nothing to a reader, but whether a task is done does."""
    assert ("[x] Done" in text_of(f"<ul><li>{box}</ul>{ARTICLE}")) == ("checked" in box)
    assert ("[ ] Open" in text_of(f"<ul><li>{box}</ul>{ARTICLE}")) == ("checked" not in box)
