"""A URL is a path and the optional parts around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simdedup.urls.parts import MAX_PARTS, is_session, looks_random, split_url


@pytest.mark.parametrize(
    ("url", "segments", "parts"),
    [
        ("http://e.com/a/b", ("a", "b"), {}),  # one letter is no word
        ("http://e.com/story-1/print", ("story-1",), {"suffix": "print"}),
        ("http://e.com/story-1/", ("story-1",), {"slash": "/"}),
        ("http://e.com/a1/index.html", ("a1",), {"index": "index.html", "slash": "/"}),
        ("http://e.com/index.php", (), {"index": "index.php"}),
        ("http://e.com/a1//b1", ("a1", "b1"), {"slashes": "1"}),
        ("http://e.com/Story-1", ("story-1",), {"spelling": "Story-1"}),
        ("http://e.com/p1;jsessionid=7", ("p1",), {"path:jsessionid": "7"}),
        ("http://e.com/s/0123456789abcdef/v1", ("s", "\1", "v1"), {"segment:1": "0123456789abcdef"}),
        ("http://e.com/(S(abcdefghijkl12))/v1", ("\1", "v1"), {"segment:0": "(S(abcdefghijkl12))"}),
        ("http://e.com/?a=1&b", (), {"query:a": "1", "query:b": ""}),
        ("http://e.com/?a=2&a=1", (), {"query:a": "1&2"}),
        ("http://e.com/?a=2&a=1&a=2", (), {"query:a": "1&2", "repeats": "query:a"}),
        ("http://e.com/?utm_source=x", (), {"query:utm_*": "utm_source=x"}),
        ("http://e.com/?b=2;a=1", (), {"query:a": "1", "query:b": "2"}),
        ("http://e.com/?q=a;b&p=1", (), {"query:p": "1", "query:q": "a%3Bb"}),  # here it is part of a value
        ("http://e.com/?q=%41", (), {"query:q": "A"}),
    ],
)
def test_a_url_is_taken_apart(url: str, segments: tuple[str, ...], parts: dict[str, str]) -> None:
    split = split_url(url)
    assert split is not None
    assert dict(split.parts) == parts
    assert split.segments == segments


def test_parameters_beyond_the_cap_still_tell_urls_apart() -> None:
    many = "&".join(f"p{n}=1" for n in range(MAX_PARTS + 1))
    one, other = split_url(f"http://e.com/?{many}&z=1"), split_url(f"http://e.com/?{many}&z=2")
    assert one is not None
    assert other is not None
    assert len(one.parts) == MAX_PARTS
    assert one != other


def test_semicolons_between_parameters_tell_a_url_from_one_with_ampersands() -> None:
    one, other = split_url("http://e.com/git?a=blob;f=x#n1"), split_url("http://e.com/git?f=x&a=blob")
    assert one is not None
    assert other is not None
    assert (one.segments, dict(one.parts)) == (other.segments, dict(other.parts))
    assert one.rest != other.rest


def test_a_word_between_semicolons_is_a_parameter() -> None:
    """A forum sorts a list with ``sort=views;desc``; it is the list of the board, whichever way it is sorted."""
    one, other = split_url("http://e.com/?board=1;sort=views;desc"), split_url("http://e.com/?board=1;sort=views")
    assert one is not None
    assert other is not None
    assert dict(one.parts) == {**dict(other.parts), "query:desc": ""}
    values = split_url("http://e.com/?colours=red;blue")
    assert values is not None
    assert len(values.parts) == 1


@given(st.permutations(["a=1", "b=2", "c=3", "a=4", "utm_source=x", "utm_medium=y"]))
def test_the_order_of_parameters_does_not_matter(pieces: list[str]) -> None:
    one, other = split_url("http://e.com/?" + "&".join(pieces)), split_url("http://e.com/?" + "&".join(sorted(pieces)))
    assert one is not None
    assert other is not None
    assert dict(one.parts) == dict(other.parts)


@given(st.text())
def test_no_text_raises(url: str) -> None:
    split_url(url)
    split_url("http://e.com/" + url)


def test_session_ids_are_known_by_name_or_look() -> None:
    assert all(map(is_session, ["query:sid", "query:PHPSESSID", "path:jsessionid", "query:session_id"]))
    assert not any(map(is_session, ["query:id", "query:side", "query:ref"]))
    assert all(map(looks_random, ["0123456789abcdef0123", "1700000000", "Cj0KCQjwiMmwBhDmARIsABeQ7"]))
    assert not any(map(looks_random, ["42", "red", "a-long-slug-of-a-story", "2024-01-02"]))


@pytest.mark.parametrize(
    ("url", "segments", "parts"),
    [
        ("http://e.com/amp/news/a-1", ("news", "a-1"), {"view": "amp@0"}),
        ("http://e.com/news/amp/a-1", ("news", "a-1"), {"view": "amp@1"}),
        ("http://e.com/print/amp/a-1", ("a-1",), {"view": "print@0,amp@1"}),
        ("http://e.com/Print/a-1", ("a-1",), {"view": "Print@0"}),
        ("http://e.com/en-GB/shop/a-1", ("shop", "a-1"), {"locale": "en-GB"}),
        ("http://e.com/en/amp/a-1", ("a-1",), {"locale": "en", "view": "amp@1"}),
        ("http://e.com/amp/en/a-1", ("a-1",), {"locale": "en", "view": "amp@0"}),
        ("http://e.com/index.php/shop/a-1", ("shop", "a-1"), {"view": "index.php@0"}),
        ("http://e.com/shop/en-gb/a-1", ("shop", "en-gb", "a-1"), {}),
        ("http://e.com/en", ("en",), {}),
        ("http://e.com/amp", ("amp",), {}),
        ("http://e.com/s/Ab3dEf6hIj9lMn2pQr5t/a-1", ("s", "\1", "a-1"), {"segment:1": "Ab3dEf6hIj9lMn2pQr5t"}),
        ("http://e.com/s/ab3def6hij9lmn2pqr5t/a-1", ("s", "\1", "a-1"), {"segment:1": "ab3def6hij9lmn2pqr5t"}),
        ("http://e.com/internationalisation2/a-1", ("internationalisation2", "a-1"), {}),
    ],
)
def test_a_segment_that_names_a_view_a_locale_or_a_session_is_a_part(
    url: str, segments: tuple[str, ...], parts: dict[str, str]
) -> None:
    found = split_url(url)
    assert found is not None
    assert (found.segments, dict(found.parts)) == (segments, parts)
