"""The offer of a page: what its data, its buttons and its choices say of prices and stock."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.changing_site import product
from helpers.on_asyncio import on_asyncio
from helpers.pages import prose
from scrapy_simdedup import NearDuplicateDetector, fingerprint_page
from scrapy_simdedup.page.page import read_page

JSON_LD = '<script type="application/ld+json">{}</script>'
STOCK = (
    '{"@type": "Product", "offers": {"@type": "Offer", "price": "29.00", "availability": "https://schema.org/InStock"}}'
)
OFFERS = {
    "the button of a cart": ("<form><button type=submit> Sold  out</button></form>", "Sold out"),
    "a button with a price": ("<form><button>Buy for 29 EUR</button></form>", "Buy for 29 EUR"),
    "a button with a counter": ("<form><button>Like (12)</button></form>", "Like (#)"),
    "an input that is a button": ("<form><input type=submit disabled value='Sold out'></form>", "Sold out (disabled)"),
    "what is written into a form": ("<form><input type=text value=chairs><input name=token value=a81f></form>", ""),
    "tags in capitals": ("<FORM><INPUT NAME=c TYPE=SUBMIT VALUE='Add to cart'></FORM>", "add to cart"),
    "a button that is disabled": ("<form><button name=a disabled>Buy</button></form>", "Buy (disabled)"),
    "a button outside of forms": ("<button>Next picture</button>", ""),
    "a form for a newsletter": ("<form><input type=email><button>Subscribe</button></form>", ""),
    "a form for members": ("<form><input name=user-mail><input type='password'><button>Log in</button></form>", ""),
    "a form around a whole page": (
        f"<form method=post><button>Buy</button>{prose('chair', 900)}<input type=email><button>Join</button></form>",
        "Buy\nJoin",
    ),
    "choices": (
        "<form method='POST'><select><option value=1 selected>S<option value=2 disabled>M &amp; L</select></form>",
        "M & L (disabled)\nS",
    ),
    "choices with prices": (
        "<form id=f method=post><option>S, 9 left</option><option>M (29 EUR)</option></form>",
        "M (29 EUR)\nS, # left",
    ),
    "choices of a form that filters": ("<form><option>Red (12)</option></form>", ""),
    "JSON-LD": (JSON_LD.format(STOCK), "availability InStock\nprice 29.00"),
    "JSON-LD that is cut": (JSON_LD.format(STOCK[:-3]), "availability InStock\nprice 29.00"),
    "JSON-LD without an offer": (JSON_LD.format('{"@type": "Article", "headline": "Tides"}'), ""),
    "data of a script": (f"<script>state = {STOCK}</script>", ""),
    "microdata": ('<link itemprop="availability" href="http://schema.org/SoldOut">', "availability SoldOut"),
    "microdata without quotation marks": (
        "<meta itemprop=price content=29><link itemprop=availability href=//schema.org/SoldOut>",
        "availability SoldOut\nprice 29",
    ),
    "microdata of the thing and of others": (
        '<ul><li itemscope><meta itemprop="price" content="99"></ul>'
        "<div itemscope><h1>Chair</h1><i itemprop=offers itemscope>"
        '<meta itemprop="price" content="29"><link itemprop="availability" href="http://schema.org/SoldOut"></i>'
        '<i itemprop=isRelatedTo itemscope><link itemprop="availability" href="http://schema.org/InStock"></i></div>',
        "availability SoldOut\nprice 29",
    ),
    "Open Graph": (
        '<meta property="product:price:amount" content="29"><meta property="og:availability" content=instock>',
        "availability instock\nprice 29",
    ),
}


@pytest.mark.parametrize("place", OFFERS)
def test_an_offer_is_found_in_data_and_in_forms(place: str) -> None:
    html, offer = OFFERS[place]
    headline = "" if "<h1>" in html else "<h1>Chair</h1>"
    assert read_page(f"<main>{headline}<p>It is blue.</p>{html}</main>").offer == offer


CART = "<form method=post action=/cart><button {}>{}</button></form>"


@pytest.mark.parametrize("heading", ["<h2>Products you recently viewed</h2>", ""])
@pytest.mark.parametrize("sold", ["Buy", "Sold out", None])
def test_the_carts_of_related_articles_are_no_offer_of_the_page(heading: str, sold: str | None) -> None:
    """Which of them have one is another matter at each visit. Those of a list without a name may be the page's."""
    cards = [
        f"<li><h3><a href=/{name}>The {name} of wood</a></h3><p>9 EUR</p>{{}}</li>" for name in ("oak", "ash", "elm")
    ]
    cart = CART.format("", sold) if sold else ""

    def offer_beside(*carts: str) -> str:
        others = "".join(card.format(of) for card, of in zip(cards, carts, strict=True))
        related = f"<section>{heading}<ul>{others}</ul></section>"
        return read_page(f"<main><h1>Chair</h1>{prose('chair', 60)}{cart}</main>{related}").offer

    bought, gone = CART.format("class=small", "Buy"), CART.format("disabled", "Buy")
    found = {offer_beside(*carts) for carts in ((bought, "", bought), (bought,) * 3, ("", "", ""))}
    assert (found == {sold or ""}) is bool(heading)
    # Of two kinds nobody knows which is the page's.
    assert offer_beside(bought, gone, "").count("Buy") == 2 + (sold == "Buy")


@pytest.mark.parametrize("buy", ["{}", "<div>{}</div>", "<div><p>9 EUR</p>{}</div>"])
def test_the_cart_of_the_page_is_none_of_a_related_article(buy: str) -> None:
    """Though all links beside it lead to such, and one has its price. Of very many forms nobody looks for others."""
    card = "<li><h3><a href=/ash>The ash of wood</a></h3><p>9 EUR</p>{}</li>"
    related = f"<section><h2>Products you recently viewed</h2><ul>{card * 3}</ul></section>"
    cart = buy.format(CART.format("", "Buy"))
    page = f"<main><h1>Chair</h1>{prose('chair', 60)}{cart}{related.format('', '', '')}</main>"
    assert read_page(page).offer == "Buy"
    page = f"<main><h1>Chair</h1>{prose('chair', 60)}{cart}</main>{related.format('', CART.format('', 'Buy'), '')}"
    assert read_page(page).offer == "Buy"
    assert read_page(page + CART.format("", "Find") * 19).offer.count("Buy") == 2


CHANGES = {
    "sold out": ('"https://schema.org/InStock"', '"https://schema.org/OutOfStock"', True),
    "another price": ('"29.00"', '"31.00"', True),
    "another scheme": ('"https://schema.org/InStock"', '"http://schema.org/InStock"', False),
}


@pytest.mark.parametrize(("ignore", "differs"), [((), True), (("numbers",), False)])
def test_numbers_that_are_ignored_are_ignored_in_titles_and_offers_too(
    ignore: tuple[str, ...], *, differs: bool
) -> None:
    made = (
        fingerprint_page(
            f"<title>{n} chairs</title><p>It is blue.</p><form><button>{n} EUR</button></form>", ignore=ignore
        )
        for n in (29, 31)
    )
    one, other = ((fp.page_units.title, fp.page_units.offer) for fp in made if fp.page_units is not None)
    assert (one != other) is differs


@pytest.mark.parametrize("change", CHANGES)
@on_asyncio
async def test_a_product_that_its_text_does_not_tell_to_be_sold_out_has_changed(change: str, tmp_path: Path) -> None:
    """Only the data for search engines says so."""
    store, (before, after, is_edit) = f"sqlite:///{(tmp_path / 'shop.sqlite').as_posix()}", CHANGES[change]
    for run, value in enumerate((before, after)):
        detector = NearDuplicateDetector(store, run=str(run), unchanged="drop")
        await detector.open()
        page = product(1, 0, price=29, text="text") + JSON_LD.format(STOCK.replace(before, value))
        verdict = await detector.add(page, url="https://shop.example/1")
        await detector.close()
    assert verdict.kind == ("changed" if is_edit else "unchanged")
    assert verdict.unit_changes == ({"edited": 1} if is_edit else {})
