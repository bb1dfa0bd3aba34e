from scrapy_simdedup.page.content_features import python_counted_features, python_gather
from scrapy_simdedup.page.content_model import python_choose_blocks, python_sum_leaves, python_what_was_said

counted_features = python_counted_features
choose_blocks = python_choose_blocks
gather = python_gather
sum_leaves = python_sum_leaves
what_was_said = python_what_was_said
