"""``export`` and ``import``: a store as JSON lines, which any other program can read, or as a table."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import IO, TYPE_CHECKING

from scrapy_simdedup.batch.files import open_input, open_output
from scrapy_simdedup.batch.records import (
    EXPORT_VERSION,
    SHARED_METADATA,
    LinesOfRecords,
    TableOfRecords,
    Thinning,
    read_header,
    read_lines,
    read_records,
    shared_metadata,
)
from scrapy_simdedup.batch.tables import metadata_of, open_table
from scrapy_simdedup.commands.console import NO, YES, Action, Context, read_share
from scrapy_simdedup.commands.stores import (
    existing_store_url,
    open_store,
    persistent_store_url,
    records_with_progress,
)
from scrapy_simdedup.detect.site_judge import SITE_JOURNALS
from scrapy_simdedup.display import plural
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.setting_checks import redact_password
from scrapy_simdedup.store.base import SiteNote
from scrapy_simdedup.store.bulk_writer import BulkWriter

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy_simdedup.store.base import Record

MAX_SHOWN_ERRORS = 10
"""Lines that cannot be read and are shown; all are counted."""


def add_export_options(parser: ArgumentParser) -> None:
    """The file that is written."""
    parser.add_argument("-o", "--output", metavar="FILE", help="default: stdout; compressed if it ends with .gz")
    parser.add_argument("--format", choices=("jsonl", "parquet"), help="default: by the name of the file; else jsonl")
    parser.add_argument("--thin", action="store_true", help="leave out all but 16 repeats of each page")


async def run_export(context: Context) -> int:
    """Export the store, and print where it went, unless it went to stdout."""
    output = context.options.output
    is_table = (context.options.format or ("parquet" if is_parquet(output or "") else "jsonl")) == "parquet"
    with open_output(output, compress=not is_table) as file:
        pages = await _export(context, TableOfRecords(file) if is_table else LinesOfRecords(file))
    if output:
        context.console.print_answer({"pages": pages, "file": output}, [f"{pages:,} pages are in {output}"])
    return YES


EXPORT = Action(
    "write a store as JSON lines or Parquet, with the secret under its hashes: keep the file to yourself",
    run_export,
    add_export_options,
)


def is_parquet(name: str) -> bool:
    """Whether the name of a file is that of a Parquet table."""
    return name.lower().endswith(".parquet")


async def _export(context: Context, out: LinesOfRecords | TableOfRecords) -> int:
    written, site = 0, ""
    unsettled: list[Record] = []
    thinning = Thinning() if context.options.thin else None

    async def end_site() -> None:
        for record in sorted(unsettled, key=lambda record: record.id):
            out.add(site, record)
        unsettled.clear()
        for journal in journals:
            value = await store.get_note(journal, site.encode())
            if value is not None:
                out.add(site, SiteNote(journal, value))

    async with open_store(existing_store_url(context)) as store:
        journals = [name async for name in store.journals() if name in SITE_JOURNALS]
        async for home, record in records_with_progress(context, store, None, "pages written"):
            if not written:  # only a store with pages is sure to have them
                metadata = {name: await store.set_default(name, "") for name in SHARED_METADATA}
                out.begin({"simdedup": EXPORT_VERSION, **metadata})
            if home != site:
                if written:
                    await end_site()
                site = home
            if thinning is not None and not thinning.keeps(home, record):
                continue
            if record.settled:
                out.add(site, record)
            else:  # a settled version takes the place of those before it, so these must come after it
                unsettled.append(record)
            written += 1
        if written:
            await end_site()
        out.close()
    return written


def add_import_options(parser: ArgumentParser) -> None:
    """The file that is read."""
    parser.add_argument("file", metavar="FILE", help="what export wrote, lines or a table; - for what is piped in")


async def run_import(context: Context) -> int:
    """Import the file, and print how many of its pages are new; NO if there are lines that are no records."""
    url = persistent_store_url(context)
    with open_input(context.options.file) as file:
        counts = await _import(context, file, url)
    text = f"{counts['added']:,} pages were added; {counts['known']:,} were there already"
    if counts["refused"]:
        text += f"; {plural(counts['refused'], 'line')} could not be read"
    context.console.print_answer({**counts, "store": redact_password(url)}, [text])
    return NO if counts["refused"] else YES


IMPORT = Action(
    "read what export wrote into this store, new or old; pages that it has already stay as they are",
    run_import,
    add_import_options,
)


async def _import(context: Context, file: IO[bytes], url: str) -> dict[str, int]:
    refused = 0

    def refuse(what: str, number: int, problem: str) -> None:  # the others are worth no less for it
        nonlocal refused
        refused += 1
        if refused <= MAX_SHOWN_ERRORS:
            context.console.print_error(f"{what} {number}: {problem}")

    with ExitStack() as files:
        is_table = is_parquet(context.options.file) or (hasattr(file, "peek") and file.peek(4)[:4] == b"PAR1")
        if is_table:
            table = files.enter_context(open_table(file))
            total, share = table.metadata.num_rows, None
            header = shared_metadata(metadata_of(table.schema_arrow)) if total else {}
            records = read_records(table, partial(refuse, "row"))
        else:
            head = file.readline()
            total, share = None, read_share(file)
            header = read_header(head) if head else {}
            records = read_lines(file, partial(refuse, "line"))
        async with open_store(url) as store:
            for name, value in header.items():
                if await store.set_default(name, value) != value:
                    problem = (
                        "its fingerprints were made in another way, or under another secret, than those in the file"
                    )
                    raise StoreError(redact_password(url), problem, "name another store")
            with context.console.progress("pages read", total, share) as show:
                writer = BulkWriter(store)
                for site, known in records:
                    if isinstance(known, SiteNote):
                        await store.put_note(known.journal, site.encode(), known.value, once=True)
                        continue
                    await writer.add(site, known)
                    show(writer.added + writer.known)
                await writer.flush()
    return {"added": writer.added, "known": writer.known, "refused": refused}
