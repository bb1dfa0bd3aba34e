from scrapy_simdedup.page.content_tree import (
    python_build_content_tree,
    python_inner_links,
    python_single_spaced,
)

build_content_tree = python_build_content_tree
inner_links = python_inner_links
single_spaced = python_single_spaced
