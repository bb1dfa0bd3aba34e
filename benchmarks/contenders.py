"""What tells whether two pages are the same: the package, the package without one of its parts, and what others use."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import lxml.html

from recipe import RADIUS
from recipe import fingerprint as recipe_of
from scrapy_simdedup import DedupSettings, PageFingerprint, fingerprint_page
from scrapy_simdedup.fingerprint.make import body_digest, fingerprint_parsed
from scrapy_simdedup.fingerprint.similarity import IDENTICAL_RESEMBLANCE, score
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import read_page

if TYPE_CHECKING:
    from collections.abc import Callable

_SETTINGS = DedupSettings()


@dataclass(frozen=True)
class Contender:
    """Two steps, as with a store: a page is read once, and compared often."""

    read: Callable[[str], Any]
    same: Callable[[Any, Any], bool]


def contenders() -> tuple[dict[str, Contender], list[str]]:
    """Those whose packages are installed, by name, and the packages that are not."""
    found = {
        "all on": Contender(fingerprint_page, lambda one, other: one.compare(other).kind == "identical"),
        "no roles": Contender(_without_roles, lambda one, other: one.compare(other).kind == "identical"),
        "resemblance only": Contender(fingerprint_page, _resemble),
        "exact text": Contender(lambda html: hashlib.sha256(_text(html).encode()).digest(), _with_equal_text),
    }
    missing = []
    for name, package, make in (("simhash, 3 bits", "simhash", _simhash), ("MinHash, 0.9", "datasketch", _minhash)):
        if find_spec(package):
            found[name] = make()
        else:
            missing.append(package)
    found["recipe"] = Contender(
        recipe_of,
        lambda one, other: one is not None and other is not None and (one ^ other).bit_count() <= RADIUS,
    )
    return found, missing


def _with_equal_text(one: Any, other: Any) -> bool:
    return bool(one == other)


def _resemble(one: PageFingerprint, other: PageFingerprint) -> bool:
    """The texts alone decide, whatever their headlines and their own passages."""
    if one.unjudged or other.unjudged:
        return one.compare(other).kind == "identical"
    return bool(score(one.comparison_row[0], other.comparison_row).resemblance[0] >= IDENTICAL_RESEMBLANCE)


def _without_roles(html: str) -> PageFingerprint:
    """All text of the page counts as its own."""
    page = read_page(html)
    blocks = tuple(block._replace(block_class=BlockClass.CONTENT, boilerplate_roles=0) for block in page.blocks)
    return fingerprint_parsed(page._replace(blocks=blocks), body_digest(html), _SETTINGS)


def _simhash() -> Contender:
    from simhash import Simhash

    return Contender(lambda html: Simhash(_text(html)), lambda one, other: one.distance(other) <= RADIUS)


def _minhash() -> Contender:
    from datasketch import MinHash

    def read(html: str) -> Any:
        words = re.findall(r"\w+", _text(html).lower())
        made = MinHash(num_perm=128)
        made.update_batch([" ".join(words[at : at + 4]).encode() for at in range(max(1, len(words) - 3))])
        return made

    return Contender(read, lambda one, other: one.jaccard(other) >= 0.9)


def _text(html: str) -> str:
    with suppress(lxml.etree.ParserError):
        # As bytes: lxml does not take a text that declares an encoding.
        parser = lxml.html.HTMLParser(encoding="utf-8")
        tree = lxml.html.document_fromstring(html.encode("utf-8", "replace"), parser=parser)
        for element in tree.xpath("//script|//style|//noscript|//template"):
            element.drop_tree()
        return " ".join(" ".join(tree.itertext()).split())
    return ""
