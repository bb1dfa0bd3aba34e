"""A wrong setting stops the crawl at its start, with one sentence that says what to write."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.site_server import Site
from scrapy_simdedup import DedupSettings, SettingError
from scrapy_simdedup.settings import CHECKS

WRONG = [
    ("SIMDEDUP_MODE", "page", "'pages'"),
    ("SIMDEDUP_IDENTICAL", 95, "between 0 and 1"),
    ("SIMDEDUP_NEAR", 0.97, "up to SIMDEDUP_IDENTICAL"),
    ("SIMDEDUP_STORE", "pages.sqlite", "sqlite:///"),
    ("SIMDEDUP_STORE", "oracle://host/db", "memory:"),
    ("SIMDEDUP_METHOD", "md5", "'exact', 'minhash', 'shingles'"),
    ("SIMDEDUP_EXACT", "page", "'content', 'text', 'body'"),
    ("SIMDEDUP_IGNORE", ["colours"], "any of 'case', 'dates', 'times', 'numbers'"),
    ("SIMDEDUP_CALLBACKS", "own", "'same', 'any'"),
    ("SIMDEDUP_BITS", 32, "64 or 128"),
    ("SIMDEDUP_SITE_SETTINGS", {"news.example": {"mode": "items"}}, "a site can override"),
    ("SIMDEDUP_SITE_SETTINGS", {"https://news.example/": {"near": 0.8}}, "write 'news.example/'"),
    ("SIMDEDUP_SITE_SETTINGS", {"a.example/b": {"near": 0.9}, "a.example": {"identical": 0.87}}, "is not above"),
    ("SIMDEDUP_TRESHOLD", 0.9, "there is no such setting"),
    ("SIMDEDUP_MODES", "pages", "did you mean SIMDEDUP_MODE?"),
    ("SIMDEDUP_SITES", {"news.example": {}}, "did you mean SIMDEDUP_SITE_SETTINGS?"),
    ("SIMDEDUP_URLS", "skip", "did you mean SIMDEDUP_URL_LEARNING or SIMDEDUP_URL_CHECKS or SIMDEDUP_URL_REMEMBER or "),
    ("SIMDEDUP_CLUSTER_BUDGET", 2, "there are SIMDEDUP_ENABLED, SIMDEDUP_MODE, SIMDEDUP_DROP"),
    ("SIMDEDUP_IDENTITY", "li >> .sku", "a CSS selector such as '.date::text'"),
    ("SIMDEDUP_IDENTITY", 17, "a property of JSON-LD such as 'sku'"),
    ("SIMDEDUP_SITE_SETTINGS", {"shop.example/p/": {"identity": "::first"}}, "write a property of JSON-LD"),
    ("SIMDEDUP_ITEM_FIELDS", {"Product": 5}, "such lists by class: {'Product': ['name']}"),
    ("SIMDEDUP_CONTENT_FIELDS", {"body": "markdwon"}, "did you mean 'markdown'?"),
    ("SIMDEDUP_CONTENT_FIELDS", {"": "markdown"}, "name a field of your items"),
    ("SIMDEDUP_CONTENT_FIELDS", 5, "or a list such as ['markdown', 'title']"),
    ("SIMDEDUP_EXTRACTOR", "trafilatura", "'roles', 'content', 'readability'"),
    ("SIMDEDUP_CONFIRM", "feed", "FEEDS"),
    ("SIMDEDUP_MIN_WORDS", "many", "whole number"),
    ("SIMDEDUP_URL_LEARNING", "learn", "'off', 'observe', 'deprioritize', 'skip'"),
    ("SIMDEDUP_REPORT", "%(nme)s.html", "%(name)s"),
    ("SIMDEDUP_REPORT", "report.txt", "ends with .html"),
    ("SIMDEDUP_DROPPED_FEED", "%(name)s-100%.jsonl", "%% for a percent sign"),
    ("SIMDEDUP_DROPPED_FEED", "dropped.xml", "ends with .jsonl, .jl, .csv or .parquet"),
    ("SIMDEDUP_URL_RULES", {"rules": 1}, "write a list of paths"),
    ("SIMDEDUP_URL_RULES", "nowhere.json", "name a JSON file that can be read"),
]


@pytest.mark.parametrize(("name", "value", "remedy"), WRONG)
@on_asyncio
async def test_it_names_the_setting_the_value_and_the_remedy(site: Site, name: str, value: Any, remedy: str) -> None:
    with pytest.raises(SettingError) as caught:
        await crawl(PathsSpider, ADDON | {name: value}, urls=site.urls("/"))
    sentence = str(caught.value)
    assert name in sentence
    assert repr(value) in sentence or (isinstance(value, dict) and next(iter(value)) in sentence)
    assert remedy in sentence
    assert site.requested == []


ODD = [
    *(None, True, -1, 10**400, float("nan"), "", " ", "a:b", b"64", object(), range(3)),
    *([], [5], [[]], [["case"]], {1}, (1, 2), ("footer", "imprint"), {}, {5: 5}, {"footer": 5}, {"footer": [5]}),
    *({"a": 1}, {"a": {5: 1}}, {"a": {"near": []}}, {"a": {"prefer": [[]]}}),
]


def refusal(name: str, value: object) -> SettingError | None:
    try:
        DedupSettings.from_keywords(**{name: value})
    except SettingError as error:
        return error
    return None


@pytest.mark.parametrize("name", CHECKS)
def test_a_value_of_any_type_is_taken_or_named(name: str) -> None:
    refusals = [error for value in ODD if (error := refusal(name, value)) is not None]
    assert len(refusals) > 10
    for error in refusals:
        assert error.name.startswith(f"SIMDEDUP_{name.upper()}")
        assert error.remedy in str(error)


@on_asyncio
async def test_a_password_in_a_wrong_store_url_is_not_shown(site: Site) -> None:
    with pytest.raises(SettingError) as caught:
        await crawl(PathsSpider, ADDON | {"SIMDEDUP_STORE": "mysql://user:hunter2@host/db"}, urls=site.urls("/"))
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.value)
