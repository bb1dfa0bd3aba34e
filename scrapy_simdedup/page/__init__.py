"""HTML → Page: what a page says, and which role each part of it plays. Pure: no Scrapy, no store."""
