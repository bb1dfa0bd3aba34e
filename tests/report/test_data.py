"""What a report reads off a store."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.on_asyncio import on_asyncio
from helpers.report_records import record, repeat, report_of
from scrapy_simdedup.report.document import render_report
from scrapy_simdedup.report.neighbours import Reservoir


@on_asyncio
async def test_every_page_is_counted_once() -> None:
    pages = [record("a"), repeat("b", "a"), record("c", kind="near", similarity=0.9), record("d", kind="changed")]
    report = await report_of({"a.example": pages, "b.example": [record("e", state="released")]})
    assert report.pages == 5
    assert report.kinds == {"new": 2, "near": 1, "changed": 1, "identical": 1}
    assert report.dropped == 1
    assert [(row.site, row.pages, row.repeats, row.failed) for row in report.sites] == [
        ("a.example", 4, 1, 0),
        ("b.example", 1, 0, 1),
    ]
    assert (report.similarities["dropped"][97], report.similarities["kept"][90]) == (1, 1)


@on_asyncio
async def test_the_timeline_covers_the_first_page_and_the_last() -> None:
    report = await report_of({"a.example": [record(f"{n}", last_seen=1_000.0 + n) for n in range(100)]})
    assert report.timeline is not None
    assert report.timeline.start == 1_000.0
    assert sum(report.timeline.counts["new"]) == 100
    assert report.timeline.counts["new"][-1] > 0


@on_asyncio
async def test_an_empty_store_has_a_report_that_says_so() -> None:
    report = await report_of({})
    assert (report.pages, report.timeline, report.clusters, report.sites) == (0, None, (), ())
    assert "No page is repeated." in render_report(report)


@on_asyncio
async def test_one_run_can_be_looked_at_alone_while_its_originals_come_from_all() -> None:
    pages = [record("a", run="sunday"), repeat("b", "a"), repeat("c", "a", run="sunday")]
    report = await report_of({"a.example": pages}, run="monday")
    assert report.pages == 1
    assert [(cluster.original, cluster.repeats) for cluster in report.clusters] == [("http://a.example/a", 1)]
    assert report.audit[0].original == "http://a.example/a"
    assert {row.run: row.pages for row in report.runs} == {"monday": 1, "sunday": 2}


@on_asyncio
async def test_an_original_that_is_gone_is_said_to_be() -> None:
    report = await report_of({"a.example": [repeat("b", "forgotten")]})
    assert report.clusters[0].original is None
    assert report.audit[0].original is None
    assert "not in the store any more" in render_report(report)


@on_asyncio
async def test_stubs_that_the_crawl_found_are_named() -> None:
    report = await report_of({"a.example": [record("captcha", state="stub"), record("b")]})
    assert [stub.url for stub in report.stubs] == ["http://a.example/captcha"]


@on_asyncio
async def test_a_redesign_is_suspected_where_half_of_the_known_pages_changed_at_once() -> None:
    def known(site: str, changed: int) -> list:
        return [
            record(
                f"{site}{n}",
                visits=2,
                changes=int(n < changed),
                kind="changed" if n < changed else "unchanged",
                similarity=0.6 if n < changed else 1.0,
            )
            for n in range(30)
        ]

    report = await report_of({"calm.example": known("calm", 3), "new.example": known("new", 20)})
    assert [(row.site, row.changed, row.redesign) for row in report.drift] == [
        ("new.example", 20, True),
        ("calm.example", 3, False),
    ]
    assert report.drift[0].similarity == pytest.approx(0.6)
    assert report.drift[1].changes_per_visit == pytest.approx(0.1)


@on_asyncio
async def test_what_should_be_rare_and_is_not_is_warned_of() -> None:
    pages = [record("a", kind="unjudged"), record("b", state="reserved"), record("c", state="released")]
    report = await report_of({"a.example": pages})
    assert "33% of the pages could not be judged" in report.warnings[0]
    assert "The delivery of 1 pages failed" in report.warnings[1]
    assert "has not ended" in report.warnings[2]
    assert not (await report_of({"a.example": [record("a")]})).warnings


@on_asyncio
async def test_it_stays_small_however_many_sites_and_however_long_their_addresses_are() -> None:
    long = "x" * 2_000
    sites = {
        f"{n}.{long[:200]}.example": [
            record("a")._replace(url=f"http://{n}.example/{long}"),
            repeat("b", "a")._replace(url=f"http://{n}.example/b{long}"),
        ]
        for n in range(3_000)
    }
    report = await report_of(sites)
    assert report.site_count == 3_000
    assert len(report.sites) == 1_000
    assert len(render_report(report).encode()) < 5e6
    assert len(json.dumps(asdict(report))) < 5e6


class TestReservoir:
    @given(st.sets(st.text(), max_size=60), st.integers(1, 20))
    def test_keeps_the_same_names_in_whatever_order_they_come(self, names: set[str], size: int) -> None:
        one, other = Reservoir[str, str](size), Reservoir[str, str](size)
        for name in sorted(names):
            one.put(name, name)
        for name in sorted(names, reverse=True):
            other.put(name, name)
        assert list(one.values()) == list(other.values())
        assert len(list(one.values())) == min(size, len(names))

    def test_gives_every_name_the_same_chance(self) -> None:
        kept = [0, 0]
        for start in range(0, 40_000, 100):
            reservoir = Reservoir[str, int](10)
            for number in range(start, start + 100):
                reservoir.put(f"http://a.example/{number}", number)
            for number in reservoir.values():
                kept[number - start >= 50] += 1
        assert sum(kept) == 4_000
        assert abs(kept[0] - kept[1]) < 300, "about five standard deviations"
