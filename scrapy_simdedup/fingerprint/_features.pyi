from scrapy_simdedup.fingerprint.features import (
    python_distinct_features,
    python_find_block_signatures,
    python_majority_bits,
    python_numbers_of,
)
from scrapy_simdedup.fingerprint.sketch import python_odd_sketch, python_pack_row, python_sketch, python_unpack_row

distinct_features = python_distinct_features
find_block_signatures = python_find_block_signatures
numbers_of = python_numbers_of
majority_bits = python_majority_bits
sketch = python_sketch
odd_sketch = python_odd_sketch
pack_row = python_pack_row
unpack_row = python_unpack_row
