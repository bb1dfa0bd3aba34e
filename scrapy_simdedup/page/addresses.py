"""The addresses of a page's links and images, absolute, and without those that cannot be followed."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, cast
from urllib.parse import urljoin

from lxml import etree

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MAX_BASE_LENGTH = 1_000
"""Characters of a base address; with a longer one the links of a page could take up memory without bounds."""
MAX_LEVELS_TO_PICTURE = 8
"""Elements between an image and the ``<picture>`` around it."""
_base_of = cast(
    "Callable[[HtmlElement], str]", etree.XPath("string((head | body)/base[@href][1]/@href)", smart_strings=False)
)
_LAZY_ATTRIBUTES = ("data-src", "data-lazy-src", "data-original", "data-lazy")
_SRCSET_ATTRIBUTES = ("data-srcset", "data-lazy-srcset", "srcset")
_UNUSABLE_SCHEME = re.compile(r"\s*(?:javascript|vbscript|data|about|blob):", re.IGNORECASE)
_LINE_BREAKS = re.compile(r"[\t\n\r]")
_IS_ABSOLUTE = re.compile(r"https?://[^\s/?#\[\]]+(?:[/?#]\S*)?", re.IGNORECASE).fullmatch
_ORIGIN = re.compile(r"https?://[^\s/?#\[\]]+", re.IGNORECASE)
_IS_PATH = re.compile(r"/(?!/)[^\s?#.]*(?:[?#]\S*)?").fullmatch
"""Whether an address is a path of the same host that needs no work: no host, no dots, no white space."""


class Addresses:
    """The absolute addresses of one page's links and images.

    Without the page's ``url`` and a ``<base>``, relative addresses stay as they are.
    """

    def __init__(self, root: HtmlElement, url: str = "") -> None:
        base = _base_of(root)
        joined = "" if _UNUSABLE_SCHEME.match(base) else _joined(url, base.strip())
        self._base: str = joined if len(joined) <= MAX_BASE_LENGTH else ""
        found = _ORIGIN.match(self._base)
        self._origin: str = found[0] if found else ""

    def absolute(self, address: str) -> str:
        """The absolute address, or "" for one that cannot be followed."""
        if _IS_ABSOLUTE(address):
            return address
        if self._origin and _IS_PATH(address):
            return self._origin + address
        address = _LINE_BREAKS.sub("", address).strip()
        return "" if _UNUSABLE_SCHEME.match(address) else _joined(self._base, address)

    def of_link(self, link: HtmlElement) -> str:
        """The absolute address of an ``<a>``; "" for one that leads nowhere, or to a part of the same page."""
        address = link.get("href")
        return "" if not address or address.startswith("#") else self.absolute(address)

    def of_image(self, image: HtmlElement) -> str:
        """The absolute address of an ``<img>``, also where a script loads it when the reader scrolls down."""
        lazy = next(filter(None, map(image.get, _LAZY_ATTRIBUTES)), "")
        address = image.get("src", "")
        found = lazy or ("" if _UNUSABLE_SCHEME.match(address) else address) or _address_in_srcset(image)
        if not found:
            around = next((e for e in islice(image.iterancestors(), MAX_LEVELS_TO_PICTURE) if e.tag == "picture"), None)
            sources = () if around is None else around.iterdescendants("source")
            found = next(filter(None, map(_address_in_srcset, sources)), "")
        return self.absolute(found) if found else ""


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:  # such as http://[
        return ""


def _address_in_srcset(element: HtmlElement) -> str:
    return next(filter(None, (_largest_in_srcset(element.get(name, "")) for name in _SRCSET_ATTRIBUTES)), "")


def _largest_in_srcset(srcset: str) -> str:
    """The address of the largest image of a ``srcset`` such as ``"small.png 480w, large.png 2x"``."""
    candidates = [words for part in re.split(r",\s", srcset) if (words := part.split())]
    return max(candidates, key=_size, default=[""])[0].strip(",")


def _size(candidate: list[str]) -> float:
    size = re.fullmatch(r"(\d+(?:\.\d+)?)[wx],?", candidate[-1])
    return float(size[1]) if size else 1.0
