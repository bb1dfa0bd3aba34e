"""A response's way to its verdict, with the wait for an original that is still in work."""

from __future__ import annotations

import dataclasses
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.crawl.turns import Turns
from scrapy_simdedup.detect.site import site_of
from scrapy_simdedup.page.claims import claimed_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

    from scrapy_simdedup.crawl.ledger import Ledger
    from scrapy_simdedup.crawl.stats import Tally
    from scrapy_simdedup.crawl.waiting import Waiters
    from scrapy_simdedup.detect.detector import NearDuplicateDetector
    from scrapy_simdedup.detect.verdict import Verdict
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.settings import DedupSettings

POLL_SECONDS = 0.25
"""How often a repeat looks whether its original, or the crawl, has come to an end without telling it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is to be judged."""

    fingerprint: PageFingerprint
    url: str
    key: bytes
    site: str | None = None
    """None takes the URL's."""
    known_since: float | None = None
    """When another tool delivered it; see :mod:`scrapy_simdedup.crawl.imported`."""
    claimed: str | None = None
    """The URL that the page calls its own."""


class Judge:
    """Gives verdicts.

    Args:
        most_waiters: repeats that may wait at a time. Each holds one of the downloader's places, and some must stay
            free for what the callbacks of their originals may need.
        is_closing: whether the crawl is being shut down, so that nothing should wait any more.
    """

    def __init__(
        self,
        detector: NearDuplicateDetector,
        ledger: Ledger,
        tally: Tally,
        waiters: Waiters,
        settings: DedupSettings,
        *,
        most_waiters: int,
        is_closing: Callable[[], bool],
    ) -> None:
        self.detector, self.ledger, self.tally, self.waiters = detector, ledger, tally, waiters
        self.settings, self.most_waiters, self.is_closing = settings, most_waiters, is_closing
        self.turns = Turns()

    async def page(self, response: Response, key: bytes, known_since: float | None = None) -> Verdict:
        """The page's verdict, which is counted."""
        # Workers may be done with a later page sooner; verdicts are given in the order in which the pages came.
        turn = self.turns.take(site_of(response.url, self.settings.site))
        try:
            print_ = await self.detector.read(response.text, url=response.url, key=key)
            claimed = claimed_url(response.text, response.url) if self._asks_for_claims(response.url) else None
            candidate = Candidate(print_, response.url, key, known_since=known_since, claimed=claimed)
            await turn.come()
            verdict = await self._ask(candidate)
            turn.end()
            verdict = await self._final(verdict, candidate)
        finally:
            turn.end()
        self.tally.judged(verdict)
        return verdict

    async def item(self, texts: tuple[str, ...], *, url: str, site: str) -> Verdict:
        """An item's verdict among the items of ``site``."""
        print_ = self.detector.read_texts(texts)
        # An item has no address of its own, so none is another visit of one before.
        candidate = Candidate(print_, url, secrets.token_bytes(16), site)
        return await self._final(await self._ask(candidate), candidate)

    async def _final(self, verdict: Verdict, candidate: Candidate) -> Verdict:
        if verdict.pending is None:
            return verdict
        if self.settings.pending == "drop":
            return dataclasses.replace(verdict, is_duplicate=True)
        give_up = time.monotonic() + self.settings.pending_timeout
        while (original := verdict.pending) is not None and self._may_wait(give_up):
            await self.waiters.wait((original.site, original.id), POLL_SECONDS)
            self.ledger.sweep()
            verdict = await self._ask(candidate)
        return verdict if original is None else await self._ask(candidate, keep_pending=True)

    def _asks_for_claims(self, url: str) -> bool:
        return self.detector.settings_for(url).better is not None

    def _may_wait(self, until: float) -> bool:
        return (
            self.settings.pending == "wait"
            and len(self.waiters) < self.most_waiters
            and time.monotonic() < until
            and not self.is_closing()
        )

    async def _ask(self, candidate: Candidate, *, keep_pending: bool = False) -> Verdict:
        return await self.detector.judge_fingerprint(
            candidate.fingerprint,
            url=candidate.url,
            key=candidate.key,
            site=candidate.site,
            keep_pending=keep_pending,
            known_since=candidate.known_since,
            claimed=candidate.claimed,
        )
