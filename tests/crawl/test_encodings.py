"""One text under many encodings and wrong labels, as servers send it: recognised where it can be read, else kept."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest

from helpers.crawling import ADDON, Crawl, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import prose
from helpers.site_server import Site

SAMPLES = {
    "cyrillic": "Приливы сменяют друг друга дважды в сутки, и рыбаки хорошо знают их часы",
    "japanese": "潮の満ち引きは一日に二度あり漁師たちはその時刻をよく知っている",
    "chinese": "潮水每天涨落两次渔民们都很清楚时间所以早早出海",
    "korean": "조수는 하루에 두 번 드나들고 어부들은 그 시각을 잘 안다",
    "greek": "Η παλίρροια έρχεται δύο φορές την ημέρα και οι ψαράδες ξέρουν τις ώρες",
}


def text_of(language: str) -> str:
    """An article, in whose paragraphs other words meet."""
    sample = SAMPLES[language]
    parts = sample.split() if " " in sample else list(sample)
    join = " " if " " in sample else ""
    return "".join(
        f"<p>{join.join(parts[(step * number + at) % len(parts)] for at, number in enumerate(range(len(parts))))}</p>"
        for step in range(1, 12)
    )


def html(body: str, charset: str | None = None) -> str:
    meta = f'<meta charset="{charset}">' if charset else ""
    return f"<!DOCTYPE html><html><head>{meta}<title>One</title></head><body><main>{body}</main></body></html>"


HTML = {"Content-Type": "text/html"}


async def crawl_two(site: Site, first: Any, second: Any, **settings: Any) -> Crawl:
    """Crawl two answers, one after the other, under URLs of their own."""
    site["/first"], site["/second"] = first, second
    return await crawl(PathsSpider, ADDON | settings, urls=site.urls("/first", "/second"))


DECLARED = [
    *(("cyrillic", codec, codec) for codec in ("windows-1251", "koi8-r", "utf-16", "iso-8859-5")),
    *(("japanese", codec, codec) for codec in ("shift_jis", "euc-jp", "iso-2022-jp", "utf-16")),
    *(("chinese", codec, codec) for codec in ("gb2312", "gbk", "gb18030", "big5hkscs")),
    *(("korean", "euc-kr", "euc-kr"), ("greek", "iso-8859-7", "iso-8859-7"), ("greek", "utf-8", "unicode-1-1-utf-8")),
]


@pytest.mark.parametrize("where", ["header", "meta"])
@pytest.mark.parametrize(("language", "codec", "name"), DECLARED)
@on_asyncio
async def test_a_text_is_the_same_in_every_encoding_that_is_declared(
    site: Site, language: str, codec: str, name: str, where: str
) -> None:
    """Whether the header says so or the page; a site that changes its encoding has not changed its pages."""
    text = text_of(language)
    body = html(text, name if where == "meta" else None).encode(codec, "xmlcharrefreplace")
    headers = {"Content-Type": f"text/html; charset={name}"} if where == "header" else HTML
    made = await crawl_two(site, html(text), (200, headers, body))
    assert made.stat("pages/dropped") == 1


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@on_asyncio
async def test_unicode_is_read_without_a_declaration(site: Site, codec: str) -> None:
    """By its byte order mark, or by its zeros."""
    made = await crawl_two(site, html(prose(1)), (200, HTML, html(prose(1)).encode(codec)))
    assert made.stat("pages/dropped") == 1


@on_asyncio
async def test_a_text_whose_encoding_is_guessed_is_the_same_whatever_the_guess(site: Site) -> None:
    """Scrapy takes one page for Windows-1252, and the other for an encoding of DOS."""
    frames = ("¿Qué tal, señor?", "Über uns")
    pages = (html(f"<nav>{words}</nav>{prose(1)}<p>Preis für Äpfel</p>").encode("cp1252") for words in frames)
    made = await crawl_two(site, *((200, HTML, body) for body in pages))
    assert (made.stat("pages/judged"), made.stat("pages/dropped")) == (2, 1)


WRONG: dict[str, tuple[dict[str, str], bytes]] = {
    "cp1251 that claims to be utf-8": (
        {"Content-Type": "text/html; charset=utf-8"},
        text_of("cyrillic").encode("cp1251"),
    ),
    "shift_jis that claims to be utf-8": (
        {"Content-Type": "text/html; charset=utf-8"},
        text_of("japanese").encode("cp932"),
    ),
    "gzip that claims to be HTML": (HTML, gzip.compress(html(prose(1, 2_000)).encode(), mtime=0)),
    "deflate that claims to be HTML": (HTML, zlib.compress(html(prose(1, 2_000)).encode())),
    "a picture that claims to be HTML": (HTML, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40),
    "HTML that claims to be plain text": ({"Content-Type": "text/plain"}, html(prose(1)).encode()),
    "a byte": (HTML, b"\xff"),
    "nothing": (HTML, b""),
}


@pytest.mark.parametrize("name", WRONG)
@on_asyncio
async def test_what_cannot_be_read_is_kept(site: Site, name: str) -> None:
    """With its reason, and each time: two such answers need not have been the same page."""
    answer = (200, *WRONG[name])
    made = await crawl_two(site, answer, answer)
    assert made.stat("pages/unjudged") == 2
    assert made.stat("pages/unjudged_reason_count/error") == 0
    assert len(made.urls) == 2


@on_asyncio
async def test_a_codec_that_decodes_no_text_costs_no_page(site: Site) -> None:
    """Python has a codec base64, which Scrapy tries; its own redirects fail on it as well, so they are off here."""
    answer = (200, {"Content-Type": "text/html; charset=base64"}, html(prose(1)).encode())
    made = await crawl_two(site, answer, answer, METAREFRESH_ENABLED=False)
    assert made.stat("pages/unjudged_reason_count/undecodable") == 2
    assert len(made.urls) == 2


@pytest.mark.parametrize("codec", ["punycode", "unicode_escape", "raw_unicode_escape", "palmos", "cp037", "utf-32"])
@on_asyncio
async def test_a_codec_that_is_no_encoding_of_the_web_costs_no_page(site: Site, codec: str) -> None:
    """Python decodes them, and may leave out or move a part of the text that way."""
    site["/first"] = site["/second"] = (200, {"Content-Type": f"text/html; charset={codec}"}, html(prose(1)).encode())
    made = await crawl(PathsSpider, ADDON | {"METAREFRESH_ENABLED": False}, urls=site.urls("/first", "/second"))
    assert made.stat("pages/unjudged_reason_count/undecodable") == 2
    assert len(made.urls) == 2


LIES = {
    "latin-1 for utf-8": ({"Content-Type": "text/html; charset=iso-8859-1"}, html(text_of("greek")).encode()),
    "utf-16 for utf-8": (HTML, html(prose(1), "utf-16").encode()),
    "an unknown name": ({"Content-Type": "text/html; charset=none-of-all"}, html(prose(1)).encode()),
    "two names": (HTML, html(prose(1) + "<meta charset=big5>", "utf-8").encode()),
    "HTML that claims to be a picture": ({"Content-Type": "image/png"}, html(prose(1)).encode()),
    "NUL bytes": (HTML, html(prose(1)).replace("<p>", "<p>\x00").encode()),
    "lone surrogates": (HTML, html(prose(1)).replace("<p>", "<p>\ud83d").encode("utf-8", "surrogatepass")),
    "a bit of another encoding": (HTML, html(prose(1)).encode() + "<p>Грех</p>".encode("cp1251")),
}


@pytest.mark.parametrize("name", LIES)
@on_asyncio
async def test_the_same_lie_twice_is_the_same_page(site: Site, name: str) -> None:
    """A wrong declaration makes letters of letters, and the same ones each time; another text stays another."""
    headers, body = LIES[name]
    made = await crawl_two(site, (200, headers, body), (200, headers, body))
    assert made.stat("pages/dropped") == 1
    made = await crawl_two(
        site, (200, headers, body), (200, headers, body.replace(b"<p>", b"<i>") + prose(2, 900).encode())
    )
    assert made.stat("pages/dropped") == 0
