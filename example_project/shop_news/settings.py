"""Scrapy's settings for the shop."""

from pathlib import Path

BOT_NAME = "shop_news"
SPIDER_MODULES = ["shop_news.spiders"]

# ------------------------------------------------------------------ scrapy-simdedup

# This line switches it on. Everything below has a default that is right for most sites.
ADDONS = {"scrapy_simdedup.Addon": 500}

# What the crawl has seen, kept for the next one; without this line it is forgotten at the end.
SIMDEDUP_STORE = "sqlite:///data/pages.sqlite"

# Every item gets its page's content as Markdown, without menus and ads.
SIMDEDUP_MARKDOWN_FIELD = "markdown"

# What somebody who has seen the shop can tell about its addresses. It does nothing until SIMDEDUP_URL_LEARNING is
# "skip", which finds out about the others by itself, and then does not fetch what leads to known content.
SIMDEDUP_URL_RULES = [str(Path(__file__).parent.parent / "url_rules.json")]

# Worth a try: SIMDEDUP_MODE = "observe" counts repeats and drops none, and SIMDEDUP_DROP = "near" drops what is merely
# similar too; see what becomes of the product twins.

# ------------------------------------------------------------------ Scrapy

FEEDS = {"data/items.jsonl": {"format": "jsonlines", "encoding": "utf-8", "overwrite": True}}

# The shop's calendar has no end. Near pages come first, so that this limit cuts nothing else.
DEPTH_LIMIT = 10
DEPTH_PRIORITY = 1
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"

# Nor has the page that lists everything.
DOWNLOAD_MAXSIZE = 1_000_000

# The shop is our own machine; be gentler with the machines of others.
DOWNLOAD_DELAY = 0
CONCURRENT_REQUESTS_PER_DOMAIN = 8
ROBOTSTXT_OBEY = True

LOG_LEVEL = "INFO"
STATS_DUMP = False
