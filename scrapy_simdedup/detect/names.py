"""Names: the site and the key of a URL, and the name and context of a run."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url

from scrapy_simdedup.settings import Scope
from scrapy_simdedup.store.base import Sleep
from scrapy_simdedup.urls.hosts import registrable_domain

ALL_SITES = "*"
"""The one site of the scope ``all``."""
MAX_HOSTS = 10_000
"""Hosts whose sites are kept: each page, and each of its links, asks for its site."""
_PLAIN_URL = re.compile(r"https?://[a-z0-9.-]+(?::[1-9][0-9]{0,3})?(?:/(?:[\w~-][\w.~-]*)?)+", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")


def site_of(url: str, scope: Scope = "domain") -> str:
    """The site of a URL: its registrable domain, its host, or one for all.

    >>> site_of("https://shop.example.co.uk/a"), site_of("https://alice.github.io/")
    ('example.co.uk', 'alice.github.io')
    >>> site_of("http://localhost:8000/"), site_of("http://127.0.0.1:8000/"), site_of("http://[::1]/")
    ('localhost', '127.0.0.1', '::1')
    >>> site_of("https://shop.example.co.uk/a", "host"), site_of("https://shop.example.co.uk/a", "all")
    ('shop.example.co.uk', '*')
    """
    return ALL_SITES if scope == "all" else _site_of("/".join(url.split("/", 3)[:3]), scope)


@lru_cache(MAX_HOSTS)
def _site_of(url: str, scope: Scope) -> str:
    """The site of a URL that ends behind its host."""
    host = host_of(url)
    return registrable_domain(host) if scope == "domain" else host


def host_of(url: str) -> str:
    """The URL's host in lower case, without port and final dot; empty where there is none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def without_surrogates(url: str) -> str:
    """The URL with U+FFFD for each lone surrogate, as browsers have it; no store could hold it as it is."""
    return _SURROGATE.sub("\ufffd", url)


def comparable_url(url: str) -> str:
    """A URL in the form in which Scrapy compares URLs; most are in it, and w3lib takes 25 µs for each.

    Raises:
        ValueError: it is none.

    >>> comparable_url("http://site.example/a-1/b"), comparable_url("http://site.example?b&a=1#top")
    ('http://site.example/a-1/b', 'http://site.example/?a=1&b=')
    """
    return url if _PLAIN_URL.fullmatch(url) else canonicalize_url(url)


def url_key(url: str) -> bytes:
    """The key of a page without a request fingerprint: a digest of its canonicalised URL."""
    with suppress(ValueError):  # a URL that cannot be parsed stays as it is
        url = comparable_url(url)
    return hashlib.blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class RunContext:
    """A run, the process that works on it, its clock, and how it waits."""

    run: str
    """The run's name, which the workers of one crawl share."""
    worker: str
    """The name of this process; see :func:`~scrapy_simdedup.detect.site_logs.worker_name`."""
    now: Callable[[], float]
    """The clock, in seconds since the epoch."""
    sleep: Sleep
    """Lets other work of the process go on for some seconds."""


def run_name(spider: str, jobdir: str | None) -> str:
    """A new name for each crawl; a job that is paused and resumed keeps the one in its directory."""
    name = f"{spider}-{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    if not jobdir:
        return name
    note = Path(jobdir) / "simdedup.run"
    note.parent.mkdir(parents=True, exist_ok=True)
    known = note.read_text(encoding="utf-8").strip() if note.exists() else ""
    if not known:  # it is empty where the disk was full, or the process was killed, when it was written
        note.write_text(name + "\n", encoding="utf-8")
    return known or name


def spider_of(run: str) -> str:
    """The spider of a run, from the name that :func:`run_name` made."""
    return run.rsplit("-", 2)[0]
