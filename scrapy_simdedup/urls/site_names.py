"""The site that a host belongs to: its registrable domain."""

from __future__ import annotations

from functools import lru_cache

from tldextract import TLDExtract

_extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
"""The Public Suffix List as packaged with tldextract: nothing reaches the network or the disk."""


@lru_cache(maxsize=10_000)
def site_name(host: str) -> str:
    """The registrable domain by the Public Suffix List, private suffixes included; the host itself if it has none.

    >>> site_name("www.shop.example.co.uk"), site_name("alice.github.io"), site_name("127.0.0.1:8080")
    ('example.co.uk', 'alice.github.io', '127.0.0.1')
    """
    bare = host if host.endswith("]") else host.rsplit(":", 1)[0]
    return _extract.extract_str(bare).top_domain_under_public_suffix or bare
