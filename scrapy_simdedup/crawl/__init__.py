"""Everything that knows Scrapy."""
