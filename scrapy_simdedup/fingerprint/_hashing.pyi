from scrapy_simdedup.fingerprint.hashing import hash_words as hash_words
from scrapy_simdedup.fingerprint.hashing import join_shingles as join_shingles
