"""The detector: a page's way from its HTML to its verdict, and the verdict's way into the store."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.detect.agreement import agree
from scrapy_simdedup.detect.history import History
from scrapy_simdedup.detect.liveness import worker_name
from scrapy_simdedup.detect.reader import Reader
from scrapy_simdedup.detect.site import host_of, key_of, site_of
from scrapy_simdedup.detect.site_logs import SiteLogs
from scrapy_simdedup.detect.transactions import Transactions
from scrapy_simdedup.detect.visit import Visit
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.fingerprint.making import fingerprint_texts
from scrapy_simdedup.page.claims import claimed_url
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.url import store_by_url
from scrapy_simdedup.store_urls import without_password

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simdedup.detect.reader import Extract
    from scrapy_simdedup.detect.stubs import Wall
    from scrapy_simdedup.detect.verdict import PageRef, Verdict
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.store.base import FingerprintStore, Sleep


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
        self._on_store_error = on_store_error
        self._extract = extract
        self._reader: Reader | None = None
        self._logs = SiteLogs(self.store, settings, run=self.run, worker=self.worker, now=now, sleep=sleep)
        self.history = History(
            self.store, self._logs, run=self.run, worker=self.worker, now=now, on_store_error=self._failed
        )
        """Takes down what later runs ask of this one."""
        self._transactions = Transactions(self._logs, self.history, self.store_name, self._failed, on_wall)

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
        self._reader = Reader(self.settings, self.secret, self._extract)

    async def close(self) -> None:
        """Close the store."""
        await self._transactions.settle_owed()
        await self.store.close()

    async def judge(self, html: str, *, url: str, key: bytes | None = None) -> Verdict:
        """The verdict on a page; a page that is kept must be confirmed or released.

        Args:
            html: the page.
            url: where it came from.
            key: who the page is, such as its request's fingerprint; None derives one from the URL.
        """
        key = key or key_of(url)
        fp = await self.read(html, url=url, key=key)
        return await self.judge_fingerprint(fp, url=url, key=key, claimed=claimed_url(html, url))

    async def read(self, html: str, *, url: str, key: bytes | None = None) -> PageFingerprint:
        """The page's fingerprint; a body that the site is known to have is not parsed again."""
        known = self._logs.known(site_of(url, self.settings.site))
        settings = self.settings_for(url)
        return await self._opened().read(html, url=url, key=key or key_of(url), known=known, settings=settings)

    def read_texts(self, texts: Sequence[str]) -> PageFingerprint:
        """The fingerprint of texts that are all content, however short, such as the fields of an item."""
        return fingerprint_texts(texts, self.settings, self.secret)

    async def judge_fingerprint(
        self,
        fp: PageFingerprint,
        *,
        url: str,
        key: bytes | None = None,
        site: str | None = None,
        keep_pending: bool = False,
        known_since: float | None = None,
        claimed: str | None = None,
    ) -> Verdict:
        """The verdict on a page whose fingerprint is known.

        Args:
            fp: what :meth:`read` gave.
            url: where the page came from.
            key: who the page is, such as its request's fingerprint; None derives one from the URL.
            site: whose pages it is compared with; None takes the URL's.
            keep_pending: keep the page if its original is still in work, instead of giving a pending verdict.
            known_since: when another tool delivered the page, in seconds since the epoch; None if none did. A page of
                which the store knows nothing else is then unchanged.
            claimed: the URL that the page calls its own, as :func:`~scrapy_simdedup.page.claims.claimed_url` finds it;
                ``SIMDEDUP_BETTER`` may ask for it.

        Raises:
            FingerprintMismatch: the fingerprint was not made as this detector makes them.
        """
        settings = self.settings_for(url)
        self._opened().check(fp, settings)
        visit = Visit(
            site=site or site_of(url, self.settings.site),
            key=key or key_of(url),
            url=url,
            fingerprint=fp,
            run=self.run,
            worker=self.worker,
            now=self._now(),
            keep_pending=keep_pending,
            known_since=known_since,
            claimed=claimed,
        )
        return await self._transactions.judge(visit, settings)

    async def confirm(self, page: PageRef | None) -> bool:
        """The page was delivered: from now on it can displace others. False if the store could not be told."""
        return page is None or await self._transactions.settle(page.site, page.id, "confirmed")

    async def release(self, page: PageRef | None) -> bool:
        """The page was not delivered: it displaces nobody. False if the store could not be told."""
        return page is None or await self._transactions.settle(page.site, page.id, "released")

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
        await self._transactions.refresh(site_of(url, self.settings.site), key or key_of(url), self.run, self._now())

    def _opened(self) -> Reader:
        if self._reader is None:
            raise RuntimeError("open the detector before it judges pages")
        return self._reader

    def _failed(self, exc: StoreError) -> None:
        self.store_errors += 1
        if self._on_store_error is not None:
            self._on_store_error(exc)
