"""Judge an archive of pages as ``batch`` does, on one machine and on Spark, and hold the verdicts against a crawl's.

    python benchmarks/archives.py PAGES [--spark] [--json FILE]

PAGES is a folder or a zip of labelled pages, in the form of ``accuracy.py``. They are written to four web archives,
fingerprinted and judged; each verdict is compared with that of a crawl that meets the pages in the same order, field by
field. Beside it stands datasketch's LSH on the same texts, as the tools for data sets use it: it drops what is joined
by a chain of pairs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import measure
from labelled import read
from scrapy_simdedup.batch.files import Reading
from scrapy_simdedup.batch.local import Judging, fingerprint_files, judge_files
from scrapy_simdedup.batch.tables import VERDICT_COLUMNS
from scrapy_simdedup.batch.things import again_in_run
from scrapy_simdedup.detect.names import site_of
from scrapy_simdedup.page.page import read_page
from scrapy_simdedup.settings import DedupSettings

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from helpers.archives import Fetch, crawl, write_warc

SECRET = "benchmark"
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "near is dropped": {"drop": "near"},
    "better copies": {"prefer": ["canonical", "https", "shorter_url"]},
    "two copies": {"max_copies": 2},
    "minhash": {"method": "minhash"},
    "few pages": {"max_pages_per_site": 8},
    "own texts are passed over": {"novel_words": None},
}
THRESHOLD, PERMUTATIONS = 0.75, 128


def pages_of(path: Path) -> list[Fetch]:
    return [
        Fetch(as_archived(page.url, number), page.html.encode("utf-8", "replace").decode(), 1.7e9 + number)
        for number, page in enumerate(read(path).pages.values())
    ]


def as_archived(url: str, number: int) -> str:
    """A URL of its own for each page, as in ``accuracy.py``: many of them were saved from one URL over years."""
    return f"https://{urlsplit(url).hostname or 'saved.example'}/{number}"


def write_archives(pages: list[Fetch], directory: Path, count: int = 4) -> list[str]:
    return [str(write_warc(directory / f"part-{part}.warc.gz", pages[part::count])) for part in range(count)]


def crawled(pages: list[Fetch], keywords: dict[str, Any]) -> list[dict[str, Any]]:
    found = asyncio.run(crawl("memory:", pages, "batch", SECRET, **keywords))
    verdicts = [again_in_run(verdict, "batch") for verdict in found]
    return [{name: getattr(verdict, name) for name in VERDICT_COLUMNS} for verdict in verdicts]


def judged(directory: Path) -> dict[float, dict[str, Any]]:
    import pyarrow.parquet as pq

    rows = [row for path in sorted(directory.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    return {row["time"]: row for row in rows}


def other_than_expected(
    pages: list[Fetch], found: dict[float, dict[str, Any]], expected: list[dict[str, Any]]
) -> list[str]:
    """The URLs of pages whose verdicts differ."""
    pairs = zip(pages, expected, strict=True)
    return [page.url for page, row in pairs if any(found[page.time][name] != row[name] for name in VERDICT_COLUMNS)]


def chains(pages: list[Fetch], expected: list[dict[str, Any]]) -> dict[str, float]:
    """What a graph of pairs drops, site by site: of each connected component all but one."""
    from datasketch import MinHash, MinHashLSH

    start = time.process_time()
    of_site: dict[str, Any] = defaultdict(lambda: MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS))
    root = list(range(len(pages)))

    def top(at: int) -> int:
        while root[at] != at:
            root[at] = root[root[at]]
            at = root[at]
        return at

    for number, page in enumerate(pages):
        words = " ".join(block.text for block in read_page(page.html).blocks).split()
        made = MinHash(num_perm=PERMUTATIONS)
        made.update_batch(
            {" ".join(words[at : at + 3]).encode("utf-8", "replace") for at in range(len(words) - 2)} or {b""}
        )
        lsh = of_site[site_of(page.url)]
        for other in lsh.query(made):
            root[max(top(number), top(other))] = min(top(number), top(other))
        lsh.insert(number, made)
    cpu = time.process_time() - start
    ours = {number for number, row in enumerate(expected) if row["is_duplicate"]}
    theirs = {number for number in range(len(pages)) if top(number) != number}
    own = {number for number, row in enumerate(expected) if row["reason"] == "own_text"}
    return {
        "cpu_ms_per_page": 1000 * cpu / len(pages),
        "dropped": len(theirs),
        "dropped_that_a_crawl_keeps": len(theirs - ours),
        "of_these_with_text_of_their_own": len(theirs & own),
        "kept_that_a_crawl_drops": len(ours - theirs),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", type=Path)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS), help="default: all")
    options = parser.parse_args()
    pages, figures, rows = pages_of(options.pages), {}, [["settings", "equal", "dropped", "bytes a page"]]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        archives = write_archives(pages, directory)
        for label in options.settings:
            keywords = SETTINGS[label]
            settings = DedupSettings.from_keywords(secret=SECRET, **keywords)
            expected = crawled(pages, keywords)
            prints, output = directory / f"{label} prints", directory / f"{label} verdicts"
            list(fingerprint_files(archives, prints, Reading(), settings, processes=2))
            size = sum(path.stat().st_size for path in prints.glob("*.parquet")) / len(pages)
            list(judge_files(Judging(prints, output, settings, "batch"), processes=2))
            others = other_than_expected(pages, judged(output), expected)
            found = len(pages) - len(others)
            dropped = sum(row["is_duplicate"] for row in expected)
            figures[label] = {"equal": found, "others": others, "dropped": dropped, "bytes": size}
            rows.append([label, f"{found:,} of {len(pages):,}", f"{dropped:,}", f"{size:,.0f}"])
            if label == "default":
                figures["datasketch"] = chains(pages, expected)
                if options.spark:
                    others = other_than_expected(pages, on_spark(archives, settings, directory), expected)
                    figures["spark"] = {"equal": len(pages) - len(others), "others": others}
    print(json.dumps(figures, indent=2))
    measure.finish(figures, rows, options.json)
    return 0


def on_spark(archives: list[str], settings: DedupSettings, directory: Path) -> dict[float, dict[str, Any]]:
    from scrapy_simdedup.batch import spark

    session = spark.session("local[2]")
    prints = spark.fingerprint_files(session, archives, settings, SECRET.encode())
    output = directory / "spark"
    spark.judge(prints, settings, SECRET.encode(), run="batch", partitions=8).write.parquet(str(output))
    session.stop()
    return judged(output)


if __name__ == "__main__":
    raise SystemExit(main())
