"""``calibrate``: which thresholds fit the sites of a store, by their headlines and by pairs that a person labelled."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict

from scrapy_simdedup.batch.files import open_input, open_output
from scrapy_simdedup.commands.console import YES, Action, Context, StyledLine, format_table, option, positive_int
from scrapy_simdedup.display import redact_password
from scrapy_simdedup.errors import FingerprintMismatch, SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.report import calibration
from scrapy_simdedup.report.neighbours import MAX_COMPARED_PAGES, ClosePair, Reservoir, closest_pairs, fingerprint_of
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Record

LABEL_VALUES = {"same": True, "different": False}
MAX_BAR_WIDTH, FIRST_STEP = 48, 60
"""Characters of the longest bar; hundredths of similarity below which all pages are one bar."""
SHOWN_SITES = 50


async def run(context: Context) -> int:
    """Choose thresholds, and show what each would drop."""
    options, url, pages = context.options, context.existing_store_url, 0
    labels = LabelledPages.read(options.pairs) if options.pairs else LabelledPages([])
    pairs: list[ClosePair] = []
    home, pool = "", Reservoir[str, Record](MAX_COMPARED_PAGES)
    async with context.open_store(url) as store:
        async for site, record in context.records(store, options.site):
            if site != home:
                pairs += closest_pairs(home, pool.values(), options.sample)
                home, pool = site, Reservoir(MAX_COMPARED_PAGES)
            labels.collect(site, record)
            if record.state != "released":
                pool.put(record.key.hex(), record)
            pages += 1
        pairs += closest_pairs(home, pool.values(), options.sample)
    labelled = labels.labelled_pairs(context.settings)
    found = calibration.calibrate(pairs, labelled, context.settings, store=redact_password(url), pages=pages)
    if options.audit:
        write_borderline(found.borderline, options.audit)
    context.console.print_answer(asdict(found), _text(found))
    return YES


CALIBRATE = Action(
    "tell what each threshold would drop and how much of that looks wrong, and choose thresholds per site",
    run,
    (
        option("--site", help="look at this site alone"),
        option("--sample", type=positive_int, default=300, metavar="N", help="pages looked at per site; default: 300"),
        option("--pairs", metavar="FILE", help="a .csv or .jsonl file of one, other and label (same or different)"),
        option("--audit", metavar="FILE", help="where borderline pairs go, as CSV to label and give to --pairs"),
    ),
)


def _text(found: calibration.Calibration) -> Iterator[str]:
    pages = f"{found.sampled:,} of {found.pages:,} pages"
    yield StyledLine(f"{pages}, by similarity to the closest other page of their site")
    yield "(█ with the same headline, ░ with another):"
    yield ""
    yield from _histogram(found)
    yield ""
    rows = [
        (f"{line.at:.2f}", *(None if share is None else f"{share:.1%}" for share in shares))
        for line in found.thresholds
        for shares in [(line.dropped, line.suspicious, line.wrong, line.missed)]
    ]
    names = ("#threshold", "#drops", "#with another headline", "#wrong by labels", "#copies missed by labels")
    kept = names if found.labelled else names[:3]
    yield from format_table(kept, [row[: len(kept)] for row in rows])
    yield ""
    yield from format_table(
        ("#identical", "#near", "#pages", "because", "site"),
        [(f"{c.identical:.2f}", f"{c.near:.2f}", c.sampled, c.because, c.site) for c in found.choices[:SHOWN_SITES]],
    )
    yield ""
    fits = all(choice.because not in calibration.NO_THRESHOLD_FITS.values() for choice in found.choices)
    yield found.setting or ("The thresholds in force fit every site." if fits else "No other thresholds fit better.")
    if found.borderline:
        yield ""
        yield "Borderline pairs, to judge by eye with scrapy simdedup compare:"
        for pair in found.borderline:
            yield f"  {pair.similarity:.3f}{'  another headline' if pair.headline_differs else ''}"
            yield f"    {pair.one}"
            yield f"    {pair.other}"


def _histogram(found: calibration.Calibration) -> Iterator[str]:
    """Bars for steps of 0.02; what is far below the thresholds is one step."""
    same, other = found.same_headline, found.other_headline
    edges = [0, *range(FIRST_STEP, 100, 2)]
    steps = zip(edges, [*edges[1:], 100], strict=True)
    counts = [(sum(same[start:end]), sum(other[start:end])) for start, end in steps]
    most = max(map(sum, counts)) or 1
    for start, pages in zip(edges, counts, strict=True):
        # Rounded up: what is there can be seen.
        bars = "".join(sign * -(-MAX_BAR_WIDTH * number // most) for sign, number in zip("█░", pages, strict=True))
        name = f"{start / 100:.2f}" if start else "less"
        yield f"  {name}  {bars} {sum(pages) or ''}".rstrip()


class LabelledPages:
    """Labels, each two URLs and whether a person found the pages the same; with fingerprints from the store."""

    def __init__(self, labels: Sequence[tuple[str, str, bool]]) -> None:
        self._labels = labels
        self._wanted = {url for one, other, _ in labels for url in (one, other)}
        self._found: dict[str, tuple[str, PageFingerprint]] = {}

    @classmethod
    def read(cls, name: str) -> LabelledPages:
        """Read a .csv or .jsonl file of ``one``, ``other`` and ``label``; rows without a label are left out."""
        with open_input(name) as file:
            text = file.read().decode("utf-8-sig", "replace")
        try:
            rows = list(csv.DictReader(io.StringIO(text)) if ".csv" in name else map(json.loads, text.splitlines()))
            labels = [(row["one"], row["other"], LABEL_VALUES[row["label"].strip()]) for row in rows if row["label"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            rows, labels = [], []
        if not rows:
            form = "a .csv or .jsonl file with the columns one, other (URLs) and label (same or different)"
            raise SimdedupError(f"{name} cannot be read: write {form}")
        return cls(labels)

    def collect(self, site: str, record: Record) -> None:
        """Keep the record's fingerprint if a label is about its page."""
        if record.url in self._wanted and (fp := fingerprint_of(record)) is not None:
            self._found[record.url] = site, fp

    def labelled_pairs(self, settings: DedupSettings) -> list[calibration.LabelledPair]:
        """The labels whose pages are both in the store, with the similarities of the pages."""
        made = []
        for one, other, same in self._labels:
            if one in self._found and other in self._found:
                (site, fp), (_, other_fp) = self._found[one], self._found[other]
                with suppress(FingerprintMismatch):
                    similarity = fp.compare(other_fp, identical=settings.identical, near=settings.near).similarity
                    made.append(calibration.LabelledPair(site, one, other, similarity, same))
        return made


def write_borderline(pairs: Iterable[ClosePair], name: str) -> None:
    """Write pairs as a CSV file, in which a person fills the column of labels."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(("label", "similarity", "one", "other"))
    rows.writerows(("", f"{pair.similarity:.3f}", pair.one, pair.other) for pair in pairs)
    with open_output(name) as file:
        file.write(text.getvalue().encode("utf-8", "replace"))
