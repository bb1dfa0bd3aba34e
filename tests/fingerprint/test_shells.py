"""Pages that are a shell around data in a script are told apart by the data; pages with a text of their own are not."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from helpers.pages import page, prose, words
from scrapy_simdedup import fingerprint_page
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

METHODS = ["simhash", "minhash", "shingles", "bits", "exact"]


def text(seed: object, count: int = 60) -> str:
    return " ".join(words(seed, count))


def data(seed: object, token: str = "a81f") -> dict[str, object]:
    """What an application gets from its server; all but the texts differs each time."""
    return {
        "props": {"name": f"{text((seed, 'name'), 4)} 42", "text": f"<p>{text(seed)}</p>", "price": len(token) * 17},
        "csrf-token of this page": token * 9,
        "build": token,
        "time": f"2026-05-05T12:00:0{len(token)}Z",
        "rendered": f"Tue, 05 May 2026 12:00:0{len(token)} GMT",
        "next page": f"https://cdn.example/{token}/next page",
    }


CARRIERS: dict[str, Callable[[dict[str, object]], str]] = {
    "Next.js": lambda found: f'<script id="__NEXT_DATA__" type="application/json">{json.dumps(found)}</script>',
    "JSON": lambda found: f"<script type=application/json>{json.dumps(found, indent=2)}</script>",
    "JSON-LD": lambda found: f"<script type=application/ld+json>[{json.dumps(found)}]</script>",
    "a state": lambda found: f"<script>window.__INITIAL_STATE__ = {json.dumps(found)};</script>",
    "a state by its name": lambda found: f'<script>window["__APOLLO_STATE__"]={json.dumps(found)}</script>',
    "a state in a string": lambda found: f"<script>__STATE__=JSON.parse({json.dumps(json.dumps(found))})</script>",
    "Nuxt": lambda found: f"<script>window.__NUXT__=(function(a,b){{return {json.dumps(found)}}}(1,2))</script>",
    "chunks of Next.js": lambda found: f"<script>self.__next_f.push([1,{json.dumps(json.dumps(found))}])</script>",
}


def shell(script: str) -> str:
    return f"""<html><head><title>Shop</title></head><body><nav><a href=/>Home</a></nav>
    <div id="app"><p>{text("shell", 30)}</p></div><footer><p>{text("footer", 40)}</p></footer>{script}</body></html>"""


def fingerprint(html: str, method: str = "simhash") -> PageFingerprint:
    return fingerprint_page(html, method=method)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_shells_around_other_data_are_no_copies(carrier: str) -> None:
    one, other = (fingerprint(shell(CARRIERS[carrier](data(seed)))) for seed in "ab")
    assert one.unjudged is None
    assert one.compare(other).kind == "near"


@pytest.mark.parametrize("carrier", CARRIERS)
def test_shells_around_the_same_data_are_copies_whatever_tokens_and_times_they_have(carrier: str) -> None:
    one, again = (fingerprint(shell(CARRIERS[carrier](data("a", token)))) for token in ("a81f", "77b02c"))
    assert one.data
    assert one.compare(again).kind == "identical"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_tells_shells_apart(method: str) -> None:
    one, other = (fingerprint(shell(CARRIERS["JSON"](data(seed))), method) for seed in "ab")
    again = fingerprint(shell(CARRIERS["JSON"](data("a", "77b02c"))), method)
    assert one.compare(other).kind != "identical"
    assert one.compare(again).kind == "identical"


@pytest.mark.parametrize(
    "said",
    [
        *("東京の港では潮の満ち引きを毎日はかっています。" * 9, "Приливы сменяют друг друга дважды в сутки " * 9),
        *(
            f'{text(1, 20)} "{text(2, 9)}" {text(3, 9)} 5" more',
            f"C:\\new\\it's <b>{text(4, 20)}</b> it's &amp; {text(5)}",
        ),
    ],
)
def test_the_data_may_be_in_any_script_and_with_any_signs(said: str) -> None:
    """JSON escapes what is not ASCII, or does not."""
    for ascii_only in (False, True):
        one, other, again = (
            fingerprint(shell(f"<script type=application/json>{json.dumps(found, ensure_ascii=ascii_only)}</script>"))
            for found in ({"text": said}, {"text": f"{said} {text('more', 3)}"}, {"text": said, "id": 5})
        )
        assert one.data not in {0, other.data}
        assert one.data == again.data


@pytest.mark.parametrize(
    "html",
    [
        page("article", count=800) + CARRIERS["JSON-LD"](data("metadata")),
        page("article", count=240) + CARRIERS["JSON-LD"]({"headline": "An article about tides"}),
        shell("<script>var cookies = {}; (function(w, d){ w.track = d })(window, document)</script>"),
        shell('<script>window.dataLayer = window.dataLayer || []; dataLayer.push({"page": "home"})</script>'),
        shell(f"<script type=text/template>{prose('template')}</script>"),
        shell(""),
    ],
)
def test_what_has_a_text_or_no_data_is_compared_by_its_text_alone(html: str) -> None:
    assert fingerprint(html).data == 0


def test_data_without_end_takes_no_more_work() -> None:
    """Nor does it fail on what is no JSON."""
    for broken in ('"\\"' * 50_000, "\\" * 99_999, '"a b c ' * 50_000, "[" * 99_999, "\\ud800 a b c" * 20_000):
        assert fingerprint(shell(f"<script type=application/json>{broken}</script>")).unjudged is None


FRAME = f"""<header><form><p>{text("search", 25)}</p></form></header><nav><p>{text("menu", 90)}</p></nav>
<footer><p>{text("terms", 160)}</p></footer>"""


@pytest.mark.parametrize(
    "content",
    [
        "<main></main>",
        "<main><h1>Loading</h1></main>",
        "<div role=main><div class=spinner></div></div>",
        "<main></main><div class=newsletter><p>News by mail, each month, for all.</p></div>",
    ],
)
def test_pages_whose_content_did_not_come_are_no_copies(content: str) -> None:
    """What is left is the same on all pages of the site, and on those that are to have another content."""
    fp = fingerprint(f"<title>Shop</title>{FRAME}{content}")
    assert fp.unjudged == "empty"
    assert fp.compare(fp).kind == "different"


@pytest.mark.parametrize(
    "html",
    [
        f"{FRAME}<main>{prose('text', 40)}</main>",
        f"{FRAME}<div>{text('unmarked', 40)}</div>",
        f"<form>{prose('in a form', 120)}</form>",
        f"<div class=banner>{prose('in a banner', 120)}</div><footer><p>{text('terms', 60)}</p></footer>",
        f"<div>{text('unmarked', 40)}</div>",
        f"<main><form>{prose('a form in the main part', 80)}</form></main>{FRAME}",
    ],
)
def test_pages_with_a_text_are_not_empty_however_it_is_named(html: str) -> None:
    assert fingerprint(html).unjudged is None
