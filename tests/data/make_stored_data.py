"""Writes what a version of the package stores, for later ones to read: ``python tests/data/make_stored_data.py``.

Once per released version; what was written stays as it is.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from helpers.command_line import perform_here
from helpers.pages import page
from scrapy_simdedup import NearDuplicateDetector, __version__
from scrapy_simdedup.store import store_by_url

SITE = "https://site.example"
PAGES = {
    "/a": page("a", 1),
    "/a?print": page("a", 2),
    "/b": page("b", 1),
    "/lost": page("lost", 1),
    "/short": "<p>Too short to be judged</p>",
}


async def fill(store: str) -> None:
    """Two runs: /a is delivered, repeated by /a?print and fetched again; /b changes; /lost is not delivered."""
    opened = store_by_url(store)
    await opened.open()
    await opened.set_default("secret", f"own:{bytes(range(16)).hex()}")
    await opened.close()
    time = 1_700_000_000.0
    for run, changed in (("monday", {}), ("tuesday", {"/b": page("another b", 1)})):
        detector = NearDuplicateDetector(store, run=run, worker="worker", now=lambda now=time: now)
        await detector.open()
        for path, html in {**PAGES, **changed}.items():
            verdict = await detector.judge(html, url=SITE + path)
            await (detector.release if path == "/lost" else detector.confirm)(verdict.page)
        await detector.close()
        time += 86_400


def main() -> None:
    directory = Path(__file__).parent / __version__
    directory.mkdir()
    store = f"sqlite:///{(directory / 'pages.sqlite').as_posix()}"
    asyncio.run(fill(store))
    perform_here("export", "--store", store, "-o", directory / "pages.jsonl")


if __name__ == "__main__":
    main()
