"""Notes about URLs that nobody needs any more: those of earlier crawls that are over for good."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.run import spider_of
from scrapy_simdedup.detect.history_notes import HISTORY, Began, history_journal, key_of_history, read_history
from scrapy_simdedup.detect.liveness import is_alive
from scrapy_simdedup.detect.url_notes import run_and_site

if TYPE_CHECKING:
    from scrapy_simdedup.store.base import FingerprintStore


async def take_out_spent_notes(store: FingerprintStore, run: str) -> None:
    """Take out what earlier crawls of a run's spider noted about URLs, so that a crawl a day does not fill the store.

    Each run learns anew, so that notes matter to those who look at the last crawl, and to whoever takes up a run. Those
    of a run that had a JOBDIR or a name of its own stay for that; any other ended with its process.

    Raises:
        StoreError: the store failed; what is left goes another time.
    """
    beats = await store.beats()
    for name in [name async for name in store.journals()]:
        of_run, site = run_and_site(name)
        if site == HISTORY or of_run == run or spider_of(of_run) != spider_of(run):
            continue
        worker = _only_worker(await store.noted(history_journal(of_run), key_of_history(Began.__name__)))
        if worker and not is_alive(worker, beats.get(worker), time.time()):
            await store.tear(name)


def _only_worker(began: bytes | None) -> str | None:
    try:
        note = read_history(began) if began is not None else None
    except ValueError:  # whatever it is, it does not say that nobody needs them
        return None
    return note.worker if isinstance(note, Began) else None
