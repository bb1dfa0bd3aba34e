"""A crawl as a script, ``python crawl_script.py KIND URL...``, which prints what came of it as JSON; ``run`` calls it.

KIND is ``asyncio``, ``plain`` (a Twisted reactor without asyncio) or ``reactorless``. Settings come as JSON from the
environment variable SETTINGS.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "asyncio": (CrawlerProcess, {}),
    "plain": (CrawlerProcess, {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}),
    "reactorless": (AsyncCrawlerProcess, {"TWISTED_REACTOR_ENABLED": False}),
}
SCRIPT = Path(__file__)


class Script(Spider):
    name = "script"
    urls: list[str] = []

    async def start(self) -> Any:
        for number, url in enumerate(self.urls):
            yield Request(url, priority=-number, dont_filter=True)

    def parse(self, response: Any) -> Any:
        if response.url.endswith("?fails"):
            raise ValueError("the page broke")
        yield {"url": response.url}


def main(kind: str, *urls: str) -> None:
    process_class, settings = KINDS[kind]
    items: list[str] = []
    process = process_class(
        {
            "ADDONS": {"scrapy_simdedup.Addon": 500},
            "TELNETCONSOLE_ENABLED": False,
            "CONCURRENT_ITEMS": 4,
            "REMOTE_CONTROL_ENABLED": False,
            "CONCURRENT_REQUESTS": 1,
            **settings,
            **json.loads(os.environ.get("SETTINGS", "{}")),
        }
    )
    crawler = process.create_crawler(type("Script", (Script,), {"urls": list(urls)}))

    def scraped(item: Any) -> None:
        items.append(item["url"])

    crawler.signals.connect(scraped, signals.item_scraped)
    process.crawl(crawler)
    process.start()
    stats = {
        name: value
        for name, value in crawler.stats.get_stats().items()
        if name.startswith("simdedup/") and "seconds" not in name
    }
    print(json.dumps({"items": items, "stats": stats}))


def run(kind: str, urls: list[str], script: Path = SCRIPT, **settings: Any) -> dict[str, Any]:
    """Crawl in a process of its own."""
    from helpers.warm_python import run_python  # a script has no other module of the tests

    done = run_python([script, kind, *urls], env=os.environ | {"SETTINGS": json.dumps(settings)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]) | {"log": done.stderr}


if __name__ == "__main__":
    main(*sys.argv[1:])
