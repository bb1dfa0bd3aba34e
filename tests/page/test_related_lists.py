"""Lists of other pages under a heading that says so: "Recently viewed", "Similar products"."""

from __future__ import annotations

import pytest

from helpers.pages import prose, words
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import read_page

SITE = '<div class="nav"><a href="/">Home</a></div>'
PRODUCT = f"<h1>Kettle</h1><p>29 EUR</p>{prose('kettle', 60)}"


def cards(count: int = 4, *, tag: str = "li", text: str = "") -> str:
    names = [" ".join(words(("card", number), 3)) for number in range(count)]
    return "".join(f"<{tag}><h3><a href='/{n}'>{n}</a></h3><p>17,50</p><p>In stock</p>{text}</{tag}>" for n in names)


def classes(html: str) -> set[BlockClass]:
    """The classes of the prices of the cards."""
    return {block.block_class for block in read_page(html).blocks if block.text == "17,50"}


@pytest.mark.parametrize(
    "heading",
    [
        "Products you recently viewed",
        "You may also like",
        "Similar products",
        "Related:",
        "16 other products in the same category:",
        "16 autres produits dans la même catégorie :",
        "16 andere Artikel in der gleichen Kategorie:",
        "You might also be interested in",
        "Customers also bought",
        "Zuletzt angesehene Artikel",
        "Das könnte Sie auch interessieren",
        "Produits similaires",
        "Artículos relacionados",
        "Похожие товары",
        "Most read",
        "Popular posts",
        "Meistgelesene Artikel",
        "Lo más leído",
        "Les plus lus",
        "Mais lidas",
        "Las mas leídas",
        "Самое читаемое",
        "热门文章",
        "相关文章",
        "おすすめ商品",
    ],
)
@pytest.mark.parametrize(
    "below",
    [
        "<h2>{}</h2><ul>" + cards() + "</ul>",
        "<div class=sub><h2>{}</h2></div><div><div><ul>" + cards() + "</ul></div></div>",
        "<section><h3>{}</h3>" + cards(tag="div") + "</section>",
        "<section><h3>{}</h3>" + cards(1, tag="div") + "</section>",
        "<h3>{}</h3>" + "<div><a href=/p><h4>Teapot</h4><p>17,50</p><p>In stock</p></a></div>" * 3,
        "<h3>{}</h3><ul>"
        + "<li><a href=/p>Small red teapot</a><i>, Smithy, Ashford, new</i><p>17,50</p></li>" * 3
        + "</ul>",
    ],
)
def test_cards_under_such_a_heading_are_boilerplate(heading: str, below: str) -> None:
    page = f"{SITE}<main>{PRODUCT}{below.format(heading)}<h2>Details</h2>{prose('details', 40)}</main>"
    assert classes(page) == {BlockClass.BOILERPLATE}
    text = {block.text: block.block_class for block in read_page(page).blocks}
    assert text[heading] is BlockClass.BOILERPLATE
    assert text["Details"] is text["29 EUR"] is BlockClass.CONTENT


@pytest.mark.parametrize(
    "heading", ["What is in the box", "Related work", "Products", "Likely questions", "Popular physics", "Latest news"]
)
def test_cards_under_another_heading_are_content(heading: str) -> None:
    assert classes(f"{SITE}<main>{PRODUCT}<h2>{heading}</h2><ul>{cards()}</ul></main>") == {BlockClass.CONTENT}


def test_texts_under_such_a_heading_are_content() -> None:
    """A chapter about similar projects has texts, with a link here and there, or none."""
    text = f"<p>{' '.join(words('project', 50))}</p>"
    assert classes(f"{SITE}<main>{PRODUCT}<h2>Similar kettles</h2><ul>{cards(text=text)}</ul></main>") == {
        BlockClass.CONTENT
    }
    plain = cards().replace("<a ", "<b ").replace("</a>", "</b>")
    assert classes(f"{SITE}<main>{PRODUCT}<h2>Similar kettles</h2><ul>{plain}</ul></main>") == {BlockClass.CONTENT}


def test_what_follows_the_list_is_content() -> None:
    reviews = f"<div><h2>Reviews</h2><p>Boils fast.</p><a href='/r'>Write one</a></div>{prose('more', 30)}"
    page = f"{SITE}<main>{PRODUCT}<h2>Recommended</h2><ul>{cards()}</ul>{reviews}</main>"
    text = {block.text: block.block_class for block in read_page(page).blocks}
    assert classes(page) == {BlockClass.BOILERPLATE}
    assert text["Boils fast."] is text["Reviews"] is BlockClass.CONTENT


def test_a_page_of_recommendations_is_about_them() -> None:
    page = f"{SITE}<main><h1>Shop</h1><h2>Recommended for you</h2><ul>{cards(30)}</ul></main>"
    assert classes(page) == {BlockClass.CONTENT}


TEASERS = "".join(f"<div><a href=/{n}><h3>{' '.join(words(n, 4))}</h3><p>17,50</p></a></div>" for n in range(4))


@pytest.mark.parametrize("heading", ["Read more", "Weiterlesen", "From the mill"])
@pytest.mark.parametrize("text", [prose("kettle", 20), "<blockquote>No kettles.</blockquote>"])
def test_links_outside_of_the_main_part_are_boilerplate_whatever_their_heading_says(heading: str, text: str) -> None:
    article = f"<main><article><header><h1>Kettle</h1></header>{text}</article></main>"
    page = f"{SITE}{article}<section><h2>{heading}</h2><div>{TEASERS}</div></section>"
    assert classes(page) == {BlockClass.BOILERPLATE}


@pytest.mark.parametrize(
    "page",
    [
        f"<main><h1>All kettles</h1><p>Here they are.</p></main><section><h2>New</h2>{TEASERS}</section>",
        f"<main><article>{PRODUCT}</article><section><h2>Read more</h2>{TEASERS}</section></main>",
        f"<article>{PRODUCT}</article><section><h2>Read more</h2>{TEASERS}</section>",
        f"<main><article><h1>All kettles</h1></article></main><section><h2>New</h2>{TEASERS}</section>",
        f"<main><article>{PRODUCT}</article></main><section><h2>Prices</h2>{cards()}</section>",
    ],
    ids=["index", "in the main part", "no main part", "no text", "texts beside the links"],
)
def test_links_are_content_where_nothing_says_that_they_lead_away(page: str) -> None:
    assert classes(SITE + page) == {BlockClass.CONTENT}
