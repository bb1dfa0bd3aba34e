"""Labelled pages: what is known of some pairs of them, from a folder, a zip or a generator."""

from __future__ import annotations

import json
import random
import zipfile
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from scrapy.http import HtmlResponse

from pages import Language, Page

if TYPE_CHECKING:
    from pathlib import Path


class Pair(NamedTuple):
    """Two pages by their ids."""

    one: str
    other: str
    label: str
    """``same``, ``edited`` or ``different``."""
    group: str
    """The row of the table."""


@dataclass
class Labelled:
    """Pages by id, in the order of a crawl, and what is known of some pairs of them."""

    pages: dict[str, Page] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)


def read(path: Path) -> Labelled:
    """Labelled pages from a folder or a zip; the head of ``accuracy.py`` says in which form."""
    opened = zipfile.ZipFile(path) if path.is_file() else None

    def raw(name: str) -> bytes:
        return opened.read(name) if opened else (path / name).read_bytes()

    made = Labelled()
    for line in raw("pages.jsonl").decode().splitlines():
        row = json.loads(line)
        url = row.get("url") or f"https://{row.get('domain', 'site.example')}/{row['id']}"
        made.pages[row["id"]] = Page(url, HtmlResponse(url, body=raw(row["path"])).text)
    for line in raw("pairs.jsonl").decode().splitlines():
        row = json.loads(line)
        made.pairs.append(Pair(row["a"], row["b"], row["label"], row.get("group") or row.get("sub") or row["label"]))
    return made


def with_prose(labelled: Labelled, words: int) -> Labelled:
    """The same pages above a text that all of their site carry, such as terms, without a name that says so."""
    made = Labelled(pairs=labelled.pairs)
    for name, page in labelled.pages.items():
        host = urlsplit(page.url).hostname
        language, rng = Language(f"prose {host}"), random.Random(f"prose {host}")
        prose = "".join(f"<p>{language.sentence(rng, 60)}</p>" for _ in range(words // 60))
        body = page.html.removesuffix("</html>").removesuffix("</body>")
        made.pages[name] = replace(page, html=f"{body}<div>{prose}</div>")
    return made
