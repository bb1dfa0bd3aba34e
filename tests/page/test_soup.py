"""No page can hurt the crawl, whatever it is made of."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scrapy.http import HtmlResponse, Request

from helpers.pages import prose
from helpers.soup import bodies, declarations, markup, soup
from scrapy_simdedup import fingerprint_page
from scrapy_simdedup.crawl.requests import PageEndings, read_response
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.content import MAX_GROWTH, MIN_LIMIT, page_markdown
from scrapy_simdedup.page.page import read_page

pytestmark = pytest.mark.slow

SITE = "https://site.example/"

law = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@law
@given(soup, st.sampled_from(["roles", "readability"]))
def test_a_page_has_text_or_a_reason(html: str, extractor: str) -> None:
    """Never both, never neither, and never an exception."""
    page = read_page(html, extractor=extractor)  # type: ignore[arg-type]
    assert bool(page.blocks) == (page.unjudged is None)
    assert all(block.text and not block.text.isspace() for block in page.blocks)
    assert all((block.boilerplate_roles > 0) <= (block.block_class is BlockClass.BOILERPLATE) for block in page.blocks)


@law
@given(soup)
def test_a_page_has_one_fingerprint(html: str) -> None:
    """It survives being stored, and says that a page with text is itself."""
    made = fingerprint_page(html)
    assert PageFingerprint.from_bytes(bytes(made)) == made == fingerprint_page(html)
    assert made.unjudged or made.compare(made).kind == "identical"


@law
@given(markup)
def test_two_pages_that_begin_alike_are_two(html: str) -> None:
    """What comes first may be refused, but must not hide what follows: the second page would be lost."""
    one, other = (fingerprint_page(html + prose(seed, 480)) for seed in (1, 2))
    assert one.compare(other).kind != "identical"


@law
@given(soup)
def test_markdown_is_bounded(html: str) -> None:
    """At most four times as long as the page, whatever its lists, tables and quotations are."""
    assert len(page_markdown(html)) <= MAX_GROWTH * len(html) + MIN_LIMIT


@law
@given(bodies, declarations, declarations)
def test_any_bytes_under_any_declaration_have_a_fingerprint(body: bytes, header: str, meta: str) -> None:
    """Header and page may name encodings that are wrong, or none; what Scrapy refuses to decode is not judged."""
    declared = f"<meta charset={meta}>".encode() + body
    response = HtmlResponse(SITE, headers={"Content-Type": f"text/html; charset={header}"}, body=declared)
    _, reason = read_response(Request(SITE), response, PageEndings())
    assert reason in {None, "undecodable"}
    if reason is None:
        made = fingerprint_page(response.text)
        assert PageFingerprint.from_bytes(bytes(made)) == made
