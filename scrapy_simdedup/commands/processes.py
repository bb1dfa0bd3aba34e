"""Processes that make the fingerprints of a feed, for ``dedupe -j``."""

from __future__ import annotations

import asyncio
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.batch.things import entry_fingerprint
from scrapy_simdedup.detect.page_settings import PageSettings
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.worker import read_fingerprint, write_fingerprint

if TYPE_CHECKING:
    from scrapy_simdedup.batch.things import FeedEntry
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.settings import DedupSettings


class ProcessFingerprinter:
    """Makes the fingerprints of entries in other processes. Unlike the workers of a crawl it has no deadline.

    Args:
        settings: the settings of the pages and items.
        secret: the key of the hashes.
        jobs: how many processes; they are started for the first entries.
    """

    def __init__(self, settings: DedupSettings, secret: bytes, jobs: int) -> None:
        # New processes and no forks: they share neither locks nor threads with this one.
        self._pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_start, initargs=(settings, secret))

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(cancel_futures=True)

    async def fingerprint(self, entry: FeedEntry) -> PageFingerprint:
        """The fingerprint of an entry that can be judged.

        Raises:
            SimdedupError: one of the processes died.
        """
        bare = replace(entry, raw=None, item=None)  # what is kept of a feed stays in this process
        try:
            return read_fingerprint(await asyncio.get_running_loop().run_in_executor(self._pool, _fingerprint, bare))
        except BrokenProcessPool as exc:
            raise SimdedupError("one of the processes died, by a signal or for want of memory; try -j 1") from exc


_made_by: dict[str, Any] = {}
"""In one of the processes: the settings of pages, those of items, and the secret."""


def _start(settings: DedupSettings, secret: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that started this one
    _made_by.update(pages=PageSettings(settings), items=settings, secret=secret)


def _fingerprint(entry: FeedEntry) -> bytes:
    of_page: DedupSettings = _made_by["pages"].of(entry.url)
    return write_fingerprint(entry_fingerprint(entry, of_page, _made_by["items"], _made_by["secret"]))
