from scrapy_simdedup.page.block_tree import python_mark_ancestors, python_mark_descendants, python_subtree_totals
from scrapy_simdedup.page.classify import (
    python_classify_by_roles,
    python_count_mentions,
    python_find_consent_notices,
)
from scrapy_simdedup.page.misnomers import python_unlinked_navigation
from scrapy_simdedup.page.page import python_find_insets, python_make_blocks

subtree_totals = python_subtree_totals
mark_ancestors = python_mark_ancestors
mark_descendants = python_mark_descendants
classify_by_roles = python_classify_by_roles
count_mentions = python_count_mentions
find_consent_notices = python_find_consent_notices
unlinked_navigation = python_unlinked_navigation
find_insets = python_find_insets
make_blocks = python_make_blocks
