from scrapy_simdedup.fingerprint.text_units import python_keep_units, python_page_units

page_units = python_page_units
keep_units = python_keep_units
