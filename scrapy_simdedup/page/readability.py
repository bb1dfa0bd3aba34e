"""readability-lxml's article of a parsed page, at about half the cost.

The algorithm is Arc90's Readability as readability-lxml implements it. A third of its time goes into a cleaning of the
page that :mod:`.clean` has done already, and another third into counting characters with three regular expressions per
element. These two are replaced here, and names of classes are looked up once; what is scored, and how, stays as it is.
"""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache

from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring
from readability import Document
from readability.readability import REGEXES


class ArticleDocument(Document):  # type: ignore[misc]  # readability-lxml ships no types
    """``Document`` on a tree instead of a string: ``ArticleDocument(root).article()``.

    Each override stands for itself. Where a version of readability-lxml no longer calls one, its own code takes over,
    which is slower and finds the same words.

    Args:
        root: A page's ``<html>`` element without scripts, comments and hidden elements. It stays as it is.
    """

    def __init__(self, root: HtmlElement) -> None:
        super().__init__(root)
        self._article: HtmlElement | None = None

    def article(self) -> HtmlElement:
        """The article, as a ``<div>`` of its own.

        Raises:
            readability.readability.Unparseable: whatever went wrong inside.
        """
        summary = self.summary(html_partial=True)
        return fragment_fromstring(summary, create_parent="div") if self._article is None else self._article

    def _parse(self, root: HtmlElement) -> HtmlElement:
        return deepcopy(root)

    def get_clean_html(self) -> str:
        """The found article as HTML. The tree itself is kept, which saves parsing it again."""
        self._article = self.html
        return etree.tostring(self.html, encoding="unicode", method="html")

    def remove_unlikely_candidates(self) -> None:
        """Drop what its class and id call boilerplate, unless it holds the main part or belongs to code."""
        for element in self.html.findall(".//*"):
            names = f"{element.get('class', '')} {element.get('id', '')}"
            if (
                len(names) > 1
                and _are_unlikely(names)
                and element.tag not in {"html", "body"}
                and not _is_kept(element)
            ):
                element.drop_tree()

    def get_link_density(self, elem: HtmlElement) -> float:
        """The share of an element's characters that lies in links; a run of white space is one character."""
        links = elem.findall(".//a")
        return sum(map(text_length, links)) / max(text_length(elem), 1) if links else 0.0


_is_kept = etree.XPath(
    "boolean(ancestor-or-self::*[self::pre or self::code]"
    " | descendant-or-self::*[self::main or self::article or self::math])"
)


@lru_cache(maxsize=20_000)
def _are_unlikely(names: str) -> bool:
    """What Readability says of a class and an id; those of a site's pages are few."""
    unlikely, maybe = REGEXES["unlikelyCandidatesRe"], REGEXES["okMaybeItsACandidateRe"]
    return unlikely.search(names) is not None and maybe.search(names) is None


def text_length(element: HtmlElement) -> int:
    """Characters of an element's text, a run of white space as one."""
    return len(" ".join(element.text_content().split()))
