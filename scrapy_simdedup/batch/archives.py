"""Archives: from pages to fingerprints, and from the fingerprints of whole sites to verdicts, as Arrow batches.

Both work on streams, and know nothing of the engine that sorts what lies between them. A verdict depends on nothing
outside of its site, so all that an engine has to do is to bring the rows of each site together, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from heapq import heapreplace
from typing import Any

from scrapy_simdedup.batch import tables
from scrapy_simdedup.batch.records import from_line, record_row, to_line
from scrapy_simdedup.batch.things import again_in_run, request_key
from scrapy_simdedup.batch.workers import Watch
from scrapy_simdedup.detect.detector import fingerprint_description, secret_mark
from scrapy_simdedup.detect.names import PageSettings, site_of, without_surrogates
from scrapy_simdedup.detect.site_judge import SiteJudge, SiteNote
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.errors import SettingError, SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import body_digest, fingerprint, fingerprint_parsed
from scrapy_simdedup.fingerprint.text_units import keep_units
from scrapy_simdedup.page.metadata import declared_canonical_url
from scrapy_simdedup.page.page import Page
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.unjudged import UnjudgedReason

PAGES_PER_BATCH = 64
"""Pages with their HTML that are held at a time."""
MAX_PAGES_OF_SITE = 10_000_000
"""Pages of a site above which one process would take half a day to judge them."""
MAX_PLACED_SITES = 100_000
"""The largest sites, which are put into bins by their sizes; the others by their hashes."""
MAX_NAMED_SITES = 5


class UnorderedBatch(SimdedupError):
    """The rows of a table of fingerprints are not in the order of sites and times."""


@dataclass(frozen=True, slots=True)
class Making:
    """How the fingerprints of a table were made: what a judge of them must agree on."""

    fingerprint: str
    """See :func:`~scrapy_simdedup.detect.detector.fingerprint_description`."""
    secret: str
    """A mark of the secret, which does not reveal it."""
    scope: str
    units: str
    """What is known of text units: ``none``, ``texts`` for own texts, or ``edits`` for both."""
    canonical: bool
    """Whether the canonical URLs are known that the pages declare."""

    @classmethod
    def by(cls, settings: DedupSettings, secret: bytes) -> Making:
        """How these settings make fingerprints; a SettingError if they compare all sites, which no process can."""
        if settings.scope == "all":
            remedy = "compares all sites in one task; write 'domain' or 'host', or use dedupe"
            raise SettingError("SIMDEDUP_SCOPE", settings.scope, remedy)
        units = "edits" if settings.compares_versions else "texts" if settings.keeps_units else "none"
        prefers = settings.prefer or any(own.get("prefer") for own in settings.site_settings.values())
        described, mark = fingerprint_description(settings), secret_mark(secret)
        return cls(described, mark, settings.scope, units, canonical=bool(prefers))

    def check(self, other: Making, what: str) -> None:
        """Check that the settings of this call fit fingerprints of an earlier call."""
        again = "set it back, or fingerprint the archive again"
        if self.fingerprint != other.fingerprint:
            raise SimdedupError(f"{what} has {other.fingerprint}, and these settings make {self.fingerprint}: {again}")
        if self.secret != other.secret:
            raise SimdedupError(f"{what} was made under another SIMDEDUP_SECRET: {again}")
        if self.scope != other.scope:
            raise SimdedupError(f"{what} was made with SIMDEDUP_SCOPE={other.scope}: {again}")
        order = ["none", "texts", "edits"]
        if order.index(self.units) > order.index(other.units):
            name = "SIMDEDUP_UNCHANGED_BY" if other.units == "texts" else "SIMDEDUP_NOVEL_WORDS"
            raise SimdedupError(f"{what} has no text units, which {name} asks for: {again}")
        if self.canonical and not other.canonical:
            raise SimdedupError(f"{what} has no canonical URLs, which SIMDEDUP_PREFER asks for: {again}")


def fingerprints(
    batches: Iterable[Any], settings: DedupSettings, secret: bytes, watch: Watch | None = None
) -> Iterator[Any]:
    """The fingerprints of pages, in batches as :func:`~scrapy_simdedup.batch.tables.pages_schema` says."""
    of_page, arrow, schema = PageSettings(settings), tables.package_of("batch", "pyarrow"), tables.fingerprints_schema()
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("url", "html", "time", "unjudged", "file", "position")]
        rows = []
        for url, html, time, unjudged, file, position in zip(*columns, strict=True):
            with watch(position) if watch else nullcontext() as reason:
                row = _fingerprint_row(url or "", html, of_page.of(url or ""), secret, unjudged or reason)
            entry = f"{file} {position}".encode("utf-8", "replace")
            key = request_key(url) if url else blake2b(entry, digest_size=16).digest()  # no version of another page
            row |= {"time": time, "url": url or "", "key": key, "file": file, "position": position}
            rows.append({"site": site_of(without_surrogates(url or ""), settings.scope), **row})
        yield arrow.RecordBatch.from_pylist(rows, schema=schema)


def _fingerprint_row(
    url: str, html: str | None, settings: DedupSettings, secret: bytes, reason: UnjudgedReason | None
) -> dict[str, Any]:
    if html is None:
        return {"unjudged": reason or "no_page"}
    size = len(html.encode("utf-8", "surrogatepass"))
    if reason is not None:
        made = fingerprint_parsed(Page((), "", "", reason), body_digest(html, secret), settings, secret)
        return {"fingerprint": bytes(made), "size": size}
    made = fingerprint(html, settings, secret)
    return {
        "fingerprint": bytes(made._replace(units=None)),
        "units": None if made.page_units is None else tables.pack_units(made.page_units, url),
        "canonical": declared_canonical_url(html, url) if settings.prefer else None,
        "size": size,
    }


def history_row(site: str, known: Record | SiteNote, number: int) -> dict[str, Any]:
    """A record or a note of an export as a row of a table of fingerprints, which keep its order by their number."""
    url, key = (known.url, known.key) if isinstance(known, Record) else ("", b"")
    return {"site": site, "time": float(number), "url": url, "key": key, "record": to_line(site, known)}


ORDER = "site, record IS NULL, time, url, key, file, position"
"""The order of the rows that :func:`verdicts` takes, as SQL: the history of each site, and then its pages."""


def verdicts(
    batches: Iterable[Any],
    settings: DedupSettings,
    secret: bytes,
    run: str,
    remember: Callable[[tuple[Any, ...]], None] | None = None,
) -> Iterator[Any]:
    """The verdicts of a crawl that meets the pages of each site in their order.

    The batches have whole sites in :data:`ORDER`, else :class:`UnorderedBatch` is raised, and may end anywhere.
    ``remember`` is called with each row of :func:`~scrapy_simdedup.batch.records.records_schema` of what a store would
    hold afterwards.
    """
    schema = tables.verdicts_schema()
    judge = SiteJudge(settings, secret, run)
    site: str | None = None
    before: tuple[Any, ...] = ()
    names = [name for name in tables.fingerprints_schema().names if name not in {"size", "file", "position"}]
    rows: list[tuple[Any, ...]] = []

    def end_site(name: str | None) -> None:
        if remember is not None and name is not None:
            for record in judge.records():
                remember(record_row(name, record))
            for note in judge.notes():
                remember(record_row(name, note))

    for batch in batches:
        columns = {name: batch.column(name).to_pylist() for name in {*names, *tables.PAGE_COLUMNS}}
        pages = zip(*(columns[name] for name in tables.PAGE_COLUMNS), strict=True)
        for page, values in zip(pages, zip(*(columns[name] for name in names), strict=True), strict=True):
            home, time, url, key, canonical, raw, units, unjudged, line = values
            order = (line is None, time, url, key)
            if home != site:
                if site is not None and home < site:
                    raise UnorderedBatch(f"{home} comes after {site}; sort the rows by {ORDER}")
                end_site(site)
                site, before = home, order
                judge.begin(home)
            elif order < before:
                raise UnorderedBatch(f"{url} of {home} comes too late; sort the rows by {ORDER}")
            before = order
            if line is not None:
                judge.remember(from_line(line)[1])
                continue
            if raw is None:
                verdict = Verdict("unjudged", reason=unjudged)
            else:
                fp = fingerprint_of(raw, units)
                verdict = again_in_run(judge.judge(fp, url=url, key=key, time=time, canonical=canonical), run)
            rows.append((*page, *(getattr(verdict, name) for name in tables.VERDICT_COLUMNS)))
            if len(rows) >= tables.ROWS_PER_BATCH:
                yield tables.batch_of(rows, schema)
                rows = []
    end_site(site)
    if rows:
        yield tables.batch_of(rows, schema)


def fingerprint_of(raw: bytes, units: bytes | None) -> PageFingerprint:
    """The fingerprint in a row of a table of fingerprints."""
    found = PageFingerprint.from_bytes(raw)
    if units is None:
        return found
    page_units = tables.unpack_units(units)
    return found._replace(units=keep_units(page_units), page_units=page_units)


def check_sizes(sizes: Mapping[str, int], max_pages: int | None) -> None:
    """Check that each site, of which the largest are given, can be judged by one process; ``max_pages`` is its cap."""
    large = sorted(((pages, site) for site, pages in sizes.items() if pages > MAX_PAGES_OF_SITE), reverse=True)
    if large and max_pages is None:
        named = ", ".join(f"{site} ({pages:,})" for pages, site in large[:MAX_NAMED_SITES])
        raise SimdedupError(
            f"a site with more than {MAX_PAGES_OF_SITE:,} pages takes one process half a day and more, and there are "
            f"{len(large):,} of them: {named}; set SIMDEDUP_MAX_PAGES_PER_SITE, or judge the hosts of large sites "
            "apart with --by-host-above"
        )


def bins_of(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """The part in which each of the largest sites is judged: one after the other goes where there is least so far."""
    loads = [(0, number) for number in range(count)]
    found = {}
    for site in sorted(sizes, key=lambda site: (-sizes[site], site))[:MAX_PLACED_SITES]:
        load, number = loads[0]
        found[site] = number
        heapreplace(loads, (load + sizes[site], number))
    return found
