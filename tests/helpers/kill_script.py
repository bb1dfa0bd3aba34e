"""A crawl that exports articles to a file, to be killed at any instant.

    python kill_script.py ROOT ARTICLES OUT [VARIANTS]

Settings come as JSON from the environment variable SETTINGS. With FAILS set, every other item fails in the pipeline.
"""

from __future__ import annotations

import json
import os
import random
import sys
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess

VARIANTS = sys.argv[4].split(",") if len(sys.argv) > 4 else ["", "?print=1", "?utm_source=mail"]


class Articles(Spider):
    name = "articles"
    root = ""
    count = 0

    async def start(self) -> Any:
        for number in range(self.count):
            for variant in VARIANTS:
                yield Request(f"{self.root}/{number}{variant}", dont_filter=True)

    def parse(self, response: Any) -> Any:
        yield {"article": response.url.partition("?")[0].rpartition("/")[2]}


class Export:
    """One line per item, in the file before the item counts as scraped."""

    def __init__(self) -> None:
        self.file = os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def process_item(self, item: Any) -> Any:
        if "FAILS" in os.environ and random.random() < 0.5:
            raise RuntimeError("the disk is full")
        os.write(self.file, f"{item['article']}\n".encode())
        return item


if __name__ == "__main__":
    Articles.root, Articles.count = sys.argv[1], int(sys.argv[2])
    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_simdedup.Addon": 500},
            "ITEM_PIPELINES": {Export: 500},
            "TELNETCONSOLE_ENABLED": False,
            "CONCURRENT_ITEMS": 4,
            "REMOTE_CONTROL_ENABLED": False,
            "LOG_LEVEL": "CRITICAL" if "FAILS" in os.environ else "WARNING",
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "SIMDEDUP_UNCHANGED": "drop",
            **json.loads(os.environ["SETTINGS"]),
        }
    )
    process.crawl(Articles)
    process.start()
