"""The Scrapy project: one spider, and settings that switch scrapy-simdedup on."""
