"""Names that mean another thing on a page than on most: dishes of a menu, the ads that a site is about, posts."""

from __future__ import annotations

import pytest

from helpers.pages import prose, words
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import read_page
from scrapy_simdedup.page.roles import role_words

BOILERPLATE, UNMARKED, CONTENT = BlockClass
ARTICLE = f"<div><h1>Tides</h1>{prose('article', 200)}</div>"
SITE = '<ul class="menu"><li><a href="/">Home</a></li></ul>'


def class_of(html: str, text: str = "Target") -> BlockClass:
    """The class of the block that begins with the text."""
    return next(block.block_class for block in read_page(html).blocks if block.text.startswith(text))


def dishes(*, name: str = "menu-item", link: bool = False) -> str:
    text = '<a href="/dish">{}</a>' if link else "{}"
    return "".join(
        f'<div class="{name}"><h3>{text.format(dish)}</h3><span class="{name}__price">{price},50</span></div>'
        for price, dish in enumerate(["Target soup of the harbour", *words("dish", 20)], 5)
    )


def test_the_dishes_of_a_restaurant_are_no_navigation() -> None:
    page = f'{SITE}{ARTICLE}<section class="menu">{dishes()}</section>'
    assert class_of(page) is CONTENT
    assert class_of(page, "5,50") > BOILERPLATE
    assert class_of(page, "Home") is BOILERPLATE


def test_dishes_that_are_links_are_navigation() -> None:
    assert class_of(f"{ARTICLE}<section class='menu'>{dishes(link=True)}</section>") is BOILERPLATE


def test_labels_of_a_menu_that_a_script_opens_are_navigation() -> None:
    labels = "".join(f"<li>{word} and more of it</li>" for word in ("Target", *words("label", 40)))
    assert class_of(f'<ul class="menu">{labels}</ul>{ARTICLE}') is BOILERPLATE


def test_a_note_in_the_navigation_is_navigation() -> None:
    assert class_of(f'<div class="menu"><p>Target opens at 9.</p><a href="/">Home</a></div>{ARTICLE}') is BOILERPLATE


def test_what_a_setting_calls_navigation_is_navigation() -> None:
    page = f'{SITE}{ARTICLE}<section class="carte">{dishes(name="dish")}</section>'
    assert class_of(page) is CONTENT
    block = next(
        block
        for block in read_page(page, words=role_words((("navigation", ("carte",)),))).blocks
        if block.text.startswith("Target")
    )
    assert block.block_class is BOILERPLATE


@pytest.mark.parametrize("heading", ["<h1>Old boat</h1>", "<h2>Old boat</h2>"])
def test_what_a_page_of_small_advertisements_offers_is_its_content(heading: str) -> None:
    offer = f'<div class="ad">{heading}<div class="ad-price">90 EUR</div><div class="ad-text">Target leaks.</div></div>'
    page = f"<title>Old boat, small ads</title>{SITE}{offer}<div>{prose('how to stay safe', 200)}</div>"
    assert class_of(page) > BOILERPLATE
    assert class_of(page, "90 EUR") > BOILERPLATE


@pytest.mark.parametrize("heading", ["", "<h2>Sale</h2>"])
def test_an_advertisement_beside_the_headline_is_one(heading: str) -> None:
    assert class_of(f'<title>Tides</title>{ARTICLE}<div class="ad">{heading}<p>Target of all.</p></div>') is BOILERPLATE


def test_more_advertisement_than_content_is_content() -> None:
    offer = f'<div class="ad-text"><p>Target offer.</p>{prose("offer", 100)}</div>'
    assert class_of(f"{SITE}<div><p>{' '.join(words('tip', 60))}</p></div>{offer}") is CONTENT


def test_the_posts_beside_a_long_one_are_content() -> None:
    """Themes call each post of a thread a comment, and one may be most of the page."""
    post = '<div class="comment"><div class="comment-text">{}</div></div>'
    about = f"<div>{prose('about', 40)}</div>"
    page = SITE + about + post.format(prose("post", 300)) + post.format("<p>Target, I agree.</p>")
    assert class_of(page) is CONTENT


def test_the_comments_under_a_long_post_are_boilerplate() -> None:
    post = f'{SITE}<div class="post">{prose("post", 300)}</div><div class="comment"><p>Target, I agree.</p></div>'
    assert class_of(post) is BOILERPLATE


def test_what_a_view_of_drupal_lists_below_a_text_is_no_counter() -> None:
    rows = "".join(
        f'<div class="views-row"><div class="views-field">{text}</div></div>' for text in ("Target: Aston", "Bexley")
    )
    view = f'<div class="block-views"><div class="view view-places">{rows}</div></div>'
    assert class_of(f"<main>{ARTICLE}{view}</main>") > BOILERPLATE


def test_the_day_of_an_event_is_content() -> None:
    page = (
        '<main><h1>Pottery</h1><div class="{}"><div>Date</div><div>Target day, 9 May</div></div>'
        + prose("course", 80)
        + "</main>"
    )
    assert class_of(page.format("field--name-field-date")) is class_of(page.format("event-meta")) is CONTENT
    assert class_of(page.format("post-date")) is BOILERPLATE


def test_a_page_whose_parts_are_all_called_widgets_has_a_content() -> None:
    """A builder of sites writes it on each part of a page, and gives the header the role of the main part."""
    header = '<div class="widget"><div role="main"><nav><a href="/">Home</a></nav><h1>Acme</h1></div></div>'
    parts = "".join(f'<div class="widget"><h2>Part</h2>{prose(f"part {n}", 40)}</div>' for n in range(3))
    target = '<div class="widget"><p>Target of all</p></div>'
    assert class_of(header + parts + target) is CONTENT
    empty = '<div id="app"><main role="main"><h1>Acme</h1></main></div>'  # the content of which did not come
    assert class_of(empty + parts + target) is BOILERPLATE
