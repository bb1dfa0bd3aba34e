"""The spiders that share their requests; they need scrapy-redis."""
