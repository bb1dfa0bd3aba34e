"""Patterns of rule files mean here what they mean in url-matcher, which duplicate-url-discarder asks."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simdedup.urls.given import UrlPattern
from scrapy_simdedup.urls.parts import canonical_url

url_matcher = pytest.importorskip("url_matcher.patterns", reason="url-matcher is not installed: it comes with [dev]")

HOSTS = ["example.com", "www.example.com", "shop.example.com", "www.shop.example.com", "myexample.com", "example.co.uk"]
WORDS = ["a", "A", "ab", "a.b", "a+b", "x-1", "images", "y.jpg", "p;v=1", "%20"]
NAMES = ["id", "page", "a b"]
VALUES = ["", "1", "12", "x", "X", "a b", "a.b"]

paths = st.lists(st.sampled_from(WORDS), max_size=3).map(lambda words: "".join(f"/{word}" for word in words))


def queries(values: list[str]) -> st.SearchStrategy[str]:
    """Parameters, some of which come more than once, but all of them in one case."""
    pairs = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(values)), max_size=3)
    return st.builds(
        lambda pairs, case: "&".join(f"{case(name)}={value}".replace(" ", "+") for name, value in pairs),
        pairs,
        st.sampled_from([str.lower, str.upper]),
    )


@st.composite
def urls(draw: st.DrawFn) -> str:
    query = draw(queries(VALUES))
    path = draw(paths) + draw(st.sampled_from(["", "/"]))
    return (
        f"{draw(st.sampled_from(['http', 'https']))}://{draw(st.sampled_from(HOSTS))}{path}" + "?" * bool(query) + query
    )


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """A host, a path and parameters, each of which may lack, with wildcards in paths and values."""
    scheme = draw(st.sampled_from(["", "", "", "http://", "https://"]))
    bare = [host for host in HOSTS if not host.startswith("www.")]
    host = draw(st.sampled_from([*bare, "Example.com"] + [""] * 3 * (not scheme)))
    path = draw(paths)
    if path:
        at = draw(st.integers(0, len(path) - 1))
        path = draw(st.sampled_from([path, f"{path[: at + 1]}*{path[at + 1 :]}", f"{path}/"])) + draw(
            st.sampled_from(["", "|"])
        )
    elif draw(st.booleans()):
        path = draw(st.sampled_from(["/", "/|"]))
    query = draw(queries([*VALUES, "*", "1*", "*x", "*1*"]))
    return scheme + host + path + "?" * bool(query) + query


@given(patterns(), urls())
@example("example.com", "https://shop.example.com/a?b=1")
@example("example.com/", "http://shop.example.com/a")
@example("/images/*.jpg|", "http://any.example/images/x/y.jpg")
@example("?id=3&id=4", "http://any.example/x?id=4")
def test_a_pattern_matches_what_it_matches_in_url_matcher(pattern: str, url: str) -> None:
    """Of URLs in their canonical form, to which alone patterns are put here.

    Apart from what rules seldom say: a pattern with ``www.`` holds without it, too, and a name in two cases is one name
    with the values of both.
    """
    canonical = canonical_url(url)
    assert canonical is not None
    assert UrlPattern(pattern).matches(canonical) == url_matcher.PatternMatcher(pattern).match(canonical)


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("www.example.com", "http://example.com/"),
        ("www.example.com/a", "http://example.com/a"),
        ("?id=1&ID=2", "http://example.com/?id=1"),
        ("?id=1", "http://example.com/?ID=2&id=1"),
    ],
)
def test_what_a_pattern_matches_besides(pattern: str, url: str) -> None:
    """A domain is the same with ``www.`` and without, and a name is the same in either case."""
    assert UrlPattern(pattern).matches(url)
