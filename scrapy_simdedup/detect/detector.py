"""The detector: a page's way from its HTML to its verdict, and the verdict's way into the store."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy_simdedup.detect.agreement import agree
from scrapy_simdedup.detect.liveness import worker_name
from scrapy_simdedup.detect.policy import Visit, content_of, decide
from scrapy_simdedup.detect.site import host_of, key_of, site_of
from scrapy_simdedup.detect.site_logs import SiteLogs
from scrapy_simdedup.detect.stubs import StubWatches
from scrapy_simdedup.detect.verdict import PageRef, Verdict
from scrapy_simdedup.errors import FingerprintMismatch, StoreBusy, StoreError
from scrapy_simdedup.fingerprint.making import body_digest, fingerprint, fingerprint_read
from scrapy_simdedup.page.kinds import Kind
from scrapy_simdedup.page.page import Block, Page
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.url import store_by_url
from scrapy_simdedup.store_urls import without_password

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from scrapy_simdedup.detect.policy import Decision
    from scrapy_simdedup.detect.stubs import Wall
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.store.base import FingerprintStore, Outcome, Sleep

Extract: TypeAlias = "Callable[[str, str, DedupSettings, bytes], Awaitable[PageFingerprint]]"
"""Fingerprints a page: its HTML, its URL for the log, the settings of its site, the key under the hashes."""

ATTEMPTS = 100
"""How often a page is judged again because others were faster, before the store counts as busy."""


class NearDuplicateDetector:
    """Judges pages against those of their site.

    Once open it never raises because the store fails: the page is kept, ``store_errors`` counts and
    ``on_store_error`` is told.

    Args:
        store: its URL, or a store; None takes the settings' own, or ``memory:``.
        settings: all settings; or give single ones as keywords, such as ``identical=0.9``.
        run: the run's name; None takes the settings' own, or makes a new one.
        worker: the name of this process; None makes one.
        now: the clock, in seconds since the epoch.
        sleep: lets other work go on while a store waits; give your own where asyncio does not run.
        on_store_error: called with each :class:`~scrapy_simdedup.errors.StoreError`.
        on_wall: called when most of what a site gave lately is one content.
        extract: makes the fingerprints; None makes them here and now.

    Raises:
        SettingError: a setting cannot be used.
    """

    def __init__(
        self,
        store: str | FingerprintStore | None = None,
        *,
        settings: DedupSettings | None = None,
        run: str | None = None,
        worker: str | None = None,
        now: Callable[[], float] = time.time,
        sleep: Sleep = asyncio.sleep,
        on_store_error: Callable[[StoreError], None] | None = None,
        on_wall: Callable[[Wall], None] | None = None,
        extract: Extract | None = None,
        **keywords: Any,
    ) -> None:
        if settings is None:
            settings = DedupSettings.from_keywords(**keywords)
        elif keywords:
            raise TypeError("give either settings, or single settings as keywords")
        if store is None:
            store = settings.store or "memory:"
        self.settings = settings
        self.store = store_by_url(store, sleep, settings.ttl) if isinstance(store, str) else store
        self.store_name = without_password(store) if isinstance(store, str) else type(store).__name__
        """The store's URL without its password."""
        self.run = run or settings.run or time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime(now())) + secrets.token_hex(3)
        self.worker = worker or worker_name()
        self.secret = b""
        """The key under the hashes, known once the detector is open."""
        self.store_errors = 0
        """How often the store failed."""
        self._now = now
        self._on_store_error, self._on_wall = on_store_error, on_wall
        self._extract = extract or _extract_here
        self._watches = StubWatches()
        self._sample: PageFingerprint | None = None
        self._logs = SiteLogs(self.store, settings, run=self.run, worker=self.worker, now=now, sleep=sleep)

    async def open(self) -> None:
        """Open the store, and make sure that its fingerprints and ours are made the same way.

        Raises:
            StoreError: the store cannot be used, or holds fingerprints made in another way.
        """
        await self.store.open()
        try:
            self.secret = await agree(self.store, self.store_name, self.settings)
            await self._logs.beat()
        except StoreError:
            await self.store.close()
            raise
        self._sample = fingerprint("", self.settings, self.secret)

    async def close(self) -> None:
        """Close the store."""
        try:
            await self._logs.settle_owed()
        except StoreError as exc:
            self._failed(exc)
        await self.store.close()

    async def judge(self, html: str, *, url: str, key: bytes | None = None) -> Verdict:
        """The verdict on a page; a page that is kept must be confirmed or released.

        Args:
            html: the page.
            url: where it came from.
            key: who the page is, such as its request's fingerprint; None derives one from the URL.
        """
        key = key or key_of(url)
        return await self.judge_fingerprint(await self.read(html, url=url, key=key), url=url, key=key)

    async def read(self, html: str, *, url: str, key: bytes | None = None) -> PageFingerprint:
        """The page's fingerprint; a body that the site is known to have is not parsed again."""
        known = self._logs.known(site_of(url, self.settings.site))
        found = known.same_body(body_digest(html, self.secret), key or key_of(url)) if known else None
        settings = self.settings_for(url)
        if found is not None and found.unjudged is None and found.extractor == settings.extractor:
            return found
        return await self._extract(html, url, settings, self.secret)

    def read_texts(self, texts: Sequence[str]) -> PageFingerprint:
        """The fingerprint of texts that are all content, however short, such as the fields of an item."""
        page = Page(tuple(Block(text, Kind.FIRM, 0) for text in texts if text.strip()), "", "", None)
        body = body_digest("\0".join(texts), self.secret)
        return fingerprint_read(page, body, replace(self.settings, min_words=1), self.secret)

    async def judge_fingerprint(
        self,
        fp: PageFingerprint,
        *,
        url: str,
        key: bytes | None = None,
        site: str | None = None,
        keep_pending: bool = False,
    ) -> Verdict:
        """The verdict on a page whose fingerprint is known.

        Args:
            fp: what :meth:`read` gave.
            url: where the page came from.
            key: who the page is, such as its request's fingerprint; None derives one from the URL.
            site: whose pages it is compared with; None takes the URL's.
            keep_pending: keep the page if its original is still in work, instead of giving a pending verdict.

        Raises:
            FingerprintMismatch: the fingerprint was not made as this detector makes them.
        """
        if self._sample is None:
            raise RuntimeError("open the detector before it judges pages")
        settings = self.settings_for(url)
        same_way = settings.extractor == self._sample.extractor
        fp.check_comparable(self._sample if same_way else replace(self._sample, extractor=settings.extractor))
        visit = Visit(
            site=site or site_of(url, self.settings.site),
            key=key or key_of(url),
            url=url,
            fingerprint=fp,
            run=self.run,
            worker=self.worker,
            now=self._now(),
            keep_pending=keep_pending,
        )
        try:
            decision, verdict = await self._judge(visit, settings)
            if verdict.pending is None and settings.stubs != "keep":
                await self._watch(visit, decision)
        except StoreError as exc:
            self._failed(exc)
        except FingerprintMismatch as exc:
            self._failed(StoreError(self.store_name, f"holds what is no fingerprint of ours: {exc}"))
        else:
            return verdict
        return Verdict("unjudged", reason="store_error")

    async def confirm(self, page: PageRef | None) -> bool:
        """The page was delivered: from now on it can displace others. False if the store could not be told."""
        return page is None or await self._settle(page.site, page.id, "confirmed")

    async def release(self, page: PageRef | None) -> bool:
        """The page was not delivered: it displaces nobody. False if the store could not be told."""
        return page is None or await self._settle(page.site, page.id, "released")

    async def add(self, html: str, *, url: str, key: bytes | None = None) -> Verdict:
        """Judge a page, and confirm it if it is kept."""
        verdict = await self.judge(html, url=url, key=key)
        await self.confirm(verdict.page)
        return verdict

    def settings_for(self, url: str) -> DedupSettings:
        """The settings with the overrides of the URL's site."""
        return self.settings.for_site(host_of(url), site_of(url)) if self.settings.sites else self.settings

    async def beat(self) -> None:
        """Tell other workers that this one is alive; to be called every :data:`BEAT_SECONDS`."""
        try:
            await self._logs.beat()
        except StoreError as exc:
            self._failed(exc)

    async def refresh(self, *, url: str, key: bytes | None = None) -> None:
        """The page was seen again without being sent, as by status 304."""
        site, key = site_of(url, self.settings.site), key or key_of(url)
        try:
            for _ in range(ATTEMPTS):
                index = await self._logs.index(site)
                past = index.past(key, self.run)
                if past is None or not past.settled:
                    return
                seen = replace(past, last_seen=self._now(), visits=past.visits + 1)
                if await self._logs.append(site, seen, index, index.cursor) is not None:
                    return
        except StoreError as exc:
            self._failed(exc)

    async def _judge(self, visit: Visit, settings: DedupSettings) -> tuple[Decision, Verdict]:
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
            if decision.replaced is not None:
                await self._settle(visit.site, decision.replaced.id, "released")
            if decision.record.state != "reserved":
                return decision, decision.verdict
            return decision, replace(decision.verdict, page=PageRef(visit.site, id_, visit.key, visit.url))
        raise StoreBusy(self.store_name, f"{visit.site} changed {ATTEMPTS} times while one of its pages was judged")

    async def _watch(self, visit: Visit, decision: Decision) -> None:
        """See whether what came is a stub, which from now on displaces nobody, or a wall."""
        watch, original = self._watches.of(visit.site), decision.original
        is_stub = watch.see(visit.url, content_of(visit, original))
        wall = watch.wall()
        if original is not None and (is_stub or wall) and original.state == "confirmed":
            await self._settle(visit.site, original.id, "stub")
        if wall and self._on_wall is not None:
            self._on_wall(wall)

    async def _settle(self, site: str, id_: int, outcome: Outcome) -> bool:
        try:
            await self._logs.settle(site, id_, outcome)
        except StoreError as exc:
            self._failed(exc)
            return False
        return True

    def _failed(self, exc: StoreError) -> None:
        self.store_errors += 1
        if self._on_store_error is not None:
            self._on_store_error(exc)


async def _extract_here(html: str, _url: str, settings: DedupSettings, secret: bytes) -> PageFingerprint:
    return fingerprint(html, settings, secret)
