"""URLs that are equal by the rules of URLs alone have one spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from scrapy_simdedup.urls.parts import MAX_URL_LENGTH, canonical_url, is_nearly_canonical


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://example.com/?b=2&a=1", "http://example.com/?a=1&b=2"),
        ("http://example.com/?a=1&&b=2&", "http://example.com/?a=1&b=2"),
        ("http://example.com/?a", "http://example.com/?a="),
        ("http://example.com:80/x", "http://example.com/x"),
        ("https://example.com:443/x", "https://example.com/x"),
        ("http://example.com/x#part", "http://example.com/x"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/%7Ebob/%41", "http://example.com/~bob/A"),
        ("HTTP://Example.COM/Path", "http://example.com/Path"),
        ("http://bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
        ("http://example.com", "http://example.com/"),
    ],
)
def test_spellings_of_one_url_become_one(url: str, same: str) -> None:
    assert canonical_url(url) == canonical_url(same)


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("http://example.com/?a=", "http://example.com/"),
        ("http://example.com:8080/x", "http://example.com/x"),
        ("http://example.com/a%2Fb", "http://example.com/a/b"),
        ("http://example.com/x", "https://example.com/x"),
        ("http://example.com/x/", "http://example.com/x"),
    ],
)
def test_what_may_be_another_page_stays_another_url(url: str, other: str) -> None:
    assert canonical_url(url) != canonical_url(other)


@pytest.mark.parametrize(
    "url",
    [
        "", "about:blank", "javascript:alert(1)", "ftp://example.com/", "mailto:a@example.com", "http://",
        "//example.com",
        "http://example.com:99999/", "http://example.com/\ud800", "http://bob:secret@example.com/", "http://a\nb.example/",
        "http://example.com/?" + "a" * MAX_URL_LENGTH,
    ],
)  # fmt: skip
def test_what_is_no_url_to_learn_from_is_refused(url: str) -> None:
    assert canonical_url(url) is None
    assert not is_nearly_canonical(url)


@given(st.text(max_size=60), st.text(max_size=60))
def test_canonical_urls_stay_as_they_are_whatever_they_were_made_of(path: str, query: str) -> None:
    once = canonical_url(f"http://example.com/{path}?{query}")
    assert once is None or canonical_url(once) == once


@given(st.from_regex(r"https?://[a-z.]{3,9}(/[A-Za-z0-9_.-]{0,5}){1,4}(\?[a-z~=&.]{0,20})?", fullmatch=True))
def test_plain_urls_need_no_more_than_sorting(url: str) -> None:
    """What takes the short way must not differ from what w3lib would make of it."""
    if is_nearly_canonical(url):
        path, _, query = url.partition("?")
        clean = canonicalize_url(url, keep_blank_values=True)
        assert clean.partition("?")[0] == path
        pairs = [piece.partition("=") for piece in query.split("&") if piece]
        assert clean.partition("?")[2] == "&".join(f"{name}={value}" for name, _, value in sorted(pairs))
