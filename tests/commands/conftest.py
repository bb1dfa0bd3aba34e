"""A store that a real crawl wrote."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from helpers.command_line import REPEATS, Crawled, remember
from helpers.on_asyncio import wait_for
from helpers.pages import page, prose
from helpers.site_server import Site


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """Three documents under several URLs, one that is merely similar to the first, and one that is too short."""
    with Site() as site:
        for name, repeats in REPEATS.items():
            for number in range(repeats + 1):
                site[f"/{name}?v={number}"] = page(name, number)
        site["/like-a?v=0"] = page("a", body=prose("a", 210) + prose("other", 30))
        site["/short?v=0"] = "<p>Too short</p>"
        made = Crawled(tmp_path_factory.mktemp("crawled"), site)
        remember(made.store, "secret", f"own:{bytes(16).hex()}")
        wait_for(made.crawl(SIMDEDUP_RUN="monday"))
        yield made
