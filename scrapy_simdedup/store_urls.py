"""The forms of store URLs, and how one is shown to people."""

from __future__ import annotations

import re

STORE_FORMS = {
    "memory": "memory:",
    "sqlite": "sqlite:///path/to/pages.sqlite",
    "redis": "redis://host:6379/0",
    "rediss": "rediss://host:6379/0",
    "redis+cluster": "redis+cluster://host:6379",
    "unix": "unix:///path/to/redis.sock?db=0",
    "postgresql": "postgresql://user@host/database",
}
"""The store schemes there are, with an example of each."""


def without_password(url: str) -> str:
    """The URL with its password, if it has one, as ``***``; safe for logs and errors."""
    url = re.sub(r"([?&](?:ssl_?)?password=)[^&]*", r"\1***", url)
    # Not by urlsplit: a URL that does not parse may hide its password anywhere before the last @.
    return re.sub(r"(//[^/@:]*:|^(?!.*//)[^/@:]*:).*@", r"\1***@", url, flags=re.DOTALL)
