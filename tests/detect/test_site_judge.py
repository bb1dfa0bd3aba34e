"""A ``SiteJudge`` gives the verdicts of a crawl, one site after the other, without a store."""

from __future__ import annotations

from itertools import groupby

import pytest

from helpers.archives import SETTINGS, Fetch, archive, as_said, crawl
from helpers.on_asyncio import on_asyncio
from scrapy_simdedup import DedupSettings, SiteJudge, Verdict
from scrapy_simdedup.detect.names import site_of
from scrapy_simdedup.page.metadata import declared_canonical_url
from scrapy_simdedup.store.base import whole_log
from scrapy_simdedup.store.memory import MemoryStore


def judge_by_site(
    judge: SiteJudge, pages: list[Fetch], known: MemoryStore | None = None
) -> tuple[dict[Fetch, Verdict], dict[str, list[object]]]:
    """The verdicts, and what a store would hold of each site."""
    verdicts, records = {}, {}
    in_order = sorted(pages, key=lambda fetched: (site_of(fetched.url, judge.settings.scope), fetched.time))
    for site, of_site in groupby(in_order, key=lambda fetched: site_of(fetched.url, judge.settings.scope)):
        judge.begin(site)
        for record in known.log(site) if known else ():
            judge.remember(record)
        for fetched in of_site:
            fp = judge.fingerprint(fetched.html, url=fetched.url)
            canonical = declared_canonical_url(fetched.html, fetched.url)
            verdicts[fetched] = judge.judge(
                fp, url=fetched.url, key=fetched.key, time=fetched.time, canonical=canonical
            )
        records[site] = list(judge.records())
    return verdicts, records


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
@on_asyncio
async def test_verdicts_are_those_of_a_crawl_field_by_field(name: str) -> None:
    pages, store = archive(), MemoryStore()
    crawled = await crawl(store, pages, **SETTINGS[name])
    judge = SiteJudge(DedupSettings.from_keywords(**SETTINGS[name]), b"s3cret", "run")
    verdicts, records = judge_by_site(judge, pages)
    for fetched, verdict in zip(pages, crawled, strict=True):
        assert as_said(verdicts[fetched]) == as_said(verdict), fetched.url
    if name == "default":
        seen = {(verdict.kind, verdict.is_duplicate, verdict.reason) for verdict in crawled}
        assert {("stub", False, None), ("near", False, "own_text"), ("changed", False, None)} < seen
    for site, of_site in records.items():
        assert of_site == [record async for record in whole_log(store, site) if not record.forgotten]
