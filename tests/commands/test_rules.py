"""``rules`` tells what the URLs of a crawl teach."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.command_line import Crawled
from helpers.crawling import ADDON, crawl
from helpers.on_asyncio import on_asyncio, wait_for
from helpers.pages import page
from helpers.site_server import Site
from helpers.store_records import opened
from helpers.url_site import Magazine, Reader
from scrapy_simdedup.detect.events import EVENTS, journal_name, split_journal_name
from scrapy_simdedup.urls import UrlLearner, load_rules


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """Sixty pages under three URLs each, all crawled: a session does not change the page, its number does."""
    with Site() as site:
        for number in range(60):
            for session in ("", "&session=7f3a", "&session=91bc"):
                site[f"/view?page={number}{session}"] = page(number, session)
        made = Crawled(tmp_path_factory.mktemp("shop"), site)
        wait_for(made.crawl())
        yield made


def test_it_finds_the_part_that_does_not_change_the_page(shop: Crawled) -> None:
    answer = shop.call("rules", "--json")
    assert answer.code == 0
    best = answer.json["rules"][0]
    assert (best["parts"], best["in_force"], best["failures"]) == (["query:session"], True, 0)
    assert answer.json["pages"] == 180
    assert answer.json["saved"] > 60
    assert answer.json["lost"] == 0
    assert not any(rule["in_force"] for rule in answer.json["rules"] if "query:page" in rule["parts"])


def test_what_it_says_can_be_read_by_those_who_remove_parameters(shop: Crawled, tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    answer = shop.call("rules", "-o", file, "-n", 3)
    assert "fetches (" in answer.out
    assert "query:session" in answer.out
    (rule,) = {(rule.processor, rule.args) for rule in load_rules(file.read_text())}
    assert rule == ("queryRemoval", ("session",))


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """Forty products of three URLs each, and a short form that is another page: only one value does not matter."""
    with Site() as site:
        for number in range(40):
            for query in ("", "?view=full", "?from=list"):
                site[f"/shop/product/{number}{query}"] = page(number, query)
            site[f"/shop/product/{number}?view=short"] = page(f"short {number}")
            site[f"/shop/list/{number}?from=list"], site[f"/shop/list/{number}"] = page(-number - 1), page(f"l{number}")
        made = Crawled(tmp_path_factory.mktemp("catalogue"), site)
        wait_for(made.crawl())
        yield made


class TestWrittenRules:
    def test_what_cannot_be_written_is_said_with_its_reason(self, catalogue: Crawled, tmp_path: Path) -> None:
        answer = catalogue.call("rules", "-o", tmp_path / "rules.json")
        assert json.loads((tmp_path / "rules.json").read_bytes()) == []
        assert "rules.json has 0 of 3 rules in force, in the form of duplicate-url-discarder." in answer.out
        assert "not query:view=full in shop/product/<number> on 127.0.0.1" in answer.out
        assert ": it is about one value, 'full', not about the parameter\n" in answer.out
        assert ": it is about a kind of path, shop/product/<number>\n" in answer.out
        assert "--form simdedup writes more of them" in answer.out

    def test_programs_are_told_as_well(self, catalogue: Crawled, tmp_path: Path) -> None:
        unwritten = catalogue.call("rules", "-o", tmp_path / "rules.json", "--json").json["unwritten"]
        assert {(*rule["parts"], rule["value"]) for rule in unwritten} >= {("query:view", "full"), ("query:from", None)}
        assert all(rule["obstacle"].startswith("it is about ") for rule in unwritten)

    def test_our_own_form_has_values_and_kinds_of_paths(self, catalogue: Crawled, tmp_path: Path) -> None:
        """The next crawl reads them, and skips from the first page on."""
        answer = catalogue.call("rules", "-o", tmp_path / "rules.json", "--form", "simdedup")
        assert "rules.json has 3 of 3 rules in force, in our own form." in answer.out
        learner = UrlLearner(rules=load_rules((tmp_path / "rules.json").read_text()))
        for path in ("shop/product/7", "shop/list/7"):
            learner.observe(catalogue.site.url(f"/{path}"), path)
        assert learner.decide(catalogue.site.url("/shop/product/7?view=full")).skip
        assert learner.decide(catalogue.site.url("/shop/product/7?from=list")).skip
        assert not learner.decide(catalogue.site.url("/shop/product/7?view=short")).skip
        assert not learner.decide(catalogue.site.url("/shop/list/7?from=list")).skip
        assert not learner.decide("http://other.example/shop/product/7?from=list").skip

    def test_rules_that_hold_from_the_start_are_known_as_such(self, skipped: Crawled, tmp_path: Path) -> None:
        answer = skipped.call("rules", "-o", tmp_path / "rules.json")
        assert "not query:utm_* in ** on" in answer.out
        assert "nobody needs to learn it: it holds from the start" in answer.out


def test_the_report_has_them(shop: Crawled, tmp_path: Path) -> None:
    files = tmp_path / "report.html", tmp_path / "report.json"
    shop.call("report", "-o", files[0], "-o", files[1])
    lesson = json.loads(files[1].read_text())["url_savings"]
    assert (lesson["pages"], lesson["sites"], lesson["lost"]) == (180, 1, 0)
    assert f"would have saved {lesson['saved']} of 180 fetches" in files[0].read_text()


def test_where_nothing_is_repeated_there_is_no_rule(crawled: Crawled) -> None:
    answer = crawled.call("rules", "--site", "nowhere.example")
    assert answer.code == 1
    assert "saved 0 of 0 fetches" in answer.out


@pytest.fixture(scope="module")
def skipped(tmp_path_factory: pytest.TempPathFactory, awake: None) -> Iterator[Crawled]:
    """What a crawl learned and did not fetch."""
    with Site() as site:
        Magazine(site, 80)
        made = Crawled(tmp_path_factory.mktemp("skipped"), site)
        report = str(made.directory / "own.json")
        settings = {"SIMDEDUP_STORE": made.store, "SIMDEDUP_RUN": "monday", "SIMDEDUP_REPORT": report}
        wait_for(crawl(Reader, {**ADDON, **settings, "SIMDEDUP_URL_LEARNING": "skip"}, root=site.root))
        yield made


@pytest.mark.slow
class TestAfterACrawlThatSkipped:
    """The store knows what the crawl learned, and what it did not fetch."""

    @pytest.fixture
    def shop(self, skipped: Crawled, tmp_path: Path) -> Crawled:
        """A copy for each test, of what one crawl left behind."""
        shutil.copytree(skipped.directory, tmp_path, dirs_exist_ok=True)
        return replace(skipped, directory=tmp_path)

    @on_asyncio
    async def test_it_tells_what_was_saved(self, shop: Crawled, tmp_path: Path) -> None:
        """The command, the report of the store and that of the crawl itself agree on the fetches."""
        answer = shop.call("rules", "--json")
        assert answer.json["by_crawl"]
        assert answer.json["saved"] > 40
        assert "query:utm_*" in {part for rule in answer.json["rules"] for part in rule["parts"]}
        assert f"Learning from URLs saved {answer.json['saved']} of" in shop.call("rules").out
        shop.call("report", "-o", tmp_path / "report.json")
        reports = [json.loads((tmp_path / name).read_text()) for name in ("own.json", "report.json")]
        assert [report["url_savings"]["saved"] for report in reports] == [answer.json["saved"]] * 2
        assert reports[0]["savings"]["fetches"] == answer.json["saved"]

    @on_asyncio
    async def test_a_note_that_cannot_be_read_takes_nothing_from_the_others(self, shop: Crawled) -> None:
        """As one that a later version of this package wrote."""
        saved = shop.call("rules", "--json").json["saved"]
        async with opened(shop.store) as store:
            names = [split_journal_name(name) async for name in store.journals()]
            (journal,) = [journal_name(run, site) for run, site in names if run and site != EVENTS]
            await store.put_note(journal, b"of the future", b'["moon", 1]')
        assert shop.call("rules", "--json").json["saved"] == saved

    @on_asyncio
    async def test_rolling_the_run_back_takes_that_out(self, shop: Crawled) -> None:
        assert not shop.call("rules", "--run", "tuesday", "--json").json["by_crawl"]
        shop.call("rollback", "monday")
        assert not shop.call("rules", "--json").json["by_crawl"]
