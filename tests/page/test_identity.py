"""What a page says of what it is about: an article number, a date."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scrapy_simdedup import fingerprint_page
from scrapy_simdedup.page.page import read_page


def identity(html: str, *places: str) -> str:
    return read_page(f"<body><p>Some text</p>{html}", identity=places).identity


def declared(*values: Any, h1: str = "Kettle K 15") -> str:
    """What a page says by itself of what it is about."""
    return read_page(f"<title>{h1} | Shop</title><body><h1>{h1}</h1><p>Some text</p>{json_ld(*values)}").identity


def json_ld(*values: Any) -> str:
    texts = (value if isinstance(value, str) else json.dumps(value) for value in values)
    return "".join(f'<script type="application/ld+json">{text}</script>' for text in texts)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([{"@type": "Product", "sku": "K-15"}], "K-15"),
        ([{"sku": 17}], "17"),
        ([{"sku": 1.50}], "1.5"),
        ([{"sku": [" K  15 ", "K-16"]}], "K 15"),
        ([{"sku": {"@value": "K-15"}}], "K-15"),
        ([{"@context": "https://schema.org", "@graph": [{"@type": "WebSite"}, {"sku": "K-15"}]}], "K-15"),
        ([[{"name": "Shop"}, {"sku": "K-15"}]], "K-15"),
        ([{"related": [{"sku": "other"}], "sku": "own"}], "own"),
        ([{"name": "Shop"}, {"mainEntity": {"sku": "K-15"}}], "K-15"),
        (["<!-- " + json.dumps({"sku": "K-15"}) + " -->"], "K-15"),
        (["/* <![CDATA[ */" + json.dumps({"sku": "K-15"}) + ";/* ]]> */"], "K-15"),
        (['{"sku": "two\nlines"}'], "two lines"),
        (["{broken", {"sku": "K-15"}], "K-15"),
        ([{"sku": ""}, {"sku": None}, {"sku": []}, {"sku": {}}], ""),
        (['"sku"', "17", "null", "", "[", "}{"], ""),
        ([{"name": "Kettle"}], ""),
    ],
)
def test_a_word_is_a_property_of_json_ld(values: list[Any], expected: str) -> None:
    """That of the outermost object; the products beside it have theirs."""
    assert identity(json_ld(*values), "sku") == expected


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"sku":'])
def test_json_that_is_nested_without_end_says_nothing(opening: str) -> None:
    deep = opening * 100_000
    assert identity(json_ld(deep, {"sku": "K-15"}), "sku") == "K-15"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (".date", "1 May 2027"),
        (".date::text", "1 May"),
        ("time::attr(datetime)", "2027-05-01"),
        ("[itemprop=sku]::attr(content)", "K-15"),
        ("b.none, b.date", "1 May 2027"),
        (".blank, .date", "1 May 2027"),
        (".none", ""),
        ("a:contains('x')::attr(href)", ""),
    ],
)
def test_anything_else_is_a_selector_and_its_first_text_counts(place: str, expected: str) -> None:
    html = (
        "<i class=blank> </i><b class=date>1 May <u>2027</u></b><b class=date>2 May</b>"
        "<time datetime=2027-05-01>Saturday</time><meta itemprop=sku content=K-15>"
    )
    assert identity(html, place) == expected


def test_several_places_count_together() -> None:
    """The same article in another colour is another page; a place that the page does not have says nothing."""
    red, blue = (json_ld({"sku": "K-15"}) + f"<i class=colour>{colour}</i>" for colour in ("red", "blue"))
    assert identity(red, "sku", ".colour") != identity(blue, "sku", ".colour")
    assert identity(red, "sku", ".size") == identity(blue, "sku", ".size") != ""
    assert identity(red, ".size", "gtin13") == ""


def test_what_only_white_space_tells_apart_is_one_identity() -> None:
    html = "<p>" + "words and more words " * 20
    one, other = (fingerprint_page(f"<i class=n>{text}</i>{html}", identity=".n") for text in ("K 15", " K\n15 "))
    assert one.identity == other.identity != 0
    assert fingerprint_page(html, identity=".n").identity == fingerprint_page(html).identity == 0


KETTLE = {"@type": "Product", "name": "Kettle K 15", "sku": "K-15"}
NAMED = "sku K-15"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([KETTLE], NAMED),
        ([KETTLE | {"name": "kettle  K-15"}], NAMED),
        ([KETTLE | {"gtin13": 4006381333931}], NAMED + "\0gtin13 4006381333931"),
        ([{"@graph": [{"@type": "WebSite", "name": "Shop"}, KETTLE]}], NAMED),
        ([KETTLE, KETTLE], NAMED),
        ([KETTLE, {"name": "Teapot", "sku": "T-1"}], NAMED),
        ([{"name": "Kettle K 15", "offers": {"@type": "Offer", "sku": "K-15"}}], NAMED),
        ([{"name": "Kettle K 15", "offers": [{"sku": "K-15-red"}, {"sku": "K-15-blue"}]}], ""),
        ([KETTLE | {"offers": [{"sku": "K-15-red"}]}], NAMED),
        ([KETTLE | {"isRelatedTo": {"name": "Teapot", "sku": "T-1"}}], NAMED),
        ([KETTLE | {"sku": "K-15-red"}, KETTLE | {"sku": "K-15-blue"}], ""),
        ([{"name": "Teapot", "sku": "T-1"}], ""),
        ([{"sku": "K-15"}], ""),
        ([{"name": "", "sku": "K-15"}, {"name": "?!", "sku": "K-16"}], ""),
        ([{"@type": "Article", "name": "Kettle K 15", "datePublished": "2027-05-01"}], ""),
        ([KETTLE | {"name": "Kettle &quot;K 15&quot;"}], NAMED),
        ([{"@type": "JobPosting", "title": "Kettle", "identifier": {"name": "Smithy", "value": 17}}], "identifier 17"),
        ([{"title": "Kettle", "identifier": "https://smithy.example/jobs?session=5"}], ""),
        ([{"@type": "Person", "name": "Kettle", "identifier": "author 5"}], ""),
        ([{"@type": "Event", "name": "Kettle K 15", "startDate": "2027-05-01T19:30"}], "startDate 2027-05-01T19:30"),
        (["{broken", KETTLE], NAMED),
        ([], ""),
    ],
)
def test_a_page_declares_the_number_or_the_date_of_the_thing_that_it_is_named_after(
    values: list[Any], expected: str
) -> None:
    """What stands beside it, such as another article at each visit, has another name."""
    assert declared(*values) == expected


def test_a_page_without_headlines_declares_nothing() -> None:
    assert read_page("<body><p>Some text</p>" + json_ld(KETTLE)).identity == ""


def item(inside: str, prop: str = "") -> str:
    return f"<div itemscope itemtype=https://schema.org/Product {prop}>{inside}</div>"


NAME, SKU = "<h1 itemprop=name>Kettle K 15</h1>", '<meta itemprop="sku" content="K-15">'
BESIDE = item("<h5 itemprop=name>Kettle</h5><b itemprop=sku>K-1</b>")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (item(f"{NAME}{SKU}"), NAMED),
        (item(f"{NAME}<p>Article <b itemprop=sku> K-15\n</b>"), NAMED),
        (item(f"{NAME}{SKU}<i itemprop=gtin13>4006381333931</i>"), NAMED + "\0gtin13 4006381333931"),
        (item(NAME + item(SKU, "itemprop=offers")), NAMED),
        (item(NAME + item(SKU, "itemprop=offers") + item(SKU.replace("15", "16"), "itemprop=offers")), ""),
        (item(f"{NAME}{SKU}{item('<b itemprop=name>Smithy</b>', 'itemprop=brand')}"), NAMED),
        (item(f"{NAME}{SKU}{SKU}"), NAMED),
        (item(f"{NAME}{SKU}{SKU.replace('15', '16')}"), ""),
        (item(f"{NAME}{SKU}") + BESIDE * 3, NAMED),
        (item(NAME + item(SKU + "<b itemprop=name>Kettle K 15</b>", "itemprop=isRelatedTo")), ""),
        (f"<h1>Kettle K 15</h1>{BESIDE}{item(SKU + '<b itemprop=name>Kettle K 15</b>')}", ""),
        (item(f"<h1>Kettle K 15</h1><meta itemprop=name content=Teapot>{SKU}"), ""),
        (item(f"{NAME}<meta itemprop=sku content=https://shop.example/?session=5>"), ""),
        (f"{NAME}{SKU}", ""),
        (item(f"<h1>Teapots</h1>{BESIDE}"), ""),
        (BESIDE, ""),
    ],
)
def test_microdata_declares_the_number_of_the_item_that_holds_the_headline(html: str, expected: str) -> None:
    """Lists of other articles have microdata, too. It is read where the page says whether something is to be had."""
    title, stock = (
        "<title>Kettle K 15 | Shop</title>",
        '<link itemprop="availability" href="https://schema.org/InStock">',
    )
    assert read_page(f"{title}<body>{html}<p>Some text</p>{stock}").identity == expected
    assert read_page(f"{title}<body>{html}<p>Some text</p>").identity == ""


def test_json_ld_counts_before_microdata() -> None:
    assert declared(KETTLE | {"sku": "K-15-b"}, h1="Kettle K 15") == "sku K-15-b"
    html = f"<title>Kettle K 15</title>{item(NAME + SKU)}{json_ld(KETTLE | {'sku': 'K-15-b'})}<p>Some text</p>"
    assert read_page(html).identity == "sku K-15-b"
