"""What a page says of its own address."""

from __future__ import annotations

import pytest

from scrapy_simdedup.page.metadata import MAX_HEAD, declared_canonical_url

URL = "https://site.example/shop/item?id=1&sid=7"


@pytest.mark.parametrize(
    ("html", "claimed"),
    [
        ("<link rel=canonical href=/item?id=1>", "https://site.example/item?id=1"),
        ("<LINK HREF='item?id=1' REL='Canonical'>", "https://site.example/shop/item?id=1"),
        ('<link rel="canonical" href="https://other.example/?a=1&amp;b=2">', "https://other.example/?a=1&b=2"),
        ('<link rel="alternate" hreflang="x-default" href="/item?id=1">', "https://site.example/item?id=1"),
        ("<link rel=alternate hreflang=x-default href=/en><link rel=canonical href=/de>", "https://site.example/de"),
        ("<link rel=alternate hreflang=de href=/de>", None),
        ("<link rel=stylesheet href=/canonical.css>", None),
        ("<link rel=canonical>", None),
        ("<link rel=canonical href=/item data-href=/other>", "https://site.example/item"),
        ("<link rel=canonical href='//[no'>", None),
        ("", None),
        (" " * MAX_HEAD + "<link rel=canonical href=/item>", None),
        ("<link <link " * 5_000, None),
    ],
)
def test_the_canonical_address_is_found_where_there_is_one(html: str, claimed: str | None) -> None:
    assert declared_canonical_url(html, URL) == claimed
