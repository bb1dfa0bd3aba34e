"""``rules`` tells what the URLs of a crawl teach."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.conftest import Crawled
from on_asyncio import on_asyncio
from pages import page
from scrapy_simdedup.urls import load_rules
from site_server import Site


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Crawled]:
    """Sixty pages under three URLs each: a session does not change the page, its number does."""
    with Site() as site:
        for number in range(60):
            for session in ("", "&session=7f3a", "&session=91bc"):
                site[f"/view?page={number}{session}"] = page(number, session)
        yield Crawled(tmp_path, site)


@on_asyncio
async def test_it_finds_the_part_that_does_not_change_the_page(shop: Crawled) -> None:
    await shop.crawl()
    answer = shop.call("rules", "--json")
    assert answer.code == 0
    best = answer.json["rules"][0]
    assert (best["parts"], best["in_force"], best["failures"]) == (["query:session"], True, 0)
    assert answer.json["pages"] == 180
    assert answer.json["saved"] > 60
    assert answer.json["lost"] == 0
    assert not any(rule["in_force"] for rule in answer.json["rules"] if "query:page" in rule["parts"])


@on_asyncio
async def test_what_it_says_can_be_read_by_those_who_remove_parameters(shop: Crawled, tmp_path: Path) -> None:
    await shop.crawl()
    file = tmp_path / "rules.json"
    answer = shop.call("rules", "-o", file, "-n", 3)
    assert "fetches (" in answer.out
    assert "query:session" in answer.out
    (rule,) = {(rule.processor, rule.args) for rule in load_rules(file.read_text())}
    assert rule == ("queryRemoval", ("session",))


@on_asyncio
async def test_the_report_has_them(shop: Crawled, tmp_path: Path) -> None:
    await shop.crawl()
    files = tmp_path / "report.html", tmp_path / "report.json"
    shop.call("report", "-o", files[0], "-o", files[1])
    lesson = json.loads(files[1].read_text())["lesson"]
    assert (lesson["pages"], lesson["sites"], lesson["lost"]) == (180, 1, 0)
    assert f"would have saved {lesson['saved']} of 180 fetches" in files[0].read_text()


def test_where_nothing_is_repeated_there_is_no_rule(crawled: Crawled) -> None:
    answer = crawled.call("rules", "--site", "nowhere.example")
    assert answer.code == 1
    assert "saved 0 of 0 fetches" in answer.out
