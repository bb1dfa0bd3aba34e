"""The canonical URL that a page declares for itself. Pages declare wrong ones, so it is verified like any guess."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin

MAX_HEAD = 65_536
"""Characters of a page in which the declaration is looked for."""

_LINK = re.compile(r"<link\b[^<>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w-])([a-z]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""", re.IGNORECASE)
"""An attribute with its whole name: ``data-href`` is not ``href``, and a name tried from each of its letters takes
quadratic time."""


def declared_canonical_url(html: str, url: str) -> str | None:
    """The URL of a page's ``rel=canonical``, else of its ``hreflang=x-default``; None where it declares neither.

    The HTML is searched and not a parsed page, because workers and known bytes spare the parsing.

    Args:
        html: The decoded page.
        url: The page's own URL, against which a relative one is resolved.

    >>> declared_canonical_url('<link href="/a?b=1&amp;c=2" rel=canonical>', "https://site.example/a?c=2&b=1&sid=7")
    'https://site.example/a?b=1&c=2'
    """
    default = None
    for tag in _LINK.findall(html[:MAX_HEAD]):
        attributes = {name.lower(): unescape(one or two or three) for name, one, two, three in _ATTRIBUTE.findall(tag)}
        relations = attributes.get("rel", "").lower().split()
        if "canonical" in relations:
            return _absolute_url(url, attributes.get("href", ""))
        if "alternate" in relations and attributes.get("hreflang", "").lower() == "x-default":
            default = default or _absolute_url(url, attributes.get("href", ""))
    return default


def _absolute_url(url: str, href: str) -> str | None:
    try:
        return urljoin(url, href.strip()) if href.strip() else None
    except ValueError:
        return None
