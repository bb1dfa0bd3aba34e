"""Judging as a transaction: what was decided on a site's log is appended unless others were faster; then again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simdedup.detect.policy import content_of, decide
from scrapy_simdedup.detect.stubs import StubWatches
from scrapy_simdedup.detect.verdict import PageRef, Verdict
from scrapy_simdedup.errors import FingerprintMismatch, StoreBusy, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simdedup.detect.history import History
    from scrapy_simdedup.detect.policy import Decision
    from scrapy_simdedup.detect.site_logs import SiteLogs
    from scrapy_simdedup.detect.stubs import Wall
    from scrapy_simdedup.detect.visit import Visit
    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.store.base import Outcome

ATTEMPTS = 100
"""How often a page is judged again because others were faster, before the store counts as busy."""
FAILURES = StoreError, FingerprintMismatch
"""What comes of a store that fails, or that holds what is not ours."""


class Transactions:
    """Those of one worker. None raises because the store fails.

    Args:
        logs: the sites' logs.
        history: is told of contents that left their URLs.
        store_name: how errors call the store.
        on_store_error: called with each failure of the store.
        on_wall: called when most of what a site gave lately is one content.
    """

    def __init__(
        self,
        logs: SiteLogs,
        history: History,
        store_name: str,
        on_store_error: Callable[[StoreError], None],
        on_wall: Callable[[Wall], None] | None,
    ) -> None:
        self._logs, self._history, self._store_name = logs, history, store_name
        self._on_store_error, self._on_wall = on_store_error, on_wall
        self._watches = StubWatches()

    async def judge(self, visit: Visit, settings: DedupSettings) -> Verdict:
        """Decide about a page, and remember that; the verdict names the page's record, where it is kept.

        Where the store fails, or other pages of the site came faster :data:`ATTEMPTS` times, the page is unjudged.
        """
        try:
            return await self._judge(visit, settings)
        except FAILURES as exc:
            self._tell(exc)
            return Verdict("unjudged", reason="store_error")

    async def _judge(self, visit: Visit, settings: DedupSettings) -> Verdict:
        decision, verdict = await self._decide(visit, settings)
        if decision.replaced is not None:
            await self.settle(visit.site, decision.replaced.id, "released")
        if decision.left is not None and verdict.pending is None:
            await self._history.left(visit.site, decision.left, "changed")
        if verdict.pending is None and settings.stubs != "keep":
            await self._watch(visit, decision)
        return verdict

    async def settle(self, site: str, id_: int, outcome: Outcome) -> bool:
        """Write down a page's fate; False if the store could not be told yet."""
        try:
            await self._logs.settle(site, id_, outcome)
        except FAILURES as exc:
            self._tell(exc)
            return False
        return True

    async def settle_owed(self) -> None:
        """Write down what the store could not be told before."""
        try:
            await self._logs.settle_owed()
        except FAILURES as exc:
            self._tell(exc)

    async def refresh(self, site: str, key: bytes, run: str, now: float) -> None:
        """Note that a page that is settled was seen again, if the store is not too busy for that."""
        try:
            for _ in range(ATTEMPTS):
                index = await self._logs.index(site)
                past = index.past(key, run)
                if past is None or not past.settled:
                    return
                seen = replace(past, last_seen=now, visits=past.visits + 1)
                if await self._logs.append(site, seen, index, index.cursor) is not None:
                    return
        except FAILURES as exc:
            self._tell(exc)

    def _tell(self, exc: StoreError | FingerprintMismatch) -> None:
        if isinstance(exc, FingerprintMismatch):
            exc = StoreError(self._store_name, f"holds what is no fingerprint of ours: {exc}")
        self._on_store_error(exc)

    async def _decide(self, visit: Visit, settings: DedupSettings) -> tuple[Decision, Verdict]:
        for _ in range(ATTEMPTS):
            index = await self._logs.index(visit.site)
            # No await from here to the append: what is decided holds for this cursor.
            decision, expected = decide(visit, index, settings), index.cursor
            if decision.record is None:
                awaited = decision.original if decision.verdict.pending else None
                if awaited is not None and await self._logs.free_if_abandoned(visit.site, awaited):
                    continue
                return decision, decision.verdict
            id_ = await self._logs.append(visit.site, decision.record, index, expected)
            if id_ is None:
                continue
            if decision.record.state != "reserved":
                return decision, decision.verdict
            return decision, replace(decision.verdict, page=PageRef(visit.site, id_, visit.key, visit.url))
        raise StoreBusy(self._store_name, f"{visit.site} changed {ATTEMPTS} times while one of its pages was judged")

    async def _watch(self, visit: Visit, decision: Decision) -> None:
        """See whether what came is a stub, which from now on displaces nobody, or a wall."""
        watch, original = self._watches.of(visit.site), decision.original
        is_stub = watch.see(visit.url, content_of(visit, original))
        wall = watch.wall()
        if original is not None and (is_stub or wall) and original.state == "confirmed":
            await self.settle(visit.site, original.id, "stub")
        if wall and self._on_wall is not None:
            self._on_wall(wall)
