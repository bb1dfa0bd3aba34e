"""``forget`` and ``rollback``: take pages out of the store, so that the next run keeps what it fetches of them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from scrapy_simdedup.commands.console import NO, YES, Action, Context, option
from scrapy_simdedup.crawl.items import Note, item_values_journal, page_note_key
from scrapy_simdedup.detect.events import REMEMBERED_JOURNAL, event_key, split_journal_name
from scrapy_simdedup.detect.names import ALL_SITES
from scrapy_simdedup.display import plural
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.report.history import remembered_rules
from scrapy_simdedup.store.base import FingerprintStore, Record
from scrapy_simdedup.urls import RememberedRules
from scrapy_simdedup.urls.parts import registrable_domain

DELETIONS_PER_STEP = 500
"""Records that are deleted in one step: other processes can use the store between two steps."""
DAY = 86_400.0
MAX_SHOWN_RUNS = 5


async def run_forget(context: Context) -> int:
    """Forget the chosen pages; the answer is no if there are none."""
    options = context.options
    if not (options.urls or options.site or options.older_than is not None):
        raise SimdedupError("say which pages: URLs, --site, or --older-than")
    urls, missing = frozenset(options.urls), set(options.urls)
    before = None if options.older_than is None else time.time() - options.older_than * DAY

    def choose(record: Record) -> bool:
        missing.discard(record.url)
        return (not urls or record.url in urls) and (before is None or record.last_seen < before)

    async with context.open_store() as store:
        # Who names a repeat wants its content again, so its original must go as well.
        counts = await forget(context, store, options.site, choose, originals=bool(urls))
        if options.site and not urls and before is None and not options.dry_run:
            of_site = registrable_domain(options.site)
            await _forget_rules(store, lambda note: options.site == ALL_SITES or note.site == of_site)
    for url in sorted(missing):
        context.console.print_error(f"{url} is not in the store" + (f", on {options.site}" if options.site else ""))
    _print(context, counts, f"no page fits: nothing {_done(options.dry_run)}", missing=sorted(missing))
    return YES if counts[0] else NO


FORGET = Action(
    "take pages out of the store, with those of the same content, so that the next run keeps them",
    run_forget,
    (
        option("urls", nargs="*", metavar="URL", help="these pages"),
        option("--site", help="all pages of this site, or those that the other options choose"),
        option("--older-than", type=float, metavar="DAYS", help="pages that were not seen for so long"),
        option("--dry-run", action="store_true", help="only say how many"),
    ),
)


async def run_rollback(context: Context) -> int:
    """Forget what a run wrote; the answer is no if the store has nothing of that run.

    Older versions of pages that the run fetched again were replaced when it did, and do not come back: these pages
    count as new.
    """
    run: str = context.options.run
    runs: set[str] = set()
    journals: list[str] = []

    def choose(record: Record) -> bool:
        runs.add(record.run)
        return run in record.runs

    async with context.open_store() as store:
        counts = await forget(context, store, None, choose, originals=False)
        if not context.options.dry_run:
            # What they note of URLs and of the past rests on the pages of the run.
            journals = [name async for name in store.journals() if split_journal_name(name)[0] == run]
            for name in journals:
                await store.delete_journal(name)
            await _forget_rules(store, lambda note: note.run == run)
    latest = f"; its latest runs are {', '.join(sorted(runs)[-MAX_SHOWN_RUNS:])}" if runs else ""
    nothing = "the run left no page in the store" if journals else f"the store has nothing of a run {run!r}{latest}"
    _print(context, counts, nothing, run=run)
    return YES if counts[0] or journals else NO


ROLLBACK = Action(
    "take out what a run wrote, such as one whose output was thrown away",
    run_rollback,
    (
        option("run", metavar="RUN", help="its name, as check and report show it"),
        option("--dry-run", action="store_true", help="only say how many pages"),
    ),
)


def _print(context: Context, counts: tuple[int, int], nothing: str, **data: object) -> None:
    (chosen, others), dry_run = counts, context.options.dry_run
    done = _done(dry_run, chosen)
    text = f"{plural(chosen, 'page')} {done}, and {others:,} with the same content"
    text += ": the next run keeps what it meets of these"
    answer = {**data, "pages": chosen, "others": others, "dry_run": dry_run}
    context.console.print_answer(answer, [text if chosen else nothing])


def _done(dry_run: bool, count: int = 1) -> str:
    return "would be forgotten" if dry_run else "is forgotten" if count == 1 else "are forgotten"


async def forget(
    context: Context, store: FingerprintStore, site: str | None, choose: Callable[[Record], bool], *, originals: bool
) -> tuple[int, int]:
    """Delete the chosen records, and the repeats of their pages; how many were chosen, and how many go with these.

    Were the repeats left, the next page with the content would still be dropped. Without them nothing of the content is
    in the store, so whichever of its URLs is fetched next is kept.

    With ``originals`` the whole cluster goes: what a chosen record repeats, and better copies of that.
    """
    pages: defaultdict[str, set[bytes]] = defaultdict(set)
    notes: defaultdict[str, set[bytes]] = defaultdict(set)
    chosen: defaultdict[str, list[int]] = defaultdict(list)
    others: defaultdict[str, list[int]] = defaultdict(list)
    replacements: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)
    async for home, record in context.records(store, site):
        if choose(record):
            chosen[home].append(record.id)
            notes[home].update(page_note_key(record.key, handler) for handler in record.handlers)
            pages[home].add(record.original if originals and record.original else record.key)
        if originals and record.original and record.state != "duplicate":
            replacements[home][record.key] = record.original
    for home, keys in pages.items():
        originals_of_keys = {replacements[home].get(key, key) for key in keys}
        better = (key for key, original in replacements[home].items() if original in originals_of_keys)
        keys.update(originals_of_keys, better)
        known = set(chosen[home])
        async for _, record in context.records(store, home):
            is_one = originals and record.key in keys
            is_repeat = record.state == "duplicate" and record.original in keys
            if (is_one or is_repeat) and record.id not in known:
                others[home].append(record.id)
                notes[home].update(page_note_key(record.key, handler) for handler in record.handlers)
    if not context.options.dry_run:
        for home in pages:
            ids = chosen[home] + others[home]
            for start in range(0, len(ids), DELETIONS_PER_STEP):
                await store.forget(home, ids[start : start + DELETIONS_PER_STEP], time.time())
        journals = {name async for name in store.journals()} if notes else set()
        for home, keys in notes.items():
            if (journal := item_values_journal(home)) in journals:
                for key in keys:  # what was delivered before does not count any more
                    await store.put_note(journal, key, bytes(Note(time.time(), b"", b"")))
    return sum(map(len, chosen.values())), sum(map(len, others.values()))


async def _forget_rules(store: FingerprintStore, choose: Callable[[RememberedRules], bool]) -> None:
    """Forget the rules about URLs that the next crawl would begin with, of the chosen sites."""
    for note in filter(choose, await remembered_rules(store)):
        await store.put_note(REMEMBERED_JOURNAL, event_key(note.site), bytes(replace(note, rules=())))
