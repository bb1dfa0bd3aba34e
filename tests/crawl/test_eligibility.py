"""Which responses are judged."""

from __future__ import annotations

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response, TextResponse, XmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.test import get_crawler

from scrapy_simdedup.crawl.requests import PageEndings, is_inspection, is_inspection_crawl, is_page, read_response

URL = "http://site.example/"


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (HtmlResponse(URL, body=b"<p>text"), None),
        (HtmlResponse(URL, status=203, body=b"<p>text"), None),
        (HtmlResponse(URL, status=206, body=b"<p>text", headers={"Content-Range": "bytes 0-6/7"}), None),
        (HtmlResponse(URL, status=206, body=b"<p>text", headers={"Content-Range": "bytes 0-6/9"}), "cut"),
        (HtmlResponse(URL, status=206, body=b"<p>text", headers={"Content-Range": "bytes 2-8/9"}), "cut"),
        (HtmlResponse(URL, status=206, body=b"<p>text", headers={"Content-Range": "bytes 0-6/*"}), "cut"),
        (HtmlResponse(URL, status=206, body=b"<p>text"), "cut"),
        (HtmlResponse(URL, body=b"<p>text", flags=["cached"]), None),
        (HtmlResponse(URL, status=404, body=b"<p>text"), "status"),
        (HtmlResponse(URL, status=304), "status"),
        (HtmlResponse(URL, body=b"<p>te", flags=["partial"]), "unended"),
        (HtmlResponse(URL, body=b"<p>text</html>\n", flags=["partial"]), None),
        (HtmlResponse(URL, body=b"<p>te", protocol="HTTP/1.0"), "unended"),
        (HtmlResponse(URL, body=b"<p>te", headers={"Connection": "Close"}), "unended"),
        (HtmlResponse(URL, body=b"<p>text", protocol="HTTP/1.0", headers={"Content-Length": "7"}), None),
        (HtmlResponse(URL, body=b"<p>text", headers={"Connection": "close", "Transfer-Encoding": "chunked"}), None),
        (HtmlResponse(URL, body=b"<p>text</html>", flags=["download_stopped"]), "cut"),
        (HtmlResponse(URL, body=b"<p>te", flags=["dataloss"]), "cut"),
        (TextResponse(URL, body=b'{"a": 1}'), "not_html"),
        (XmlResponse(URL, body=b"<rss/>"), "not_html"),
        (Response(URL, body=b"%PDF"), "not_html"),
    ],
)
def test_only_whole_and_successful_html_is_judged(response: Response, reason: str | None) -> None:
    assert read_response(Request(URL), response, PageEndings())[1] == reason


def test_a_request_can_opt_out() -> None:
    request, response = Request(URL, meta={"simdedup": False}), HtmlResponse(URL, body=b"<p>text")
    assert read_response(request, response, PageEndings()) == ("", "opted_out")


def test_what_robots_txt_and_media_pipelines_fetch_is_no_page() -> None:
    assert not is_page(Request(URL, callback=NO_CALLBACK))
    assert not is_page(Request(URL, method="HEAD"))
    assert is_page(Request(URL))


def test_a_spiders_callback_is_no_inspection() -> None:
    assert not is_inspection(Request(URL))
    assert not is_inspection(Request(URL, callback=lambda response: None))


def test_a_spider_that_was_made_by_a_program_is_no_inspection() -> None:
    """What ``exec`` makes without a name for its module has none."""
    made: dict[str, object] = {"__name__": None}
    exec("async def start(self):\n    yield 1", made)
    assert not is_inspection_crawl(get_crawler(type("Made", (Spider,), {"start": made["start"]})))
