"""Pages with their main content, written down by people: the two public benchmarks, as they come, and how each scores.

WCXB (Web Content eXtraction Benchmark, Murrough Foley 2026, CC BY 4.0) is a folder or a zip with ``html/ID.html``, or
``.html.gz``, and ``ground-truth/ID.json``. Its F1 is over lower-case words as multisets, the mean over the pages. The
article-extraction-benchmark of Scrapinghub is a folder with ``ground-truth.json``, ``html/ID.html.gz`` and
``evaluate.py``, which scores it.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import zipfile
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from scrapy_simdedup.page.roles import RoleWords

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = ("article", "forum", "product", "collection", "listing", "documentation", "service")
"""The kinds of pages in WCXB."""
FOLDS = 3
_WORD = re.compile(r"\w+")
_TWO_LEVELS = re.compile(r"\.(co|com|org|gov|ac|edu|net)\.\w\w$")


class NoWords(RoleWords):
    """Role words on a page whose names are hashed: no name says anything, but equal names are still equal."""

    def __missing__(self, value: str) -> int:
        return 0


class CorpusPage(NamedTuple):
    html: str
    content: str
    """Its main content."""
    kind: str
    fold: int
    """The part of the cross-validation that its domain is in."""


class Score(NamedTuple):
    precision: float
    recall: float
    f1: float


def read_wcxb(path: Path) -> dict[str, CorpusPage]:
    """The pages of one split of WCXB by their ids."""
    if path.is_dir():
        files = {str(file.relative_to(path)): file for file in path.rglob("*") if file.is_file()}
        return _wcxb({name: file.read_bytes() for name, file in files.items()})
    with zipfile.ZipFile(path) as corpus:
        return _wcxb({name: corpus.read(name) for name in corpus.namelist()})


def _wcxb(files: Mapping[str, bytes]) -> dict[str, CorpusPage]:
    pages = {}
    for name in sorted(files):
        if name.startswith("html/"):
            page = Path(name).name.partition(".")[0]
            raw = gzip.decompress(files[name]) if name.endswith(".gz") else files[name]
            truth = json.loads(files[f"ground-truth/{page}.json"])
            pages[page] = CorpusPage(
                raw.decode(errors="replace"),
                truth["ground_truth"].get("main_content") or "",
                truth["_internal"]["page_type"]["primary"],
                _fold(truth.get("url") or f"https://{page}.example"),
            )
    return pages


def _fold(url: str) -> int:
    host = urlsplit(url).hostname or ""
    domain = host.split(".")[-3 if _TWO_LEVELS.search(host) else -2 :]
    return int.from_bytes(blake2b(".".join(domain).encode(), digest_size=4).digest(), "big") % FOLDS


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def score_words(found: str, wanted: str) -> Score:
    """How well a text is found, by its words, as WCXB has it."""
    ours, theirs = Counter(words(found)), Counter(words(wanted))
    if not ours or not theirs:
        return Score(*[float(not ours and not theirs)] * 3)
    both = (ours & theirs).total()
    precision, recall = both / ours.total(), both / theirs.total()
    return Score(precision, recall, 2 * precision * recall / (precision + recall) if both else 0.0)


class ArticleBenchmark:
    """The article-extraction-benchmark with its own measure."""

    def __init__(self, path: Path) -> None:
        truth = json.loads((path / "ground-truth.json").read_text(encoding="utf-8"))
        self.bodies: dict[str, str] = {name: page["articleBody"] for name, page in truth.items()}
        self.pages = {
            name: gzip.decompress((path / "html" / f"{name}.html.gz").read_bytes()).decode(errors="replace")
            for name in truth
        }
        spec = importlib.util.spec_from_file_location("evaluate", path / "evaluate.py")
        if spec is None or spec.loader is None:
            raise FileNotFoundError(path / "evaluate.py")
        self._evaluate = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._evaluate)

    def score(self, found: Mapping[str, str]) -> Score:
        """How well the articles are found."""
        matches = [
            self._evaluate.string_shingle_matching(true=body, pred=found[name]) for name, body in self.bodies.items()
        ]
        metrics = self._evaluate.metrics_from_tp_fp_fns(matches)
        return Score(metrics["precision"], metrics["recall"], metrics["f1"])
