from scrapy_simdedup.fingerprint.hashing import hash_shingles as hash_shingles
from scrapy_simdedup.fingerprint.hashing import hash_words as hash_words
from scrapy_simdedup.fingerprint.hashing import split_words as split_words
