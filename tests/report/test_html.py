"""The report as a document: complete in itself, and whatever is in it is text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from lxml import html

from helpers.on_asyncio import on_asyncio
from helpers.report_records import record, repeat, report_of
from scrapy_simdedup.report import AuditedPair
from scrapy_simdedup.report.clusters import NearPage
from scrapy_simdedup.report.comparison import Difference, diff_words
from scrapy_simdedup.report.document import render_report
from scrapy_simdedup.report.elements import h, link, to_html

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>{script}\x00\x1b\ud800\u202e'


@on_asyncio
async def test_what_pages_smuggle_in_is_text() -> None:
    pages = [
        record("a")._replace(url=f"http://a.example/{EVIL}", run=EVIL),
        repeat("b", "a")._replace(url=f"javascript:alert(1)//{EVIL}"),
    ]
    report = await report_of({f"site{EVIL}": pages})
    line = Difference(EVIL, EVIL, f"other {EVIL}")
    audited = AuditedPair(f"javascript:{EVIL}", f"data:text/html,{EVIL}", 0.97, 1, (EVIL,), (line,))
    document = render_report(replace(report, store=EVIL, run=EVIL, warnings=(EVIL,), audit=(audited,)))
    tree = html.document_fromstring(document)
    assert len(tree.findall(".//script")) == 1
    assert not tree.findall(".//img")
    assert {a.get("href").partition(":")[0] for a in tree.iter("a") if not a.get("href").startswith("#")} == {"http"}
    assert "\x00" not in document
    assert "\x1b" not in document
    assert document.encode(), "what cannot be encoded is gone"


@on_asyncio
async def test_it_needs_nothing_but_itself() -> None:
    document = render_report(await report_of({"a.example": [record("a"), repeat("b", "a")]}))
    assert re.search(r"default-src 'none'", document)
    tree = html.document_fromstring(document)
    assert not tree.xpath("//@src")
    assert tree.xpath("//link/@href") == ["data:,"]
    assert not re.search(r"url\(|@import", document)


@on_asyncio
async def test_its_policy_allows_its_own_style_and_script_alone() -> None:
    from base64 import b64encode
    from hashlib import sha256

    document = render_report(await report_of({}))
    for tag in ("style", "script"):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", document, re.DOTALL)
        assert text
        assert f"'sha256-{b64encode(sha256(text[1].encode()).digest()).decode()}'" in document
    assert " style=" not in document
    assert not re.search(r"\son[a-z]+=", document)


@on_asyncio
async def test_it_shows_what_dropped_pages_had_of_their_own_and_what_kept_near_ones() -> None:
    report = await report_of({"a.example": [record("a"), repeat("b", "a")]})
    assert "No page that was kept is near another." in render_report(report)
    kept = [
        NearPage("http://a.example/n", "a.example", "http://a.example/a", 0.97, 23, "own text: 23 words"),
        NearPage("http://a.example/o", "a.example", None, 0.9, None, None),
    ]
    audit = [replace(report.audit[0], own_words=words) for words in (None, 0, 1)]
    tree = html.document_fromstring(
        render_report(replace(report, near_pages=tuple(kept), near_count=7, audit=tuple(audit)))
    )
    (section,) = tree.xpath("//section[@aria-labelledby='near']")
    assert "7 pages are near another and kept; the 2 most similar are shown" in section.text_content()
    rows = [[cell.text_content() for cell in row.xpath("*")] for row in section.xpath(".//tbody/tr")]
    assert rows[0] == ["http://a.example/n", "http://a.example/a", "0.970", "23", "own text: 23 words"]
    assert rows[1][1] == rows[1][4] == "unknown"
    shown = [part.text_content() for part in tree.xpath("//section[@aria-labelledby='audit']//details")]
    assert "of its own" not in shown[0]
    assert "nothing of its own" in shown[1]
    assert "1 word of its own" in shown[2]


@on_asyncio
async def test_every_element_id_is_its_own() -> None:
    tree = html.document_fromstring(render_report(await report_of({"a.example": [record("a"), repeat("b", "a")]})))
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert {name.removeprefix("#") for name in tree.xpath("//nav//@href")} <= set(ids)


@on_asyncio
async def test_it_explains_its_own_words() -> None:
    tree = html.document_fromstring(render_report(await report_of({})))
    (words,) = tree.xpath("//section[@aria-labelledby='glossary']/details/dl")
    terms = [term.text for term in words.findall("dt")]
    assert {"boilerplate", "delivered", "original", "released", "run", "similarity", "stub"} <= set(terms)
    assert len(words.findall("dd")) == len(terms)


def test_long_addresses_lose_their_middle_and_lead_where_they_did() -> None:
    url = "http://a.example/" + "x" * 300
    made = link(url)
    assert made.get("href") == url
    assert len(made.text or "") < 130


def test_elements_take_text_lists_and_nothing() -> None:
    assert to_html(h("p", "a", None, ["b", h("i", "c")], "d", data_value="<")) == '<p data-value="&lt;">ab<i>c</i>d</p>'


def test_the_words_that_differ_are_told_from_those_that_do_not() -> None:
    one, other = diff_words("Served at 10:31 by us", "Served at 11:02 by us")
    assert [part.text for part in one if part.differs] == ["10:31 "]
    assert "".join(part.text for part in other) == "Served at 11:02 by us"


def test_data_files_come_with_the_package() -> None:
    import scrapy_simdedup.report

    names = {path.name for path in Path(scrapy_simdedup.report.__file__).parent.iterdir()}
    assert {"report.html", "report.css", "report.js"} <= names
