"""Content is told from the frame around it, and never lost to a name."""

from __future__ import annotations

import pytest

from helpers.pages import prose
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Page, read_page
from scrapy_simdedup.page.roles import ASIDE, COMMENT, FOOTER, NAV, WIDGET, RoleWords

BOILERPLATE, UNMARKED, CONTENT = BlockClass
ARTICLE = prose("article", 200)
LONG = prose("somewhere else", 600)
LINKS = "<ul>" + "".join(f"<li><a href=/{n}>Section {n}</a></li>" for n in range(8)) + "</ul>"


def kind_of(text: str, html: str) -> BlockClass:
    """The kind of the block that begins with the text."""
    return next(block.block_class for block in read_page(html).blocks if block.text.startswith(text))


@pytest.mark.parametrize(
    "frame",
    [
        "<nav>Target</nav>",
        "<footer>Target</footer>",
        "<aside>Target</aside>",
        "<header>Target</header>",
        "<form>Target</form>",
        "<dialog>Target</dialog>",
        '<div role="navigation">Target</div>',
        '<div role="contentinfo"><p>Target</p></div>',
        '<div class="cookie-banner"><p>Target</p></div>',
        '<div class="related-posts"><h3>Target</h3></div>',
        '<div id="comments"><div><p>Target</p></div></div>',
        '<p class="post-meta">Target</p>',
        '<ul class="share"><li>Target</ul>',
    ],
)
def test_what_a_tag_an_aria_role_or_a_name_says_is_frame(frame: str) -> None:
    """Paragraphs and headings inside of a frame are frame too."""
    assert kind_of("Target", ARTICLE + frame) is BOILERPLATE


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("<p>Target</p>", CONTENT),
        ("<h2>Target</h2>", CONTENT),
        ('<div role="heading">Target</div>', CONTENT),
        ("<main><div>Target</div></main>", CONTENT),
        ("<article><ul><li>Target</ul></article>", CONTENT),
        ("<div>Target</div>", UNMARKED),
        ("<td>Target", UNMARKED),
        ('<div class="price-box">Target</div>', UNMARKED),
    ],
)
def test_content_is_firm_in_paragraphs_headings_and_the_main_part_and_loose_elsewhere(
    content: str, kind: BlockClass
) -> None:
    """Without a role, text counts, but less than what is marked as content."""
    assert kind_of("Target", ARTICLE + content) is kind


def test_main_takes_nothing_over_from_what_encloses_it() -> None:
    """A theme may put anything on the wrapper of <main>."""
    assert kind_of("Target", f'{LONG}<div class="sidebar popup ads"><main><p>Target</p></main></div>') is CONTENT


def test_the_header_of_an_article_is_content_and_that_of_the_page_is_not() -> None:
    """It holds the title of the article."""
    page = f"<header>Site</header><article><header>Target</header>{ARTICLE}</article>"
    assert (kind_of("Target", page), kind_of("Site", page)) == (CONTENT, BOILERPLATE)


@pytest.mark.parametrize("name", ["menu", "footer", "popup", "sidebar", "comments", "ads"])
def test_what_holds_nearly_all_text_is_no_frame(name: str) -> None:
    """Whatever the wrapper of the page is called, the page is inside."""
    assert kind_of("Target", f'<div class="{name}"><p>Target</p>{ARTICLE}</div><nav>{LINKS}</nav>') is CONTENT


@pytest.mark.parametrize("name", ["share", "widget", "meta", "comment", "related", "promo", "masthead"])
def test_a_weak_role_is_not_believed_of_what_holds_most_of_the_text(name: str) -> None:
    """Half is enough for names that themes give away freely, and a form may enclose the page."""
    page = f"<p>Target</p>{ARTICLE}"
    rest = f"<div class='sidebar'>{prose('rest', 120)}</div>"
    assert kind_of("Target", f'<div class="{name}">{page}</div>{rest}') is CONTENT
    assert kind_of("Target", f"<form>{page}</form>{rest}") is CONTENT
    assert kind_of("Target", f"<div class=sidebar>{prose('rest', 90)}<p>Target</p></div>{ARTICLE}") is BOILERPLATE


@pytest.mark.parametrize("name", ["share", "widget", "meta", "comment", "related", "promo"])
@pytest.mark.parametrize(
    "wrapped",
    [
        '<article class="{}"><p>Target</p>{}</article>',
        '<main class="{}"><p>Target</p>{}</main>',
        '<div class="{}"><article><p>Target</p>{}</article></div>',
        '<div class="{}"><div><main><p>Target</p>{}</main></div></div>',
        '<article><div class="{}"><p>Target</p>{}</div></article>',
        '<main><h2>About</h2><div class="{}"><p>Target</p>{}</div></main>',
    ],
)
def test_a_weak_name_on_above_or_inside_an_article_does_not_take_its_paragraphs_away(name: str, wrapped: str) -> None:
    """Even where frames hold more text than the article does."""
    assert kind_of("Target", f"<footer>{LONG}</footer>" + wrapped.format(name, ARTICLE)) is CONTENT


@pytest.mark.parametrize("name", ["share", "widget", "meta", "comment", "related", "promo"])
def test_a_weak_name_on_what_holds_the_headline_is_not_believed(name: str) -> None:
    """Where the h1 is, there is the content."""
    page = f'<footer>{LONG}</footer><p>Welcome.</p><div class="{name}"><h1>Head</h1><p>Target</p>{ARTICLE}</div>'
    assert kind_of("Target", page) is CONTENT


def test_the_h1_of_a_masthead_is_frame() -> None:
    """There it is the name of the site."""
    assert kind_of("Site", f'<div class="masthead"><h1>Site</h1></div>{ARTICLE}') is BOILERPLATE


def test_comments_in_articles_of_their_own_are_frame() -> None:
    """Themes mark each comment as an article; the post is the larger one."""
    comments = '<div class="comments"><article><p>Target</p></article><article><p>I agree.</p></article></div>'
    assert kind_of("Target", f"<article>{ARTICLE}</article>{comments}") is BOILERPLATE


@pytest.mark.parametrize(
    ("html", "roles"),
    [
        (f"<article>{ARTICLE}<footer><div class=comments><p>Target</p></div></footer></article>", COMMENT),
        (f"<article>{ARTICLE}</article><footer><div class=comments><p>Target</p></div></footer>", COMMENT | FOOTER),
        (f"<article>{ARTICLE}<div class=comment><footer><p>Target</p></footer></div></article>", COMMENT | FOOTER),
        (f"<article>{ARTICLE}</article><div id=comments role=complementary><p>Target</p></div>", COMMENT),
        (f"<article>{ARTICLE}</article><aside><div class=comments><p>Target</p></div></aside>", COMMENT | ASIDE),
        (f"<article>{ARTICLE}</article><aside class='widget comments'><p>Target</p></aside>", COMMENT | WIDGET),
    ],
)
def test_comments_in_the_footer_of_an_article_or_aside_are_comments(html: str, roles: int) -> None:
    """The footer and the sidebar of a page show those of its site, and that of a comment its author and date."""
    block = next(block for block in read_page(html).blocks if block.text == "Target")
    assert block.boilerplate_roles == roles


def test_comments_that_outweigh_the_content_are_the_content() -> None:
    """That is a forum."""
    posts = "".join(f'<div class="comment">{prose(n, 40)}</div>' for n in range(6))
    assert kind_of("Target", f'<p>A question.</p><div class="comment">Target</div>{posts}') is UNMARKED


@pytest.mark.parametrize("reply", ["", "<p>Reply to Ann</p>"])
def test_comments_as_long_as_the_article_are_frame_whatever_a_line_more_says(reply: str) -> None:
    article = f"<article><h1>Tides</h1>{prose('article', 100)}<ul><li>Written by Ann about the sea</ul></article>"
    comments = f'<div class="comments"><p>Target</p>{prose("article", 100)}{reply}</div>'
    assert kind_of("Target", f"<main>{article}{comments}</main>") is BOILERPLATE


def test_widgets_that_outweigh_the_content_are_the_content() -> None:
    """Page builders call everything a widget."""
    widgets = "".join(f'<div class="widget">{prose(n, 40)}</div>' for n in range(6))
    assert kind_of("Target", f'<p>Welcome.</p><div class="widget"><p>Target</p></div>{widgets}') is CONTENT


def test_a_page_of_nothing_but_weak_frames_keeps_them_as_content() -> None:
    """Something on the page must be what it is about; navigation is not."""
    parts = "".join(f'<div class="{name}">{prose(name, 40)}</div>' for name in ("related", "share", "promo", "meta"))
    page = f"<nav>{LINKS}</nav><div class=related><p>Target</p></div>{parts}"
    assert (kind_of("Target", page), kind_of("Section", page)) == (CONTENT, BOILERPLATE)


def test_a_block_remembers_why_it_is_frame() -> None:
    """So that a verdict can be explained."""
    blocks = read_page(f"<nav>Menu</nav>{ARTICLE}").blocks
    assert [block.boilerplate_roles for block in blocks[:2]] == [NAV, 0]


def test_the_words_of_a_site_can_be_passed_in() -> None:
    """They are data."""
    html = f'<div class="zzz">Target</div>{ARTICLE}'
    assert read_page(html, words=RoleWords({NAV: ["zzz"]})).blocks[0].block_class is BOILERPLATE


@pytest.mark.parametrize(
    ("html", "title", "h1"),
    [
        ("<title> The title </title><h1>The <i>headline</i></h1>", "The title", "The headline"),
        ("<title>T</title><header><h1>Site</h1></header><article><h1>Post</h1></article>", "T", "Post"),
        ("<svg><title>Icon</title></svg><p>text</p>", "", ""),
        ("<div>x</div><title>Misplaced</title><h2>No headline</h2>", "Misplaced", ""),
    ],
)
def test_a_page_knows_its_title_and_the_headline_of_its_content(html: str, title: str, h1: str) -> None:
    """The headline of a frame is the site's, and icons have titles too."""
    page = read_page(html + ARTICLE)
    assert (page.title, page.h1) == (title, h1)


@pytest.mark.parametrize(
    ("title", "first", "second", "h1"),
    [
        ("Wicks | Lanterns", "<a href=/>Lanterns</a>", "Wicks", "Wicks"),
        ("Lanterns | Wicks", "<a href=/>Lanterns</a>", "Wicks", "Lanterns"),
        ("Wicks | Lanterns", "<a href=/wicks>Wicks</a>", "Lanterns", "Wicks"),
        ("Wicks | Lanterns", "<a href=/wicks>All wicks</a>", "Reviews", "All wicks"),
        ("Wicks | Lanterns", "Lanterns", "Wicks", "Wicks"),
        ("Offers | Lanterns", "Lanterns", "Wicks", "Lanterns"),
    ],
)
def test_an_h1_that_names_the_site_is_not_that_of_the_page(title: str, first: str, second: str, h1: str) -> None:
    """Where the title begins with another h1. Some print views have the site's name alone, others have it as an h1."""
    html = f"<title>{title}</title><div><h1>{first}</h1></div><div class=nav>Home</div><h1>{second}</h1>{ARTICLE}"
    assert read_page(html).h1 == h1


@pytest.mark.parametrize(
    "html", ["", "<!DOCTYPE html>", "<!-- -->", "<script>x()</script>", "<frameset><frame src=a></frameset>"]
)
def test_a_page_without_text_is_empty(html: str) -> None:
    """There is nothing to compare."""
    assert read_page(html) == Page((), "", "", "empty")


def test_with_readability_the_main_content_is_firm_and_the_rest_is_not() -> None:
    """What roles called content stays loose, what they called frame stays frame."""
    html = f"<nav>Menu</nav><div><p>Teaser</p></div><div><h1>Head</h1><p>Target <a href=/a/b>link</a></p>{LONG}</div>"
    blocks = read_page(html, extractor="readability").blocks
    kinds = {block.text: max(b.block_class for b in blocks if b.text == block.text) for block in blocks}
    assert kinds["Menu"] is BOILERPLATE
    assert kinds["Target link"] >= UNMARKED
    assert any(block.block_class is CONTENT and "Target" in block.text for block in blocks)
    assert not any("/a/b" in block.text for block in blocks)


@pytest.mark.parametrize("name", ["layout--sidebar-right", "has-sidebar", "body_withSidebar__x1"])
def test_what_wraps_the_article_and_its_sidebar_is_no_sidebar(name: str) -> None:
    """Themes name a layout after the sidebar that is in it, or that is not."""
    html = f'<div class="{name}"><h1>Headline</h1>{ARTICLE}</div><div class="sidebar"><p>Target</p></div>{LINKS}'
    assert kind_of("Headline", html) is CONTENT
    assert {block.block_class for block in read_page(html).blocks if len(block.text) > 100} == {CONTENT}
    assert kind_of("Target", html) is BOILERPLATE


def test_a_sidebar_that_is_most_of_a_short_page_is_one() -> None:
    beside = f"<aside class=sidebar>{prose('beside', 200)}</aside>"
    page = read_page(f"<main><h1>Tides</h1>{prose('a short note', 80)}</main>{beside}")
    assert [block.block_class for block in page.blocks] == [*3 * [CONTENT], *5 * [BOILERPLATE]]
