"""The spider of several workers: it takes its requests, the first one too, out of Redis."""

from __future__ import annotations

from typing import Any

from scrapy import Request
from scrapy_redis.spiders import RedisSpider

from shop_news.spiders.shop import ShopSpider


class SharedShopSpider(RedisSpider, ShopSpider):
    """Reads the shop whose address somebody pushes: ``redis-cli LPUSH shared_shop:start_urls http://...``."""

    name = "shared_shop"
    redis_batch_size = 1
    """How many start URLs a worker takes at a time."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = []  # each worker would fetch them

    def make_request_from_data(self, data: bytes) -> Request:
        """The request for a start URL, which no link repeats then; scrapy-redis itself would fill in a form."""
        return Request(data.decode())
