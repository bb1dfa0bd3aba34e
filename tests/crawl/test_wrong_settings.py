"""A wrong setting stops the crawl at its start, with one sentence that says what to write."""

from __future__ import annotations

from typing import Any

import pytest

from crawling import ADDON, PathsSpider, crawl
from on_asyncio import on_asyncio
from scrapy_simdedup import SettingError
from site_server import Site

WRONG = [
    ("SIMDEDUP_MODE", "page", "'pages'"),
    ("SIMDEDUP_IDENTICAL", 95, "between 0 and 1"),
    ("SIMDEDUP_NEAR", 0.97, "up to SIMDEDUP_IDENTICAL"),
    ("SIMDEDUP_STORE", "pages.sqlite", "sqlite:///"),
    ("SIMDEDUP_STORE", "oracle://host/db", "memory:"),
    ("SIMDEDUP_METHOD", "md5", "'exact', 'minhash', 'shingles'"),
    ("SIMDEDUP_EXACT", "page", "'content', 'text', 'body'"),
    ("SIMDEDUP_MASKED", ["colours"], "any of 'case', 'dates', 'times', 'numbers'"),
    ("SIMDEDUP_BITS", 32, "64 or 128"),
    ("SIMDEDUP_SITES", {"news.example": {"mode": "items"}}, "a site can override"),
    ("SIMDEDUP_TRESHOLD", 0.9, "there is no such setting"),
    ("SIMDEDUP_MODES", "pages", "SIMDEDUP_MODE"),
    ("SIMDEDUP_CONFIRM", "feed", "FEEDS"),
    ("SIMDEDUP_MIN_WORDS", "many", "whole number"),
    ("SIMDEDUP_URLS", "learn", "'off', 'observe', 'deprioritize', 'skip'"),
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
    assert repr(value) in sentence or "mode" in sentence
    assert remedy in sentence
    assert site.requested == []


@on_asyncio
async def test_a_password_in_a_wrong_store_url_is_not_shown(site: Site) -> None:
    with pytest.raises(SettingError) as caught:
        await crawl(PathsSpider, ADDON | {"SIMDEDUP_STORE": "mysql://user:hunter2@host/db"}, urls=site.urls("/"))
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.value)
