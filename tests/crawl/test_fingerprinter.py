"""URLs that are equal by the rules of URLs alone make one request."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter
from scrapy.utils.test import get_crawler

from scrapy_simdedup import CanonicalRequestFingerprinter
from scrapy_simdedup.errors import SettingError


class ByHeader:
    """A user's fingerprinter: the language makes another page."""

    def fingerprint(self, request: Request) -> bytes:
        return f"{request.url} {request.headers.get('Accept-Language')}".encode()


def made(**settings: Any) -> CanonicalRequestFingerprinter:
    crawler = get_crawler(Spider, Settings(settings))
    return CanonicalRequestFingerprinter.from_crawler(crawler)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://shop.example/a?x=1&y=2", "http://shop.example/a?y=2&x=1"),
        ("http://shop.example/a?x=", "http://shop.example/a?x"),
        ("http://shop.example/a", "http://shop.example:80/a"),
        ("https://shop.example/a", "https://SHOP.example:443/a#top"),
        ("http://shop.example/a", "http://shop.example/b/../a"),
        ("http://shop.example/~a", "http://shop.example/%7Ea"),
        ("http://shop.example", "http://shop.example/"),
        ("http://b\u00fccher.example/", "http://xn--bcher-kva.example/"),
    ],
)
def test_equal_urls_have_one_fingerprint(one: str, other: str) -> None:
    fingerprint = made().fingerprint
    assert fingerprint(Request(one)) == fingerprint(Request(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://shop.example/a", "https://shop.example/a"),
        ("http://shop.example/a", "http://shop.example/a/"),
        ("http://shop.example/a?x=1", "http://shop.example/a"),
        ("http://shop.example/a?x=", "http://shop.example/a"),
        ("http://shop.example/a", "http://www.shop.example/a"),
        ("http://shop.example/a", "http://shop.example:8080/a"),
    ],
)
def test_urls_that_may_lead_elsewhere_do_not(one: str, other: str) -> None:
    fingerprint = made().fingerprint
    assert fingerprint(Request(one)) != fingerprint(Request(other))


def test_a_plain_url_has_the_fingerprint_that_scrapy_gives_it() -> None:
    request = Request("http://shop.example/a?x=1", method="POST", body=b"b")
    assert made().fingerprint(request) == RequestFingerprinter().fingerprint(request)


def test_a_request_that_asks_for_its_url_verbatim_is_left_alone() -> None:
    request = Request("http://shop.example:80/a", meta={"verbatim_url": True})
    assert made().fingerprint(request) == RequestFingerprinter().fingerprint(request)


def test_the_users_own_fingerprinter_has_its_say() -> None:
    """It gets the request as it is, but for the spelling of its URL."""
    fingerprint = made(SIMDEDUP_REQUEST_FINGERPRINTER=f"{__name__}.ByHeader").fingerprint
    requests = [
        Request(url, headers={"Accept-Language": language})
        for url in ("http://shop.example:80/a", "http://shop.example/a")
        for language in ("de", "fr")
    ]
    german, french, german_too, french_too = map(fingerprint, requests)
    assert (german, french) == (german_too, french_too)
    assert german != french
    assert requests[0].url == "http://shop.example:80/a"


@pytest.mark.parametrize("path", ["nowhere.Fingerprinter", "scrapy_simdedup.CanonicalRequestFingerprinter"])
def test_a_fingerprinter_that_cannot_be_used_is_an_error(path: str) -> None:
    with pytest.raises(SettingError, match="SIMDEDUP_REQUEST_FINGERPRINTER"):
        made(SIMDEDUP_REQUEST_FINGERPRINTER=path)
