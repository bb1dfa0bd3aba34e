from scrapy_simdedup.page.raw import harmless as harmless
from scrapy_simdedup.page.raw import long_tags as long_tags
