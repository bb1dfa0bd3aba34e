"""A real crawl by each method."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.methods import METHODS
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from helpers.site_server import Site

TWICE = "/again"
REFRAMED = "/reframed"


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("store", ["memory:", "sqlite:///{path}/pages.sqlite"])
@on_asyncio
async def test_what_a_method_calls_a_repeat_is_dropped(site: Site, name: str, store: str, tmp_path: Any) -> None:
    """The very page again by each of them, and in another frame by those that know what a frame is."""
    site["/one"] = page("one", 1)
    site["/two"] = page("two", 1)
    site[TWICE] = page("one", 1)
    site[REFRAMED] = page("two", 2)
    settings = {f"SIMDEDUP_{key.upper()}": value for key, value in METHODS[name].items()}
    settings["SIMDEDUP_STORE"] = store.format(path=tmp_path)
    done = await crawl(PathsSpider, ADDON | settings, urls=site.urls("/one", "/two", TWICE, REFRAMED))
    kept = [REFRAMED] if name in {"exact body", "exact masked text"} else []
    assert done.urls == site.urls("/one", "/two", *kept)
    assert done.stat("pages/identical") == 2 - len(kept)
    assert done.stat("pages/dropped") == 2 - len(kept)
    assert done.stat("confirmed") == 2 + len(kept)
    assert done.stat("store/error_count") == 0


@pytest.mark.parametrize("name", METHODS)
@on_asyncio
async def test_a_second_crawl_tells_what_changed(site: Site, name: str, tmp_path: Any) -> None:
    """Each page against what its own URL gave before."""
    settings = {f"SIMDEDUP_{key.upper()}": value for key, value in METHODS[name].items()}
    settings["SIMDEDUP_STORE"] = f"sqlite:///{tmp_path}/pages.sqlite"
    site["/same"], site["/other"] = page("same"), page("other")
    await crawl(PathsSpider, ADDON | settings, urls=site.urls("/same", "/other"))
    site["/other"] = page("other", body=prose("rewritten"))
    done = await crawl(PathsSpider, ADDON | settings, urls=site.urls("/same", "/other"))
    assert done.stat("pages/unchanged") == 1
    assert done.stat("pages/changed") == 1


@on_asyncio
async def test_a_budget_keeps_the_first_pages_of_a_content(site: Site) -> None:
    """The others are dropped as ever."""
    paths = [f"/{number}" for number in range(4)]
    for number, path in enumerate(paths):
        site[path] = page("one", number)
    done = await crawl(PathsSpider, ADDON | {"SIMDEDUP_MAX_COPIES": 3}, urls=site.urls(*paths))
    assert done.urls == site.urls(*paths[:3])
    assert done.stat("pages/identical") == 3
    assert done.stat("pages/dropped") == 1
    assert done.stat("confirmed") == 3
