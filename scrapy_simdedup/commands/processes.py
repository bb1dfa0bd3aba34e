"""Processes that make the fingerprints of a feed, for ``dedupe -j``."""

from __future__ import annotations

import asyncio
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.detect.page_settings import PageSettings
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import fingerprint, fingerprint_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simdedup.settings import DedupSettings


class ProcessFingerprinter:
    """Makes fingerprints in other processes; see :class:`~scrapy_simdedup.detect.detector.Fingerprinter`.

    Unlike the workers of a crawl it has no deadline, and it takes texts as well as pages.

    Args:
        settings: the settings of the detector.
        jobs: how many processes.
    """

    def __init__(self, settings: DedupSettings, jobs: int) -> None:
        self._settings, self._jobs = settings, jobs
        self._pool: ProcessPoolExecutor | None = None

    def open(self, settings: PageSettings, secret: bytes) -> None:  # noqa: ARG002 - the processes make their own
        """Take over the secret; the processes are started for the first entries."""
        # New processes and no forks: they share neither locks nor threads with this one.
        self._pool = ProcessPoolExecutor(
            self._jobs, get_context("spawn"), initializer=_start, initargs=(self._settings, secret)
        )

    async def fingerprint(self, html: str, url: str, *, body: bytes | None = None) -> PageFingerprint:
        """The fingerprint of a page."""
        return await self._make(_fingerprint_page, html, url, body)

    async def fingerprint_texts(self, texts: Sequence[str], identity: str) -> PageFingerprint:
        """The fingerprint of the texts of an item, and of its numbers."""
        return await self._make(_fingerprint_item, texts, identity)

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    async def _make(self, make: Callable[..., bytes], *args: Any) -> PageFingerprint:
        try:
            return PageFingerprint.from_bytes(await asyncio.get_running_loop().run_in_executor(self._pool, make, *args))
        except BrokenProcessPool as exc:
            raise SimdedupError("one of the processes died, by a signal or for want of memory; try -j 1") from exc


_made_by: dict[str, Any] = {}
"""In one of the processes: the settings of pages, those of items, and the secret."""


def _start(settings: DedupSettings, secret: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that started this one
    _made_by.update(pages=PageSettings(settings), items=settings, secret=secret)


def _fingerprint_page(html: str, url: str, body: bytes | None) -> bytes:
    return bytes(fingerprint(html, _made_by["pages"].of(url), _made_by["secret"], body=body))


def _fingerprint_item(texts: Sequence[str], identity: str) -> bytes:
    return bytes(fingerprint_texts(texts, _made_by["items"], _made_by["secret"], identity=identity))
