"""The site of a host is what tldextract finds by the same list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tldextract import TLDExtract

from scrapy_simdedup.urls.parts import registrable_domain

extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
rules = st.sampled_from(sorted(extract.tlds)).map(lambda rule: rule.removeprefix("*.").removeprefix("!"))
names = st.sampled_from(["www", "a", "city", "EXAMPLE", "xn--bcher-kva", "bücher", "1", ""])


@given(rules, st.lists(names, max_size=3), st.sampled_from([".", "。"]))
def test_a_host_under_any_suffix_belongs_to_what_tldextract_finds(rule: str, before: list[str], stop: str) -> None:
    host = stop.join([*before, "site", *rule.split(".")])
    assert registrable_domain(host) == (extract.extract_str(host).top_domain_under_public_suffix or host)


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("www.ck", "www.ck"),
        ("a.www.ck", "www.ck"),
        ("a.b.shop.ck", "b.shop.ck"),
        ("www.city.kobe.jp", "city.kobe.jp"),
        ("www.食狮.公司.cn", "食狮.公司.cn"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("www.Example.COM.", "Example.COM"),
        ("privatelink.snowflake.app", "privatelink.snowflake.app"),
        ("a.b.c.privatelink.snowflake.app", "b.c.privatelink.snowflake.app"),
    ],
)
def test_rules_with_wildcards_and_exceptions_and_in_other_scripts(host: str, site: str) -> None:
    assert registrable_domain(host) == site
