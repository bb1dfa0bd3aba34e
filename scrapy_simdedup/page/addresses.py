"""Links and images with addresses that work outside of the page: absolute, and the real one where a script loads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MAX_BASE = 1_000
"""Characters of a base address; with a longer one the links of a page could take up memory without bounds."""

_LAZY = ("data-src", "data-lazy-src", "data-original", "data-lazy")
_SRCSETS = ("data-srcset", "data-lazy-srcset", "srcset")
_USELESS = re.compile(r"(?:javascript|vbscript|data|about|blob):", re.IGNORECASE)


def resolve_addresses(root: HtmlElement, url: str = "") -> None:
    """Make the addresses of links and images absolute, in place; those that lead nowhere are taken off.

    Args:
        root: The ``<html>`` element.
        url: The page's address. Without it, and without a ``<base>``, relative addresses stay as they are.
    """
    base = _join(url, next((element.get("href") for element in root.iter("base") if element.get("href")), ""))
    if len(base) > MAX_BASE:
        base = ""
    for image in root.iter("img"):
        _set(image, "src", _join(base, _source(image)))
    for link in root.iter("a"):
        address = link.get("href")
        if address is not None and not address.startswith("#"):
            _set(link, "href", _join(base, address))


def _source(image: HtmlElement) -> str:
    """Where an image comes from, also if a script is to put it there when the reader scrolls down."""
    picture = next(image.iterancestors("picture"), None)
    sources = [image] if picture is None else [image, *picture.iter("source")]
    lazy = next(filter(None, map(image.get, _LAZY)), "")
    sets = (_largest(element.get(name, "")) for element in sources for name in _SRCSETS)
    address = image.get("src", "")
    return lazy or ("" if _USELESS.match(address.strip()) else address) or next(filter(None, sets), "")


def _largest(srcset: str) -> str:
    """The address of the largest image of a ``srcset`` such as ``"small.png 480w, large.png 2x"``."""
    candidates = [words for part in re.split(r",\s", srcset) if (words := part.split())]
    return max(candidates, key=_size, default=[""])[0].strip(",")


def _size(candidate: list[str]) -> float:
    size = re.fullmatch(r"(\d+(?:\.\d+)?)[wx],?", candidate[-1])
    return float(size[1]) if size else 1.0


def _join(base: str, address: str) -> str:
    """The absolute address, or "" for one that cannot be followed."""
    address = re.sub(r"[\t\n\r]", "", address).strip()
    if _USELESS.match(address):
        return ""
    try:
        return urljoin(base, address)
    except ValueError:  # such as http://[
        return ""


def _set(element: HtmlElement, name: str, address: str) -> None:
    if address:
        element.set(name, address)
    elif name in element.attrib:
        del element.attrib[name]
