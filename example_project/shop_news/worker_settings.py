"""Scrapy's settings for one of several crawlers that share the shop: those of one crawler, and what they share."""

from __future__ import annotations

import os

from shop_news.settings import *  # noqa: F403 - all of them

SPIDER_MODULES = ["shop_news.worker_spiders"]

# ------------------------------------------------------------------ scrapy-redis: who fetches what

REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
SCHEDULER = "scrapy_redis.scheduler.Scheduler"
DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"

# Without this line the first worker that ends throws away what the others still have to do.
SCHEDULER_PERSIST = True

# Seconds without a start URL after which a worker ends once it has nothing to do; by default it never does.
MAX_IDLE_TIME_BEFORE_CLOSE = 15

# ------------------------------------------------------------------ scrapy-simdedup: who has seen what

SIMDEDUP_STORE = REDIS_URL

# The workers of one crawl are one run.
SIMDEDUP_RUN = os.environ.get("SIMDEDUP_RUN", "today")

# What one worker learned about URLs saves the others fetches, too.
SIMDEDUP_URL_LEARNING = "skip"

# ------------------------------------------------------------------ Scrapy

# A worker without work looks for some every five seconds. The shop is small: without a pause, the first worker would
# have read all of it by then.
DOWNLOAD_DELAY = 0.05

# Each worker has a file of its own: scrapy crawl shared_shop -O data/worker-1.jsonl
FEEDS = {}
