"""Whose pages are compared with each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from scrapy_simdedup.detect.names import comparable_url, host_of, site_of


@pytest.mark.parametrize(
    ("url", "domain", "host"),
    [
        ("https://example.com/a?b#c", "example.com", "example.com"),
        ("http://WWW.Shop.Example.co.uk:8080/", "example.co.uk", "www.shop.example.co.uk"),
        ("https://alice.github.io/", "alice.github.io", "alice.github.io"),
        ("https://github.io/", "github.io", "github.io"),
        ("https://co.uk/", "co.uk", "co.uk"),
        ("https://www.bücher.de/", "bücher.de", "www.bücher.de"),
        ("https://www.xn--bcher-kva.de/", "xn--bcher-kva.de", "www.xn--bcher-kva.de"),
        ("https://example.com./", "example.com", "example.com"),
        ("https://user:geheim@example.com/", "example.com", "example.com"),
        ("http://localhost:8000/a", "localhost", "localhost"),
        ("http://intranet/a", "intranet", "intranet"),
        ("http://wiki.office.internal/a", "wiki.office.internal", "wiki.office.internal"),
        ("http://127.0.0.1:6000/", "127.0.0.1", "127.0.0.1"),
        ("http://[2001:db8::1]:80/", "2001:db8::1", "2001:db8::1"),
        ("data:,hello", "", ""),
        ("http://[broken/", "", ""),
        ("", "", ""),
    ],
)
def test_a_url_belongs_to_its_registrable_domain_or_its_host(url: str, domain: str, host: str) -> None:
    assert site_of(url) == domain
    assert site_of(url, "host") == host == host_of(url)


def test_one_site_for_all() -> None:
    assert site_of("https://a.example/", "all") == site_of("http://10.0.0.1/", "all")


@given(st.from_regex(r"\Ahttps?://[a-z0-9.-]{1,8}(:[0-9]{1,5})?[/a-z0-9.~?=&_-]{0,12}\Z"))
def test_urls_are_compared_as_scrapy_compares_them(url: str) -> None:
    """Those that are plain are passed over, as w3lib would leave them as they are."""
    try:
        expected = canonicalize_url(url)
    except ValueError:
        return
    assert comparable_url(url) == expected
