"""``changes``: the URLs whose pages have probably changed by a day."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import Answer, Crawled, perform_here, stored, with_store
from helpers.crawling import ADDON, crawl
from helpers.documents import ROOT, blocks_of
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.report_records import record, repeat
from helpers.site_server import Site
from scrapy_simdedup.fingerprint.make import fingerprint_page
from scrapy_simdedup.report.history import ChangeRates
from scrapy_simdedup.store.base import FingerprintStore, Record

DAY = 86_400.0
TOO_SHORT = bytes(fingerprint_page("<p>Too short</p>"))
GUIDE = ROOT / "docs" / "guides" / "incremental.md"


def visited(name: str, visits: int, changes: int, days: float = 10.0, **values: Any) -> Record:
    """A page that was fetched so often since the epoch, and found changed so often."""
    seen = {"first_seen": 0.0, "last_seen": days * DAY, "visits": visits, "changes": changes}
    return record(name, **{**seen, **values})


def rates_of(**sites: list[Record]) -> ChangeRates:
    rates = ChangeRates()
    for site, records in sites.items():
        for one in records:
            rates.add(site, one)
    return rates


def keep(url: str, sites: dict[str, list[Record]]) -> None:
    """A store with these pages."""

    async def write(store: FingerprintStore) -> None:
        for site, records in sites.items():
            for number, made in enumerate(records):
                await store.append(site, made, number)

    with_store(url, write)


def age(url: str, changes: dict[str, int]) -> None:
    """Let four visits in fifteen days have gone by, the last five days ago, with so many changes of each page."""

    async def write(store: FingerprintStore) -> None:
        async for site, one in store.records():
            last, found = one.last_seen - 5 * DAY, changes.get(one.url, 0)
            aged = one._replace(first_seen=last - 10 * DAY, last_seen=last, visits=4, changes=found, id=0, position=0)
            tail = await store.read(site)
            await store.append(site, aged, tail.cursor)

    with_store(url, write)


class TestRate:
    def test_it_is_the_bias_corrected_estimate_with_the_site_s_as_one_more_revisit(self) -> None:
        often, rarely = visited("often", 11, 8), visited("rarely", 11, 1)
        site = -math.log((20 - 9 + 0.5) / (20 + 0.5)) * 20 / 20
        own = -math.log((10 - 8 + 0.5) / (10 + 0.5)) * 10 / 10
        # The site is all there is, so that its own prior is itself.
        assert rates_of(a=[often, rarely]).per_day("a", often) == pytest.approx((10 * own + site) / 11)

    def test_a_page_that_was_fetched_once_changes_as_its_site_does(self) -> None:
        rates = rates_of(news=[visited("n", 101, 50, 100.0)], archive=[visited("o", 101, 1, 100.0)])
        news, archive = rates.per_day("news", visited("x", 1, 0)), rates.per_day("archive", visited("x", 1, 0))
        assert news is not None
        assert archive is not None
        assert news == pytest.approx(-math.log(50.5 / 100.5), rel=0.02)
        assert archive < news / 30

    def test_a_site_without_revisits_changes_as_all_sites_do(self) -> None:
        rates = rates_of(news=[visited("n", 101, 50, 100.0)], fresh=[visited("f", 1, 0)])
        assert rates.per_day("fresh", visited("f", 1, 0)) == pytest.approx(-math.log(50.5 / 100.5))

    def test_a_page_that_never_changed_is_due_in_the_end(self) -> None:
        """By its own visits alone it would change never, and nobody would look at it again."""
        calm = visited("calm", 20, 0)
        rates = rates_of(a=[calm, visited("often", 20, 10)])
        soon, late = (rates.due("a", calm, calm.last_seen + days * DAY) for days in (1, 300))
        assert soon is not None
        assert late is not None
        assert soon.chance < 0.1
        assert 0.9 < late.chance < 1

    def test_visits_within_an_hour_tell_nothing(self) -> None:
        rates = rates_of(a=[visited("a", 9, 8, 0.01)])
        assert not rates.knows_any
        assert rates.per_day("a", visited("a", 9, 8, 0.01)) is None

    @pytest.mark.parametrize(
        "never",
        [
            visited("stub", 5, 4, state="stub"),
            visited("unjudged", 5, 4, kind="unjudged", fingerprint=TOO_SHORT),
            visited("by-its-bytes", 5, 4, kind="unchanged", fingerprint=TOO_SHORT),
            visited("reserved", 5, 4, state="reserved"),
            visited("released", 5, 4, state="released"),
            visited("no-page", 5, 4, url="item 7"),
            repeat("repeat", "a", visits=5, changes=4),
        ],
        ids=lambda one: one.key.decode(),
    )
    def test_what_was_not_delivered_or_has_no_known_content_is_never_due(self, never: Record) -> None:
        assert rates_of(a=[visited("a", 5, 4)]).due("a", never, 1e12) is None
        assert not rates_of(a=[never]).knows_any


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Ten days of four pages: one that changes daily, one now and then, one never, one fetched once; and a repeat."""
    url = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    pages = [visited("daily", 11, 10), visited("calm", 11, 0), visited("weekly", 11, 2), visited("once", 1, 0)]
    other = visited("other", 11, 0, url="http://b.example/other")
    keep(url, {"a.example": [*pages, repeat("again", "daily")], "b.example": [other]})
    return url


def due(store: str, *options: object) -> Answer:
    return perform_here("changes", "--due", "1970-01-13", *options, "--store", store)


class TestCommand:
    def test_lists_what_has_probably_changed_the_most_probable_first(self, store: str) -> None:
        answer = due(store, "--json")
        found = answer.json
        assert answer.code == 0
        assert [row["url"][17:] for row in found["urls"]] == ["daily", "once"]
        assert (found["due"], found["share"], found["planned"]) == (12 * DAY, 0.5, 5)
        assert all(0.5 < row["chance"] < 1 for row in found["urls"])
        assert (found["urls"][0]["visits"], found["urls"][0]["changes"]) == (11, 10)
        text = due(store).out.splitlines()
        assert text[0] == "2 of 5 pages have changed by 1970-01-13 00:00:00 UTC with a chance above 50%"
        assert text[2].endswith("http://a.example/daily")

    def test_a_lower_share_lists_more_and_a_limit_less(self, store: str) -> None:
        assert len(due(store, "--share", 0, "--json").json["urls"]) == 5
        assert [row["url"] for row in due(store, "--share", 0, "-n", 1, "--json").json["urls"]] == [
            "http://a.example/daily"
        ]
        assert {row["site"] for row in due(store, "--share", 0, "--site", "b.example", "--json").json["urls"]} == {
            "b.example"
        }

    def test_writes_json_lines(self, store: str, tmp_path: Path) -> None:
        file = tmp_path / "urls.jl"
        answer = due(store, "-o", file)
        assert answer.out.splitlines() == [
            f"2 of 5 pages have changed by 1970-01-13 00:00:00 UTC with a chance above 50%; they are in {file}"
        ]
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert lines == due(store, "--json").json["urls"]
        assert due(store, "-o", "-").out == file.read_text()

    def test_says_no_where_nothing_is_due_or_known(self, store: str, tmp_path: Path) -> None:
        answer = perform_here("changes", "--due", "1970-01-02T00:00:00+00:00", "--store", store)
        assert answer.code == 1
        assert answer.out.startswith("0 of 5 pages have changed by 1970-01-02 00:00:00 UTC")
        fresh = f"sqlite:///{(tmp_path / 'fresh.sqlite').as_posix()}"
        keep(fresh, {"a.example": [visited("once", 1, 0)]})
        answer = due(fresh)
        assert answer.code == 1
        assert "nothing is known of how often pages change" in answer.out

    def test_a_site_of_which_nothing_is_known_is_as_the_others(self, store: str) -> None:
        keep(store, {"c.example": [visited("once", 1, 0, url="http://c.example/once")]})
        assert [row["url"] for row in due(store, "--site", "c.example", "--share", 0.2, "--json").json["urls"]] == [
            "http://c.example/once"
        ]

    @pytest.mark.parametrize("wrong", [("--due", "soon"), ("--share", "1"), ("--share", "-0.1"), ("-n", "0")])
    def test_refuses_what_is_no_day_and_no_share(self, store: str, wrong: tuple[str, str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            due(store, *wrong)
        assert stopped.value.code == 2


@on_asyncio
async def test_the_spider_of_the_guide_fetches_what_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = (block.text for block in blocks_of(GUIDE) if "class DueSpider" in block.text)
    names: dict[str, Any] = {"__name__": "guide"}
    exec(source, names)
    with Site() as site:
        for number in range(6):
            site[f"/{number}"] = page(number)
        shop = Crawled(tmp_path, site)
        await shop.crawl()
        age(shop.store, changes={site.url("/1"): 3, site.url("/4"): 3})
        shop.call("changes", "-o", tmp_path / "urls.jl")
        monkeypatch.chdir(tmp_path)
        site["/4"] = page("other news")
        settings = {**ADDON, "SIMDEDUP_STORE": shop.store, "SIMDEDUP_UNCHANGED": "drop", "SIMDEDUP_CALLBACKS": "any"}
        again = await crawl(names["DueSpider"], settings)
        assert (again.stat("pages/unchanged"), again.stat("pages/changed")) == (1, 1)
        assert again.urls == [site.url("/4")]


@on_asyncio
async def test_a_page_that_the_server_confirms_by_its_etag_is_not_due_again(tmp_path: Path) -> None:
    with Site() as site:
        site["/a"] = page("a")
        shop = Crawled(tmp_path, site)
        await shop.crawl()
        age(shop.store, changes={site.url("/a"): 3})
        assert [row["url"] for row in shop.call("changes", "--json").json["urls"]] == [site.url("/a")]
        site["/a"] = (304, {"ETag": '"one"'}, b"")
        await shop.crawl()
        assert shop.call("changes", "--json").json["urls"] == []
        ((_, one),) = stored(shop.store)
        assert (one.visits, one.changes) == (5, 3)
