"""What one run writes down about the past of pages, for later runs and those who ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.detect.history_notes import (
    Began,
    Left,
    Redesigned,
    SiteChanges,
    history_journal,
    key_of_history,
    write_history,
)
from scrapy_simdedup.errors import FingerprintMismatch, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy_simdedup.detect.history_notes import HistoryNote
    from scrapy_simdedup.detect.site_logs import SiteLogs
    from scrapy_simdedup.fingerprint.structure import Change
    from scrapy_simdedup.store.base import FingerprintStore, Record


class History:
    """Writes notes; a store that fails costs the note and nothing else.

    Args:
        store: an open store, once the first method is called.
        logs: the sites' logs in it.
        run: the run that notes.
        worker: the name of this process.
        now: the clock, in seconds since the epoch.
        on_store_error: called with each failure of the store.
    """

    def __init__(
        self,
        store: FingerprintStore,
        logs: SiteLogs,
        *,
        run: str,
        worker: str,
        now: Callable[[], float],
        on_store_error: Callable[[StoreError], None],
    ) -> None:
        self._store, self._logs, self._run, self._worker, self._now = store, logs, run, worker, now
        self._on_store_error = on_store_error

    async def began(self, *, alone: bool = False) -> None:
        """The run begins, or is taken up again; ``alone`` if it ends with this process."""
        await self._note(Began(self._run, self._now(), self._worker if alone else None), once=True)

    async def gone(self, site: str, key: bytes, why: str) -> None:
        """A URL answers that its page is gone: if the page was known, its content has left.

        Args:
            site: whose page it is.
            key: who the page is.
            why: the status.
        """
        try:
            past = (await self._logs.index(site)).past(key, self._run)
        except StoreError as exc:
            self._on_store_error(exc)
        except FingerprintMismatch:
            return  # who judges a page of this site tells
        else:
            if past is not None and past.state in {"confirmed", "alias"}:
                await self.left(site, past, why)

    async def left(self, site: str, page: Record, why: str) -> None:
        """A content is at its URL no more.

        Args:
            site: whose page it is.
            page: what was there.
            why: the status with which the URL answers, or ``changed``.
        """
        note = Left(
            site=site,
            run=self._run,
            at=self._now(),
            why=why,
            url=page.url,
            key=page.key,
            fingerprint=page.fingerprint,
            original=page.original,
            last_seen=page.last_seen,
        )
        await self._note(note, site, page.key.hex(), page.fingerprint.hex())

    async def changed(self, site: str, counts: Mapping[Change, int], part: int) -> None:
        """What this worker has found new on a site so far.

        Args:
            site: the site.
            counts: known pages, by what is new about them.
            part: tells this count from others of the same worker, which it does not contain.
        """
        await self._note(SiteChanges(site, self._run, self._now(), dict(counts)), site, self._worker, str(part))

    async def redesigned(self, site: str, pages: int, share: float) -> None:
        """A site has a new template; the first worker that finds it is believed."""
        await self._note(Redesigned(site, self._run, self._now(), pages, share), site, once=True)

    async def _note(self, note: HistoryNote, *about: str, once: bool = False) -> None:
        key = key_of_history(type(note).__name__, *about)
        try:
            await self._store.note(history_journal(self._run), key, write_history(note), once=once)
        except StoreError as exc:
            self._on_store_error(exc)
