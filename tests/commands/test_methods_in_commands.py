"""The commands work on stores of every method."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.command_line import Crawled
from helpers.methods import METHODS
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site


@pytest.mark.parametrize("name", METHODS)
@on_asyncio
async def test_what_a_crawl_stored_can_be_looked_at(name: str, tmp_path: Path) -> None:
    """Looked up, searched, listed, checked, reported and taken elsewhere."""
    settings = {f"SIMDEDUP_{key.upper()}": value for key, value in METHODS[name].items()}
    with Site() as site:
        for number in range(4):
            site[f"/{number}"] = page(number)
        site["/again"] = page(0)
        shop = Crawled(tmp_path, site)
        done = await shop.crawl(**settings)
        assert done.stat("pages/dropped") == 1
        assert site.url("/0") in shop.call("explain", site.url("/again")).out
        similar = shop.call("similar", site.url("/again"), "--json").json
        assert site.url("/0") in str(similar)
        assert site.url("/0") in shop.call("clusters").out
        assert shop.call("check", "--json").json["pages"] == 5
        assert shop.call("report", "--json").json["pages"] == 5
        assert shop.call("calibrate", "--json").code in {0, 1}
        assert shop.call("moved").code == 1
        exported = tmp_path / "pages.jsonl"
        shop.call("export", "-o", str(exported))
        assert len(exported.read_text("utf-8").splitlines()) >= 5
