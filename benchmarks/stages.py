"""What each stage of a page's way costs, beside what it could cost and what others take for it.

    python benchmarks/stages.py
    python benchmarks/stages.py --corpus pages.zip --json build/bench/stages.json

Every figure is CPU time. A ratio is taken within a round, in which all its contenders take turns; the table has
medians. A contender that is not installed is left out.
"""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import html2text
import lxml.html
import numpy as np
from lxml import etree
from readability import Document

from crowd import crowd, fill
from measure import arguments, finish, in_turn, ratio
from pages import Language, Site, corpus, generated
from scrapy_simdedup.detect.candidate_index import hamming_search
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.fingerprint.features import distinct_features, find_shingles, simhash
from scrapy_simdedup.fingerprint.hashing import word_hasher
from scrapy_simdedup.fingerprint.make import body_digest, fingerprint, fingerprint_parsed
from scrapy_simdedup.fingerprint.sketch import sketch
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block, read_page
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.readability import ArticleDocument
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_simdedup.fingerprint.features import Features
    from scrapy_simdedup.fingerprint.hashing import WordHasher

SECRET = b"benchmark"
SHINGLES = 1_000
SITE = "template.example"
QUERIES = 30


class Gate(NamedTuple):
    """A ratio that must not be exceeded."""

    one: str
    other: str
    most: float


class Stages:
    """Collects figures, and the rows of the table."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.rows = [["stage", "ms", "x", "of", "most"]]
        self.figures: dict[str, Any] = {"ms": {}, "ratios": [], "shares": [], "limits": []}

    def share(self, name: str, made: float, least: float) -> None:
        """A share of pages that must be reached."""
        self.rows.append([name, f"{100 * made:.1f} %", "", "", f"{100 * least:g} %"])
        self.figures["shares"].append({"of": name, "share": made, "least": least, "holds": made >= least})

    def at_most(self, name: str, most: float) -> None:
        """A figure in milliseconds that must not be exceeded."""
        made = self.figures["ms"][name]
        self.rows.append([name, f"{made:.3f}", "", "", f"{most:g} ms"])
        self.figures["limits"].append({"of": name, "ms": made, "most": most, "holds": made <= most})

    def run(self, title: str, contenders: dict[str, Callable[[], object]], per: int, gates: list[Gate]) -> None:
        seconds = in_turn(contenders, self.rounds)
        self.rows.append([f"**{title}**", "", "", "", ""])
        by_name = {gate.one: gate for gate in gates}
        for name, taken in seconds.items():
            ms = 1000 * statistics.median(taken) / per
            self.figures["ms"][f"{title}: {name}"] = ms
            gate = by_name.get(name)
            made = ratio(seconds, name, gate.other) if gate else None
            self.rows.append(
                [
                    name,
                    f"{ms:.3f}",
                    f"{made:.2f}" if made else "",
                    gate.other if gate else "",
                    f"{gate.most:g}" if gate else "",
                ]
            )
        for gate in gates:
            made = ratio(seconds, gate.one, gate.other)
            self.figures["ratios"].append({"stage": title, **gate._asdict(), "ratio": made, "holds": made <= gate.most})


# ------------------------------------------------------------------------------------ one page


def page_features(blocks: Sequence[Block], words: WordHasher) -> Features:
    return distinct_features(find_shingles(blocks, words), blocks)


def measure_page(stages: Stages, pages: list[str]) -> None:
    """From HTML to fingerprint, part by part."""
    settings = DedupSettings()
    words = word_hasher(SECRET)
    read = [read_page(html) for html in pages]
    features = [page_features(page.blocks, words) for page in read]
    digests = [body_digest(html) for html in pages]
    contenders: dict[str, Callable[[], object]] = {
        "lxml.html, parsing alone": each(parse_alone, pages),
        "safe parsing": each(lambda html: parse(html, with_html_methods=False, with_idle_attributes=False), pages),
        "safe parsing, blocks and roles": each(read_page, pages),
        "words and shingles": lambda: [page_features(page.blocks, words) for page in read],
        "simhash and sketch": lambda: [(simhash(*found), sketch(*found)) for found in features],
        "page to fingerprint": lambda: [
            fingerprint_parsed(page, digest, settings, SECRET) for page, digest in zip(read, digests, strict=True)
        ],
        "whole fingerprint": each(lambda html: fingerprint(html, settings, SECRET), pages),
        "byte-identical page": each(body_digest, pages),
    }
    gates = [Gate("whole fingerprint", "lxml.html, parsing alone", 2.4)]
    stages.run("a page", contenders, len(pages), gates)


def each(work: Callable[[Any], object], items: Iterable[Any]) -> Callable[[], None]:
    """Do the work for each item, and keep nothing of it."""

    def run() -> None:
        for item in items:
            work(item)

    return run


def parse_alone(html: str) -> object:
    parser = lxml.html.HTMLParser(encoding="utf-8")
    return lxml.html.document_fromstring(html.encode("utf-8", "replace") or b"<p>", parser=parser)


# --------------------------------------------------------------------------- the published pipeline


def measure_readability(stages: Stages, pages: list[str]) -> None:
    """Readability and html2text as people use them, and as the extractor ``readability`` does."""
    settings, readability = DedupSettings(), DedupSettings(extractor="readability")
    usable = [html for html in pages if words_of(theirs, html) is not None]
    contenders: dict[str, Callable[[], object]] = {
        "Document(text).summary()": each(lambda html: Document(html).summary(), usable),
        "the same by our subclass": each(ours, usable),
        "readability and html2text": lambda: [html2text.html2text(Document(html).summary()) for html in usable],
        "whole fingerprint": each(lambda html: fingerprint(html, settings, SECRET), usable),
        "whole fingerprint, extractor readability": lambda: [fingerprint(html, readability, SECRET) for html in usable],
    }
    gates = [
        Gate("the same by our subclass", "Document(text).summary()", 0.5),
        Gate("whole fingerprint", "readability and html2text", 0.2),
    ]
    stages.run("the published pipeline", contenders, len(usable), gates)
    equal = sum(words_of(theirs, html) == words_of(ours, html) for html in usable) / len(usable)
    stages.share("pages on which our subclass finds the same words", equal, least=0.98)


def theirs(html: str) -> Any:
    return lxml.html.fromstring(Document(html).summary())


def ours(html: str) -> Any:
    root = parse(html).root
    etree.strip_elements(root, "script", "style", "link", with_tail=False)
    return ArticleDocument(root).article()


def words_of(find: Callable[[str], Any], html: str) -> list[str] | None:
    """The words of the article that ``find`` finds; None where it gives up."""
    try:
        return re.findall(r"\w+", find(html).text_content())
    except Exception:  # noqa: BLE001 - readability and lxml raise all kinds of errors
        return None


# ------------------------------------------------------------------------------------ hashing


def measure_hashing(stages: Stages) -> None:
    """From a text of a thousand shingles to its simhash."""
    text = text_of(SHINGLES + 2)
    block, words = [Block(text, BlockClass.CONTENT, 0)], word_hasher(SECRET)
    assert len(page_features(block, words).hashes) > 0.99 * SHINGLES

    def strings() -> list[str]:
        found = re.findall(r"\w+", text.lower())
        return list(map(" ".join, zip(found, found[1:], found[2:], strict=False)))

    contenders: dict[str, Callable[[], object]] = {
        "simhash and its shingles": lambda: simhash(*page_features(block, words)),
        "simhash, shingles and sketch": lambda: [
            (simhash(*found), sketch(*found)) for found in [page_features(block, words)]
        ],
    }
    if find_spec("simhash"):
        from simhash import Simhash

        contenders["PyPI simhash"] = lambda: Simhash(strings()).value
    if find_spec("datasketch"):
        from datasketch import MinHash

        contenders["datasketch MinHash, 128"] = lambda: MinHash(128).update_batch([s.encode() for s in strings()])
    gates = [Gate("simhash and its shingles", "PyPI simhash", 0.3)] if "PyPI simhash" in contenders else []
    repeated = {name: repeat(call, 50) for name, call in contenders.items()}
    stages.run(f"hashing {SHINGLES:,} shingles", repeated, 50, gates)


def text_of(count: int) -> str:
    language, rng = Language("hashing"), random.Random("hashing")
    return " ".join(language.say(rng, count))


def repeat(call: Callable[[], object], times: int) -> Callable[[], object]:
    return lambda: [call() for _ in range(times)]


# ------------------------------------------------------------------------------------ searching


def measure_search(stages: Stages, count: int, most_ms: float) -> None:
    """A page that is new among the pages of one template."""
    loop = asyncio.new_event_loop()
    detector = NearDuplicateDetector("memory:")
    loop.run_until_complete(detector.open())
    page = Site(SITE).page(0)
    one = loop.run_until_complete(detector.fingerprint(page.html, url=page.url))
    loop.run_until_complete(fill(detector.store, SITE, detector.run, crowd(one, count)))
    batches = [list(crowd(one, QUERIES, seed)) for seed in range(2, stages.rounds + 4)]
    numbers = iter(range(count, sys.maxsize))

    async def judge() -> None:
        for fp in batches.pop():
            verdict = await detector.judge_page(detector.page_of(fp, url=f"https://{SITE}/articles/{next(numbers)}"))
            if verdict.kind != "new":
                raise RuntimeError(f"{verdict} is not new")

    loop.run_until_complete(judge())  # reads the site
    simhashes = np.random.default_rng(3).integers(2**64, size=count, dtype=np.uint64)
    queries = simhashes[:QUERIES] ^ np.uint64(0x123456789ABCDEF)
    contenders: dict[str, Callable[[], object]] = {
        "np.bitwise_count(a ^ q).min()": lambda: [np.bitwise_count(simhashes ^ query).min() for query in queries],
        "scan for all within 18 bits": lambda: [
            hamming_search(simhashes[None], int(query), 18, 512) for query in queries
        ],
        "judged and stored": lambda: loop.run_until_complete(judge()),
    }
    if find_spec("faiss"):
        import faiss

        flat = faiss.IndexBinaryFlat(64)
        flat.add(simhashes.view(np.uint8).reshape(-1, 8))
        bytes_of = queries.view(np.uint8).reshape(-1, 8)
        contenders["faiss IndexBinaryFlat, range"] = lambda: [flat.range_search(q[None], 19) for q in bytes_of]
    gates = [Gate("scan for all within 18 bits", "np.bitwise_count(a ^ q).min()", 2.0)]
    stages.run(f"a new page among {count:,} of one template", contenders, QUERIES, gates)
    stages.at_most(f"a new page among {count:,} of one template: judged and stored", most_ms)
    loop.run_until_complete(detector.close())
    loop.close()


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--corpus", type=Path, metavar="ZIP", help="real pages; generated ones by default")
    parser.add_argument("--pages", type=int, default=150)
    parser.add_argument(
        "--sites", type=int, nargs="+", default=[100_000, 1_000_000], help="pages of the sites to search"
    )
    options = parser.parse_args()
    pages = corpus(options.corpus, options.pages) if options.corpus else generated(options.pages)
    htmls = [page.html for page in pages]
    stages = Stages(options.rounds)
    measure_page(stages, htmls)
    measure_readability(stages, htmls)
    measure_hashing(stages)
    for count in options.sites:
        measure_search(stages, count, 1.0 if count <= 100_000 else 5.0)
    sizes = sorted(len(html) for html in htmls)
    stages.figures["pages"] = {
        "count": len(htmls),
        "kb_median": sizes[len(sizes) // 2] / 1024,
        "real": bool(options.corpus),
    }
    finish(stages.figures, stages.rows, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
