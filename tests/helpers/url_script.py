"""A crawl that exports what it finds to a file, to be killed: ``python url_script.py KIND ROOT START OUT``.

KIND is that of ``crawl_script.py``. It follows every link from the path START. Settings come as JSON from the
environment variable SETTINGS; the stats of a crawl that ends are printed as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from scrapy import Request

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.crawl_script import KINDS
from helpers.url_site import Reader


class Export:
    """One line per item, in the file before the item counts as scraped."""

    def __init__(self) -> None:
        self.file = os.open(sys.argv[4], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def process_item(self, item: Any) -> Any:
        os.write(self.file, f"{item['content']}\n".encode())
        return item


class From(Reader):
    """Begins where it is told to."""

    async def start(self) -> Any:
        yield Request(sys.argv[2] + sys.argv[3])


if __name__ == "__main__":
    From.root = sys.argv[2]
    process_class, settings = KINDS[sys.argv[1]]
    process = process_class(
        {
            "ADDONS": {"scrapy_simdedup.Addon": 500},
            "ITEM_PIPELINES": {Export: 500},
            "TELNETCONSOLE_ENABLED": False,
            "CONCURRENT_ITEMS": 4,
            "REMOTE_CONTROL_ENABLED": False,
            "LOG_LEVEL": "WARNING",
            "CONCURRENT_REQUESTS": 1,
            **settings,
            **json.loads(os.environ["SETTINGS"]),
        }
    )
    crawler = process.create_crawler(From)
    process.crawl(crawler)
    process.start()
    print(json.dumps({name: n for name, n in crawler.stats.get_stats().items() if name.startswith("simdedup/urls/")}))
