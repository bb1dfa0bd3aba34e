"""``calibrate``: which thresholds fit the sites of a store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import YES
from scrapy_simdedup.commands.console import count
from scrapy_simdedup.commands.files import document
from scrapy_simdedup.commands.labels import Labels, write_borderline
from scrapy_simdedup.commands.stores import opened, records, store_url
from scrapy_simdedup.commands.text import Strong, table
from scrapy_simdedup.report.calibration import calibrate
from scrapy_simdedup.report.closest import POOL, pairs_of
from scrapy_simdedup.report.sample import Reservoir
from scrapy_simdedup.report.write import write_calibration
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.store_urls import without_password

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.report.calibration import Calibration
    from scrapy_simdedup.report.closest import ClosePair

SUMMARY = "tell what each threshold would drop and how much of that looks wrong, and choose thresholds per site"
BAR, LOWEST = 48, 60
"""Characters of the longest bar, and the hundredths from which similarities are told apart."""


def add_options(parser: ArgumentParser) -> None:
    """What is looked at, and where the answer goes."""
    parser.add_argument("--site", help="look at this site alone")
    parser.add_argument("--sample", type=count, default=300, metavar="N", help="pages looked at per site; default: 300")
    parser.add_argument(
        "--pairs",
        metavar="FILE",
        help="pairs that were looked at: a .csv or .jsonl file of one, other, label (same, different)",
    )
    parser.add_argument(
        "--audit", metavar="FILE", help="where borderline pairs go, as CSV to label and give to --pairs"
    )
    parser.add_argument("-o", "--output", type=document, metavar="FILE", help="the answer as an .html or .json file")


def run(call: Call) -> int:
    """Weigh them."""
    options = call.options
    labels = Labels.read(options.pairs) if options.pairs else Labels([])
    found = asyncio.run(_calibrate(call, labels))
    if options.audit:
        write_borderline(found.borderline, options.audit)
    if options.output:
        write_calibration(found, call.settings, options.output)
    call.console.answer(found.as_dict(), _text(found))
    return YES


async def _calibrate(call: Call, labels: Labels) -> Calibration:
    url = store_url(call)
    pages = 0
    pairs: list[ClosePair] = []
    home, pool = "", Reservoir[Record](POOL)
    async with opened(url) as store:
        async for site, record in records(call, store, call.options.site):
            if site != home:
                pairs += pairs_of(home, pool, call.options.sample)
                home, pool = site, Reservoir(POOL)
            labels.look_at(site, record)
            if record.state != "released":
                pool.put(record.key.hex(), record)
            pages += 1
        pairs += pairs_of(home, pool, call.options.sample)
    return calibrate(pairs, labels.found(call.settings), call.settings, store=without_password(url), pages=pages)


def _text(found: Calibration) -> Iterator[str]:
    yield Strong(f"{found.sampled:,} of {found.pages:,} pages, by similarity to the closest other page of their site")
    yield "(█ with the same headline, ░ with another):"
    yield ""
    yield from _picture(found)
    yield ""
    rows = [
        (f"{line.at:.2f}", *(None if share is None else f"{share:.1%}" for share in shares))
        for line in found.thresholds
        for shares in [(line.dropped, line.suspicious, line.wrong, line.missed)]
    ]
    names = ("#threshold", "#drops", "#with another headline", "#wrong by labels", "#copies missed by labels")
    kept = names if found.labelled else names[:3]
    yield from table(kept, [row[: len(kept)] for row in rows])
    yield ""
    yield from table(
        ("#identical", "#near", "#pages", "because", "site"),
        [(f"{c.identical:.2f}", f"{c.near:.2f}", c.sampled, c.because, c.site) for c in found.choices[:50]],
    )
    yield ""
    yield found.setting or "The thresholds in force fit every site."
    if found.borderline:
        yield ""
        yield "Borderline pairs, to judge by eye with scrapy simdedup compare:"
        for pair in found.borderline:
            yield f"  {pair.similarity:.3f}{'  another headline' if pair.renamed else ''}"
            yield f"    {pair.one}"
            yield f"    {pair.other}"


def _picture(found: Calibration) -> Iterator[str]:
    """Bars for steps of 0.02; what is far below the thresholds is one step."""
    same, other = found.same_headline, found.other_headline
    edges = [0, *range(LOWEST, 100, 2)]
    counts = [
        (sum(same[start:end]), sum(other[start:end])) for start, end in zip(edges, [*edges[1:], 100], strict=True)
    ]
    most = max(map(sum, counts)) or 1
    for start, pages in zip(edges, counts, strict=True):
        # Rounded up: what is there can be seen.
        bars = "".join(sign * -(-BAR * number // most) for sign, number in zip("█░", pages, strict=True))
        name = f"{start / 100:.2f}" if start else "less"
        yield f"  {name}  {bars} {sum(pages) or ''}".rstrip()
