"""The site that a host belongs to: its registrable domain."""

from __future__ import annotations

from functools import lru_cache

from tldextract import TLDExtract

_extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
"""The Public Suffix List as packaged with tldextract: nothing reaches the network or the disk. Private suffixes count,
so that the users of a host such as github.io are sites of their own and cannot displace each other's pages."""


@lru_cache(maxsize=10_000)
def registrable_domain(host: str) -> str:
    """The registrable domain of a host; the host itself if it has none, as IP addresses and bare suffixes.

    >>> registrable_domain("www.shop.example.co.uk"), registrable_domain("alice.github.io"), registrable_domain("::1")
    ('example.co.uk', 'alice.github.io', '::1')
    """
    return _extract.extract_str(host).top_domain_under_public_suffix or host


def site_name(netloc: str) -> str:
    """The registrable domain of a host that may have a port.

    >>> site_name("www.example.com"), site_name("127.0.0.1:8080"), site_name("[::1]:8080")
    ('example.com', '127.0.0.1', '[::1]')
    """
    return registrable_domain(netloc if netloc.endswith("]") else netloc.rsplit(":", 1)[0])
