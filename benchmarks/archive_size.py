"""Judge the fingerprints of archives of several sizes, and say what a page costs and how much memory all of it takes.

    python benchmarks/archive_size.py [--pages 100000 1000000] [--sites 5000] [--spark] [--json FILE]

The fingerprints are made without the pages: those of a site resemble each other as the pages of one template do, three
of ten repeat an earlier one, and each has the text units of a generated page. The largest site has seven of a hundred
pages. With ``--spark`` the same tables are shuffled and sorted by Spark as well, for a judge that gives no verdicts. A
quarter of an hour for a million pages on two idle cores.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import measure
from crowd import STEP, crowd_marks
from pages import generated
from scrapy_simdedup.batch.archives import Making
from scrapy_simdedup.batch.local import Judging, judge_files
from scrapy_simdedup.batch.tables import TableWriter, fingerprints_schema, pack_units
from scrapy_simdedup.batch.verdict_files import summary_of
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint

SECRET = "benchmark"
SETTINGS = DedupSettings.from_keywords(secret=SECRET)
FILES, TEMPLATES, RECENT, REPEATS = 10, 200, 64, 0.3
ROWS_PER_WRITE = 4_000
SKEW = 0.9
"""A site has as many pages as the one before it in this power of their ranks."""


def site_sizes(pages: int, sites: int) -> list[int]:
    weights = np.arange(1, sites + 1) ** -SKEW
    sizes = np.maximum(1, np.floor(pages * weights / weights.sum())).astype(int)
    sizes[0] += pages - sizes.sum()
    return [int(size) for size in sizes]


def make_prints(directory: Path, pages: int, sites: int) -> float:
    """Write tables of fingerprints; the CPU seconds that a fingerprint of their templates took."""
    start = time.process_time()
    templates = [fingerprint(page.html, SETTINGS, SECRET.encode()) for page in generated(TEMPLATES)]
    seconds = (time.process_time() - start) / TEMPLATES
    directory.mkdir(parents=True)
    about = asdict(Making.by(SETTINGS, SECRET.encode()))
    files = [TableWriter(str(directory / f"{n}.parquet"), fingerprints_schema(), about) for n in range(FILES)]
    waiting: list[list[Any]] = [[] for _ in files]
    for number, size in enumerate(site_sizes(pages, sites)):
        for first, fingerprints in site_fingerprints(templates[number % TEMPLATES], size, number):
            at = int(number + first / STEP) % FILES
            waiting[at].append(table_of(f"site-{number}.example", first, fingerprints, templates[number % TEMPLATES]))
            if sum(map(len, waiting[at])) >= ROWS_PER_WRITE:
                write(files[at], waiting[at])
    for file, tables in zip(files, waiting, strict=True):
        write(file, tables)
        file.close()
    return seconds


def site_fingerprints(one: PageFingerprint, count: int, seed: int) -> Iterator[tuple[int, np.ndarray]]:
    """The bytes of the fingerprints of a site, each in a row, and the number of the first of them."""
    raw, rng, first = bytes(one._replace(units=None)), np.random.default_rng((2, seed)), 0
    simhash, exact, body, sketch = one.simhash.to_bytes(8, "little"), one.exact, one.body, one.sketch
    for simhashes, sketches in crowd_marks(one, count, seed):
        rows = np.tile(np.frombuffer(raw, np.uint8), (len(simhashes), 1))
        originals = np.arange(len(rows))
        is_repeat = (rng.random(len(rows)) < REPEATS) & (originals > 0)
        originals[is_repeat] -= 1 + (rng.random(is_repeat.sum()) * np.minimum(originals[is_repeat], RECENT)).astype(int)
        digests = rng.integers(256, size=(len(rows), 16), dtype=np.uint8)
        marks = {
            simhash: simhashes[originals],
            sketch: sketches[originals],
            exact: digests[:, :8],
            body: digests[:, 8:],
        }
        for piece, values in marks.items():
            at = raw.index(piece)
            rows[:, at : at + len(piece)] = values
        yield first, rows
        first += len(rows)


def table_of(site: str, first: int, fingerprints: np.ndarray, template: PageFingerprint) -> Any:
    count = len(fingerprints)
    urls = [f"https://{site}/a/path/of/usual/length/article-{first + place}.html" for place in range(count)]
    units = b"" if template.page_units is None else pack_units(template.page_units)
    columns: dict[str, Any] = dict.fromkeys(fingerprints_schema().names, pa.nulls(count))
    columns |= {
        "site": [site] * count,
        "time": np.arange(first, first + count, dtype=float),
        "url": urls,
        "key": [hashlib.sha1(url.encode()).digest() for url in urls],
        "fingerprint": _binary(fingerprints.tobytes(), count),
        "units": _binary(units * count, count),
        "size": np.full(count, 35_000),
        "file": ["archive.warc.gz"] * count,
        "position": np.arange(first, first + count),
    }
    return pa.table(
        [pa.array(columns[field.name], field.type) for field in fingerprints_schema()], fingerprints_schema()
    )


def _binary(raw: bytes, count: int) -> Any:
    offsets = np.arange(count + 1, dtype=np.int32) * (len(raw) // count)
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(raw)])


def write(file: TableWriter, tables: list[Any]) -> None:
    for batch in pa.concat_tables(tables).combine_chunks().to_batches() if tables else ():
        file.add_batch(batch)
    tables.clear()


@contextmanager
def peak_of_processes() -> Iterator[list[float]]:
    """The most memory in MB that this process and its children had together, twice a second."""
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            peak[0] = max(peak[0], sum(map(_memory, _family(os.getpid()))) / 1024)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def _family(parent: int) -> list[int]:
    found = [parent]
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found += _family(int(path.parent.name))
    return found


def _memory(process: int) -> int:
    """Kilobytes of a process, those that several share in equal parts."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def cpu() -> float:
    """CPU seconds of this process and of its children, also of those that have ended."""
    used = 0
    for process in _family(os.getpid()):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        used += sum(map(int, fields[11:15]))
    return used / os.sysconf("SC_CLK_TCK")


def judge(prints: Path, output: Path, processes: int) -> dict[str, Any]:
    start, clock, done = cpu(), time.monotonic(), 0
    with peak_of_processes() as peak:
        for done, total in judge_files(Judging(prints, output, SETTINGS, "batch"), processes=processes):
            used, passed = cpu() - start, time.monotonic() - clock
            print(f"{done:,} of {total:,} pages, {peak[0]:,.0f} MB, {used:,.0f} s of {passed:,.0f} s", flush=True)
    return {"cpu": cpu() - start, "seconds": time.monotonic() - clock, "memory": peak[0], "pages": done}


def shuffle_on_spark(prints: Path, processes: int) -> dict[str, Any]:
    """What it takes Spark to start, and to bring the rows to a judge that gives no verdicts."""
    from scrapy_simdedup.batch import spark

    def look(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield pa.record_batch([pa.array([batch.num_rows])], names=["rows"])

    start = cpu()
    session = spark.session(f"local[{processes}]")
    spark.check_workers(session)
    started = cpu()
    ordered = spark.in_order(session.read.parquet(f"{prints}/*.parquet"), SETTINGS, partitions=4 * processes)
    rows = ordered.mapInArrow(look, "rows long").groupBy().sum().first()[0]
    used = cpu() - started
    session.stop()
    return {"start": started - start, "cpu": used, "rows": rows}


def main() -> int:
    parser = measure.arguments(__doc__)
    parser.add_argument("--pages", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--sites", type=int, default=5_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--spark", action="store_true")
    options = parser.parse_args()
    rows, figures = [["pages", "largest site", "CPU ms a page", "bytes a page", "MB", "dropped"]], {}
    for pages in options.pages:
        with tempfile.TemporaryDirectory() as name:
            prints, output = Path(name) / "prints", Path(name) / "verdicts"
            seconds = make_prints(prints, pages, options.sites)
            size = sum(path.stat().st_size for path in prints.iterdir()) / pages
            found = judge(prints, output, options.jobs)
            if options.spark:
                on_spark = shuffle_on_spark(prints, options.jobs)
                found["spark"] = on_spark
                share = on_spark["cpu"] / pages / seconds
                print(
                    f"Spark started in {on_spark['start']:.1f} s; its shuffle: {share:.3f} of the fingerprints",
                    flush=True,
                )
            dropped = summary_of(output).dropped
            shutil.rmtree(prints)
        figures[str(pages)] = {**found, "bytes": size, "dropped": dropped, "fingerprint": seconds}
        largest = max(site_sizes(pages, options.sites))
        cost = 1000 * found["cpu"] / pages
        rows.append(
            [f"{pages:,}", f"{largest:,}", f"{cost:.2f}", f"{size:,.0f}", f"{found['memory']:,.0f}", f"{dropped:,}"]
        )
        print(f"a fingerprint of such a page takes {1000 * seconds:.2f} ms", flush=True)
    measure.finish(figures, rows, options.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
