"""What is no text, and URLs that no server would take, at the door of the Python API."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from scrapy_simdedup import NearDuplicateDetector, PageFingerprint, compare_pages, fingerprint_page, page_markdown
from scrapy_simdedup.urls import UrlLearner

URL = "http://site.example/"
SURROGATES = ["http://site.example/\ud800a", "http://site.example/?b=\udfff", "http://\ud800.site.example/"]


@pytest.mark.parametrize("store", ["memory:", "sqlite"])
@on_asyncio
async def test_a_page_whose_url_has_a_lone_surrogate_is_judged_and_kept(store: str, tmp_path: Path) -> None:
    """Links of broken pages have them, and no store can hold them."""
    url = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}" if store == "sqlite" else store
    await judge_and_add(url)


async def judge_and_add(store: str) -> None:
    detector = NearDuplicateDetector(store)
    await detector.open()
    for number, url in enumerate(SURROGATES):
        verdict = await detector.add(page(number), url=url)
        assert (verdict.kind, verdict.is_duplicate) == ("new", False)
        assert verdict.page is not None
        assert verdict.page.url == url.replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
        assert (await detector.add(page(number), url=url)).kind == "unchanged"
        await detector.refresh(url=url)
    fp = detector.fingerprint_texts(["a text of its own"])
    assert (await detector.judge_page(detector.page_of(fp, url=SURROGATES[0]))).kind == "changed"
    assert (await detector.add(page(0), url=URL)).is_duplicate
    assert detector.store_errors == 0
    await detector.close()


@on_asyncio
async def test_records_whose_urls_are_none_are_kept() -> None:
    """Items of a feed may have anything for a URL."""
    detector = NearDuplicateDetector(prefer=["canonical", "shorter_url"])
    await detector.open()
    text = prose("room", 60)
    for number in range(8):
        facts = f"<p>{number + 2} rooms</p> <p>{41 * number} euros</p> <p>Floor {number}</p>"
        html = f"<title>Flat</title> <h1>Flat</h1> <p>{text}</p> {facts}"
        assert not (await detector.add(html, url=f"http://[/{number}?flat#{number}")).is_duplicate
    await detector.close()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: fingerprint_page(b"<p>text"), "html must be str, not bytes; decode it first"),
        (lambda: fingerprint_page(None), "html must be str, not None; pass a text"),
        (lambda: compare_pages("<p>text", b"<p>text"), "other must be str, not bytes; decode it first"),
        (lambda: compare_pages(None, "<p>text"), "one must be str, not None"),
        (lambda: page_markdown(b"<p>text"), "html must be str, not bytes"),
        (lambda: fingerprint_page("<p>text").compare(b"<p>text"), "compare with a PageFingerprint, not bytes"),
        (lambda: PageFingerprint.from_bytes(None), "raw must be bytes, not NoneType"),
        (lambda: UrlLearner().decide(b"http://site.example/"), "url must be str, not bytes"),
        (lambda: UrlLearner().observe(None, "content"), "url must be str, not None"),
        (lambda: UrlLearner().hint(URL, b"http://site.example/a"), "same_as must be str, not bytes"),
    ],
)
def test_what_is_no_text_is_refused_with_a_sentence(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        call()


@pytest.mark.parametrize(
    ("html", "url", "sentence"),
    [
        (b"<p>text", URL, "html must be str, not bytes; decode it first"),
        (None, URL, "html must be str, not None; pass a text"),
        (page("a"), b"http://site.example/", "url must be str, not bytes"),
        (page("a"), None, "url must be str, not None"),
    ],
)
@on_asyncio
async def test_the_detector_refuses_what_is_no_text(html: Any, url: Any, sentence: str) -> None:
    detector = NearDuplicateDetector(prefer=["canonical"])
    await detector.open()
    for call in (detector.judge, detector.add, detector.fetched, detector.fingerprint):
        with pytest.raises(TypeError, match=sentence):
            await call(html, url=url)
    if html == page("a"):
        with pytest.raises(TypeError, match=sentence):
            detector.page_of(detector.fingerprint_texts(["text"]), url=url)
        with pytest.raises(TypeError, match=sentence):
            await detector.refresh(url=url)
    await detector.close()
