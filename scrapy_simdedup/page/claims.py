"""The address that a page calls its own: a claim, to be verified as any guess."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin

HEAD = 65_536
"""Characters of a page in which it is looked for."""

_LINK = re.compile(r"<link\b[^<>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w-])([a-z]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""", re.IGNORECASE)
"""Whole names alone: ``data-href`` is none, and a name tried from each of its letters takes quadratic time."""


def claimed_url(html: str, url: str) -> str | None:
    """What a page's ``rel=canonical`` names, else what its ``hreflang=x-default`` does; None where it names neither.

    Not from a parsed page, as none is at hand where workers or known bytes have spared the parsing.

    Args:
        html: The page.
        url: Where it came from.

    >>> claimed_url('<link href="/a?b=1&amp;c=2" rel=canonical>', "https://site.example/a?c=2&b=1&sid=7")
    'https://site.example/a?b=1&c=2'
    """
    default = None
    for tag in _LINK.findall(html[:HEAD]):
        said = {name.lower(): unescape(one or two or three) for name, one, two, three in _ATTRIBUTE.findall(tag)}
        relations = said.get("rel", "").lower().split()
        if "canonical" in relations:
            return _joined(url, said.get("href", ""))
        if "alternate" in relations and said.get("hreflang", "").lower() == "x-default":
            default = default or _joined(url, said.get("href", ""))
    return default


def _joined(url: str, href: str) -> str | None:
    try:
        return urljoin(url, href.strip()) if href.strip() else None
    except ValueError:
        return None
