"""The structure of a page: which elements stand inside which. It tells a new template from new content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from scrapy_simdedup.fingerprint.minhash import low_bits, minhash, resemblance
from scrapy_simdedup.fingerprint.words import word_hashes
from scrapy_simdedup.page.blocks import BLOCK_TAGS

if TYPE_CHECKING:
    from lxml.html import HtmlElement

SIZE = 64
"""Bytes of a structure, each of one permutation."""
LEVELS = 3
"""Elements of a path: one, and those around it."""
SAME_TEMPLATE = 0.6
"""Resemblance from which two structures come from one template."""

Change = Literal["none", "content", "template", "both"]
"""What is new about a page: nothing, another content in the same template, the same content in another one, both."""

_LAYOUT = BLOCK_TAGS - {"br", "hr"}
_CLASSES = 200
"""Characters of a class attribute that are read."""


def structure(root: HtmlElement, secret: bytes = b"") -> bytes:
    """The MinHash of the paths of a page's block elements; see :func:`structures_resemblance`.

    A path counts once, so that a list may grow. Names of classes belong to it, unless they have digits, which number
    pages and builds.

    Args:
        root: The page's tree; stays as it is.
        secret: Key under the hashes.
    """
    paths: dict[HtmlElement | None, tuple[str, ...]] = {}
    for element in root.iter(*_LAYOUT):
        above = paths.get(element.getparent(), ())
        paths[element] = (*above[1 - LEVELS :], _label(element))
    digest = word_hashes(secret).digest
    raw = b"".join(digest(" > ".join(path).encode("utf-8", "surrogatepass")) for path in set(paths.values()))
    return low_bits(minhash(np.frombuffer(raw, "<u8").astype(np.uint64, copy=False), SIZE), 8).tobytes()


def structures_resemblance(one: bytes, other: bytes) -> float:
    """Estimate which share of their paths two pages have in common, 0 to 1; the standard error is 0.06 at most."""
    values = (np.frombuffer(raw, np.uint8) for raw in (one, other))
    return float(resemblance(next(values), next(values)[None])[0])


def what_changed(*, same_content: bool, one: bytes, other: bytes) -> Change:
    """Tell a redesign from an edit.

    Args:
        same_content: What the pages' fingerprints say.
        one: The structure of the page as it was.
        other: Its structure now.
    """
    if structures_resemblance(one, other) >= SAME_TEMPLATE:
        return "none" if same_content else "content"
    return "template" if same_content else "both"


def _label(element: HtmlElement) -> str:
    names = {name for name in element.get("class", "")[:_CLASSES].lower().split() if name.replace("-", "").isalpha()}
    return ".".join((str(element.tag), *sorted(names)))
