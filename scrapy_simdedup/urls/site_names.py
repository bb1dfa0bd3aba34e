"""The name of the site that a host belongs to: its registrable domain."""

from __future__ import annotations

from functools import cache, lru_cache

from tldextract import TLDExtract

_FULL_STOPS = str.maketrans("\u3002\uff0e\uff61", "...")
"""Other characters than the dot that separate the labels of a host (RFC 3490, section 3.1)."""


@lru_cache(maxsize=10_000)
def registrable_domain(host: str) -> str:
    """The registrable domain of a host; the host itself if it has none, as IP addresses and bare suffixes.

    >>> registrable_domain("www.shop.example.co.uk"), registrable_domain("alice.github.io"), registrable_domain("::1")
    ('example.co.uk', 'alice.github.io', '::1')
    """
    rules, labels = _public_suffixes(), host.translate(_FULL_STOPS).rstrip(".").split(".")
    for at in range(len(labels)):
        name, rest = ".".join(labels[at:]).lower(), ".".join(labels[at + 1 :]).lower()
        if f"!{name}" in rules:  # an exception to a wildcard rule
            return ".".join(labels[at:])
        if name in rules or f"*.{rest}" in rules:
            return ".".join(labels[at - 1 :]) if at and labels[at - 1] else host
    return host


def site_name(netloc: str) -> str:
    """The registrable domain of a host that may have a port after it, and a user before it.

    >>> site_name("www.example.com"), site_name("user@127.0.0.1:8080"), site_name("[::1]:8080")
    ('example.com', '127.0.0.1', '[::1]')
    """
    netloc = netloc.rpartition("@")[2]
    return registrable_domain(netloc if netloc.endswith("]") else netloc.rsplit(":", 1)[0])


@cache
def _public_suffixes() -> frozenset[str]:
    """The Public Suffix List as packaged with tldextract: nothing reaches the network or the disk.

    Private suffixes count, so that the users of a host such as github.io are sites of their own and cannot displace
    each other's pages. tldextract itself would keep trees of 17,000 nodes, which the garbage collector visits again
    and again while a crawl runs; a set of texts it skips.
    """
    extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
    return frozenset(form for rule in extract.tlds for form in (rule, _ascii(rule)))


def _ascii(rule: str) -> str:
    """A rule with its labels in Punycode (RFC 3492), as requests send them."""
    labels = rule.split(".")
    return ".".join(label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in labels)
