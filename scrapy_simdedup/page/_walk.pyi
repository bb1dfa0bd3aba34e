from scrapy_simdedup.page.walk import walk as walk
