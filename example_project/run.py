"""The demonstration: serve the shop, crawl it, and check what was delivered. The exit code is 1 if a promise broke."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from check import promises
from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

HERE = Path(__file__).parent
ITEMS = HERE / "data" / "items.jsonl"


@contextmanager
def shop() -> Iterator[str]:
    """The shop's address, while its server runs in a process of its own."""
    with subprocess.Popen([sys.executable, "-m", "website.server"], stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def crawl(site: str) -> tuple[list[str], int]:
    """What ``scrapy crawl shop -a site=...`` does.

    Returns:
        The path and query of every page that was fetched, and how many of them were dropped as repeats.
    """
    visited: list[str] = []

    def note(response: Response) -> None:
        url = urlsplit(response.url)
        visited.append(url._replace(scheme="", netloc="").geturl())

    process = CrawlerProcess(get_project_settings())
    crawler = process.create_crawler("shop")
    crawler.signals.connect(note, signal=signals.response_received)
    process.crawl(crawler, site=site)
    process.start()
    return visited, crawler.stats.get_value("simdedup/pages/dropped", 0)


def main() -> int:
    os.chdir(HERE)
    ITEMS.parent.mkdir(exist_ok=True)
    with shop() as site:
        visited, dropped = crawl(site)
    table = promises(ITEMS, visited, dropped)
    print("\nWhat was promised:")
    for promise in table:
        print(f"  {promise}")
    return 0 if all(promise.holds for promise in table) else 1


if __name__ == "__main__":
    sys.exit(main())
