"""A law: whatever a site has and whatever is set, an archive of its pages gets the verdicts of a crawl, to the last."""

from __future__ import annotations

import random
from typing import Any

import pytest

from helpers.any_site import any_settings, any_site
from helpers.archives import Fetch, as_said, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import words
from scrapy_simdedup import DedupSettings

pytest.importorskip("pyarrow")

from scrapy_simdedup.batch.archives import fingerprint_of
from scrapy_simdedup.batch.tables import pack_units
from scrapy_simdedup.detect.names import site_of
from scrapy_simdedup.detect.site_judge import SiteJudge
from scrapy_simdedup.page.metadata import declared_canonical_url


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
@on_asyncio
async def test_the_verdicts_are_those_of_a_crawl(seed: int) -> None:
    """Rows go through the bytes of a table, of which nothing but what is asked of them may be missing."""
    rng = random.Random(seed)
    keywords = any_settings(rng)
    await check(any_site(rng, 25), keywords)


async def check(pages: list[Fetch], keywords: dict[str, Any]) -> None:
    crawled = await crawl("memory:", pages, **keywords)
    judge = SiteJudge(DedupSettings.from_keywords(secret="s3cret", **keywords), b"s3cret", "run")
    for page, expected in zip(pages, crawled, strict=True):
        made = judge.fingerprint(page.html, url=page.url)
        units = None if made.page_units is None else pack_units(made.page_units, page.url)
        canonical = declared_canonical_url(page.html, page.url) if judge.settings_for(page.url).prefer else None
        judge.begin(site_of(page.url, judge.settings.scope), forget=False)
        fp = fingerprint_of(bytes(made._replace(units=None)), units)
        judged = judge.judge(fp, url=page.url, key=page.key, time=page.time, canonical=canonical)
        assert as_said(judged) == as_said(expected), (page.url, keywords)


@pytest.mark.parametrize(
    "of_products",
    [{"min_words": 60}, {"identity": ["sku"]}, {"novel_words": None}, {"unchanged_by": "similarity"}],
)
@pytest.mark.parametrize("of_all", [{}, {"novel_words": None, "unchanged_by": "similarity"}])
@on_asyncio
async def test_bytes_that_two_kinds_of_pages_have_are_read_as_in_a_crawl(
    of_all: dict[str, Any], of_products: dict[str, Any]
) -> None:
    """A crawl takes the fingerprint that it has of them, unless it was made as for no page of this kind."""
    data = '<script type="application/ld+json">{"@type": "Product", "name": "Lamp", "sku": "%d"}</script>'
    text = f"<h1>Lamp</h1><p>{' '.join(words('lamp', 40))}</p>"
    first, second = (f"<title>Lamp</title>{data % number}{text}" for number in (1, 2))
    urls, htmls = ("/a", "/product/a", "/b", "/product/b"), (first, first, second, second)
    for order in (urls, urls[::-1]):
        found = [
            Fetch(f"http://shop.example{url}", html, 1.0 + at)
            for at, (url, html) in enumerate(zip(order, htmls, strict=True))
        ]
        await check(found, {**of_all, "site_settings": {"shop.example/product/*": of_products}})
