"""The detector: from a page's HTML to its verdict, and from the verdict into the store."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from scrapy_simdedup.detect.names import PageSettings, RunContext, site_of, url_key, without_surrogates
from scrapy_simdedup.detect.site_logs import EventLog, worker_name
from scrapy_simdedup.detect.transactions import Transactions
from scrapy_simdedup.detect.verdict import FetchedPage, PageRef, Verdict
from scrapy_simdedup.display import redact_password
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.fingerprint.fingerprint import ALGORITHM, PageFingerprint
from scrapy_simdedup.fingerprint.make import (
    Fingerprinter,
    LocalFingerprinter,
    body_digest,
    fingerprint,
    fingerprint_texts,
    identity_digest,
    model_of,
)
from scrapy_simdedup.page.metadata import declared_canonical_url
from scrapy_simdedup.setting_checks import require_text
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.signals import Wall
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.base import FingerprintStore, Outcome, Sleep, reporting_failures

REMEDY = "set it back, or name another store"


class NearDuplicateDetector:
    """Judges pages against the other pages of their site.

    Once open it never raises because the store fails: the page is kept, the failure is counted in ``store_errors``, and
    ``on_store_error`` is called.

    Args:
        store: its URL, or a store; None takes the settings' own, or ``memory:``.
        settings: all settings; or give single ones as keywords, such as ``identical=0.9``.
        run: the run's name; None takes the settings' own, or makes a new one.
        worker: the name of this process; None makes one.
        now: the clock, in seconds since the epoch.
        sleep: lets other work go on while a store waits; needed where asyncio does not run.
        on_store_error: called with each :class:`~scrapy_simdedup.errors.StoreError`.
        on_wall: called when most of what a site gave lately is one content.
        on_stub: called with the site and the key of an original that turned out to be a stub: pages that were dropped
            for it would be kept now.
        on_records: called with the site and the key of an original whose copies may be records of their own, and how
            many of them show that if they are fetched again and say what they said.
        fingerprinter: makes the fingerprints; None makes them in this process.
        resumable: whether another process may go on with the run; the store then keeps its counts of stubs, if it has a
            name.

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
        on_stub: Callable[[str, bytes], None] | None = None,
        on_records: Callable[[str, bytes, int], None] | None = None,
        fingerprinter: Fingerprinter | None = None,
        resumable: bool = True,
        **keywords: Any,
    ) -> None:
        if settings is None:
            settings = DedupSettings.from_keywords(**keywords)
        elif keywords:
            raise TypeError("give either settings, or single settings as keywords")
        if store is None:
            store = settings.store or "memory:"
        self.settings = settings
        self._page_settings = PageSettings(settings)
        self.store: FingerprintStore = store_by_url(store, sleep, settings.ttl) if isinstance(store, str) else store
        self.store_name: str = redact_password(store) if isinstance(store, str) else type(store).__name__
        """The store's URL without its password."""
        keeps_counts = resumable and bool(run or settings.run) and self.store.lasts
        run = run or settings.run or time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime(now())) + secrets.token_hex(3)
        self.context: RunContext = RunContext(run, worker or worker_name(), now, sleep)
        self.secret: bytes = b""
        """The key of the hashes, known once the detector is open."""
        self.store_errors: int = 0
        self._on_store_error = on_store_error
        self._fingerprinter = fingerprinter or LocalFingerprinter()
        self._sample: PageFingerprint | None = None
        """A fingerprint made as all others; None until the detector is open."""
        self._transactions = Transactions(
            self.store,
            settings,
            self.context,
            store_name=self.store_name,
            on_store_error=self._count_store_error,
            on_wall=on_wall,
            on_stub=on_stub,
            on_records=on_records,
            keeps_counts=keeps_counts,
        )
        self._logs = self._transactions.logs
        self.history: EventLog = self._transactions.history
        """The log of events of this run, for later runs."""

    @property
    def run(self) -> str:
        """The run's name."""
        return self.context.run

    async def open(self) -> None:
        """Open the store, and check that its fingerprints were made under the same settings.

        Raises:
            StoreError: the store cannot be used, or holds fingerprints made in another way.
        """
        await self.store.open()
        try:
            self.secret = await check_compatible(self.store, self.store_name, self.settings)
            await self._logs.heartbeat()
        except StoreError:
            await self.store.close()
            raise
        self._fingerprinter.open(self.secret)
        self._sample = fingerprint("", self.settings, self.secret)

    async def close(self) -> None:
        """Close the store, once what it could not be told so far was tried again, for a while."""
        self.store.take_time()
        await self._transactions.retry_settlements()
        await self._transactions.save()
        await self.store.close()

    async def __aenter__(self) -> NearDuplicateDetector:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def judge(self, html: str, *, url: str, key: bytes | None = None, identity: str | None = None) -> Verdict:
        """The verdict on a page; a page that is kept must be confirmed or released.

        Args:
            html: the page.
            url: the page's URL.
            key: the page's request fingerprint; None derives one from the URL.
            identity: what the page is about, such as an article number: a page with another one is no copy of it. None
                looks for it as ``SIMDEDUP_IDENTITY`` says.

        Raises:
            TypeError: the page or its URL is no text.
        """
        require_text(html, "html")
        require_text(url, "url")
        canonical = declared_canonical_url(html, url) if self.settings_for(url).prefer is not None else None
        page = await self.fetched(html, url=url, key=key, canonical=canonical, identity=identity)
        return await self.judge_page(page)

    async def fetched(
        self,
        html: str,
        *,
        url: str,
        key: bytes | None = None,
        site: str | None = None,
        canonical: str | None = None,
        known_since: float | None = None,
        identity: str | None = None,
        handler: str = "",
        is_doubted: bool = False,
        asked_for: bytes | None = None,
        is_filtered: bool = False,
        is_whole: bool = True,
    ) -> FetchedPage:
        """A page with its fingerprint, to be judged; a body that the site is known to have is not parsed again.

        Args as those of :meth:`judge`, and as the fields of :class:`~scrapy_simdedup.detect.verdict.FetchedPage`.
        Without a ``site`` the URL's is taken. A page whose end is not known to be there, as it ``is_whole`` says, is
        compared with what its URL gave before, and with no other page.
        """
        key, url, site = self._address(url, key, site, html)
        settings = self._page_settings.of(url)
        fp = await self._fingerprint(html, url, key, site, settings, identity=identity)
        read = None
        if not is_whole:
            fp = fp.as_unended()
        elif fp.page_units is None and fp.units is not None:
            read = partial(self._fingerprinter.fingerprint, html, url, settings, body=fp.body, identity=identity)
        handler, context = "" if settings.callbacks == "any" else handler, self.context
        about = context.run, context.worker, context.now(), settings, canonical, known_since
        return FetchedPage(site, key, url, fp, *about, handler, is_doubted, asked_for, is_filtered, read)

    async def fingerprint(self, html: str, *, url: str, key: bytes | None = None) -> PageFingerprint:
        """The page's fingerprint; a body that the site is known to have is not parsed again."""
        key, url, site = self._address(url, key, html=html)
        return await self._fingerprint(html, url, key, site, self.settings_for(url))

    def fingerprint_texts(self, texts: Sequence[str], *, identity: str = "") -> PageFingerprint:
        """The fingerprint of texts that are all content, however short, such as the fields of an item."""
        return fingerprint_texts(texts, self.settings, self.secret, identity=identity)

    def page_of(
        self, fp: PageFingerprint, *, url: str, key: bytes | None = None, site: str | None = None
    ) -> FetchedPage:
        """A page with the fingerprint that :meth:`fingerprint` or :meth:`fingerprint_texts` gave, to be judged.

        Raises:
            FingerprintMismatch: the fingerprint was not made as this detector makes them.
        """
        key, url, site = self._address(url, key, site)
        sample, settings = self._opened(), self.settings_for(url)
        extractor = settings.extractor
        fp.check_comparable(
            sample if extractor == sample.extractor else sample._replace(extractor=extractor, model=model_of(extractor))
        )
        context = self.context
        return FetchedPage(site, key, url, fp, context.run, context.worker, context.now(), settings)

    async def judge_page(self, page: FetchedPage, *, keep_pending: bool = False) -> Verdict:
        """The verdict on a page that :meth:`fetched` or :meth:`page_of` gave.

        With ``keep_pending`` it is kept if its original is still in work, and no pending verdict given.
        """
        return await self._transactions.judge(page, keep_pending=keep_pending)

    async def known_content(self, page: FetchedPage, *expected: bytes | None) -> tuple[bytes | None, Verdict]:
        """The key of a delivered page with a page's content, the first expected one that it may be, and a verdict."""
        return await self._transactions.known_content(page, *expected)

    async def is_unchanged(self, page: FetchedPage) -> bool:
        """Whether a page says what its URL gave before, be it more like another page by now; False if nobody knows."""
        return await self._transactions.is_unchanged(page)

    async def confirm(self, page: PageRef | None, *, items: bool = True) -> bool:
        """Tell that a page was delivered: from now on it can displace others. False if the store failed.

        None does nothing. A page that gave no ``items``, or what else is wanted of it, displaces others only once
        another page with its content gave nothing either.
        """
        outcome: Outcome = "confirmed" if items else "itemless"
        return page is None or await self._transactions.settle(page.site, page.id, outcome)

    async def release(self, page: PageRef | None) -> bool:
        """Tell that a page was not delivered: it displaces no other. False if the store failed."""
        return page is None or await self._transactions.settle(page.site, page.id, "released")

    async def add(self, html: str, *, url: str, key: bytes | None = None, identity: str | None = None) -> Verdict:
        """Judge a page, and confirm it if it is kept."""
        verdict = await self.judge(html, url=url, key=key, identity=identity)
        await self.confirm(verdict.page)
        return verdict

    def settings_for(self, url: str) -> DedupSettings:
        """The settings of the page with this URL, with the overrides of its site and of its pattern."""
        return self._page_settings.of(url)

    def gives_no_items(self, page: PageRef) -> bool:
        """Whether a page is of a handler that never gives items, as far as is known here."""
        index = self._logs.indexes.known(page.site)
        record = None if index is None else index.previous_version(page.key, self.run)
        return index is not None and record is not None and not index.may_give_items(record.handlers[0])

    def passes_items_on(self, handler: str, *, url: str) -> None:
        """Tell that pages of a handler, such as that with this URL, may give their items by way of other callbacks."""
        self._logs.items.passing.add("" if self.settings_for(url).callbacks == "any" else handler)

    async def heartbeat(self) -> None:
        """Write the heartbeat by which other workers know that this worker is alive; to be called every ten seconds."""
        with reporting_failures(self._count_store_error):
            await self._logs.heartbeat()

    async def refresh(self, *, url: str, key: bytes | None = None) -> None:
        """Tell that a page was seen again without being sent, as by status 304."""
        key, _, site = self._address(url, key)
        await self._transactions.refresh(site, key)

    async def was_delivered(self, *, url: str, key: bytes | None = None) -> bool:
        """Whether a page was delivered under this URL, in whichever run, or may have been, as the store fails."""
        key, _, site = self._address(url, key)
        return await self._transactions.was_delivered(site, key)

    def _address(self, url: str, key: bytes | None, site: str | None = None, html: str = "") -> tuple[bytes, str, str]:
        """The key of a page, its URL as stores can hold it, and its site; key and site are kept if they are given."""
        require_text(html, "html")
        require_text(url, "url")
        sound = without_surrogates(url)
        return key or url_key(url), sound, site or site_of(sound, self.settings.scope)

    async def _fingerprint(
        self, html: str, url: str, key: bytes, site: str, settings: DedupSettings, *, identity: str | None = None
    ) -> PageFingerprint:
        self._opened()
        body = body_digest(html, self.secret)
        known = self._logs.indexes.known(site)
        # An identity that was looked for elsewhere is not this page's.
        knows_identity = identity is not None or not self.settings.looks_for_identity
        found = known.same_body(body, key, settings.extractor) if known is not None and knows_identity else None
        if found is not None:
            return found if identity is None else found._replace(identity=identity_digest(identity, self.secret))
        return await self._fingerprinter.fingerprint(html, url, settings, body=body, identity=identity)

    def _opened(self) -> PageFingerprint:
        if self._sample is None:
            raise RuntimeError("open the detector before it judges pages")
        return self._sample

    def _count_store_error(self, exc: StoreError) -> None:
        self.store_errors += 1
        if self._on_store_error is not None:
            self._on_store_error(exc)


async def check_compatible(store: FingerprintStore, name: str, settings: DedupSettings) -> bytes:
    """The secret of a store's fingerprints, once it is sure that they are made as the settings say.

    A new store takes the settings over. If the settings have no secret, the store gets one that nobody knows, so that
    nobody can build a page that resembles another. An error names the store.
    """
    ours = fingerprint_description(settings)
    theirs = await store.set_default("fingerprint", ours)
    if theirs != ours:
        raise StoreError(name, f"its fingerprints are of {theirs}, and these settings make {ours}", REMEDY)
    given = (settings.secret or "").encode()
    # The store recognises a secret that was given to it, but does not know it.
    ours = f"given:{secret_mark(given)}" if given else f"own:{secrets.token_hex(16)}"
    theirs = await store.set_default("secret", ours)
    if given and theirs == ours:
        return given
    if theirs.startswith("own:") and not given:
        return bytes.fromhex(theirs.removeprefix("own:"))
    raise StoreError(name, "its fingerprints were made under another SIMDEDUP_SECRET", REMEDY)


def fingerprint_description(settings: DedupSettings) -> str:
    """How fingerprints are made by settings; those with another description cannot be compared."""
    ours = f"algorithm {ALGORITHM}, {settings.bits} bits, {settings.shingle_size} words per shingle, "
    ours += settings.extractor
    if settings.method == "exact":
        ours += f", exact {settings.exact} without {' '.join(settings.ignore) or 'masks'}"
    elif settings.method != "simhash":
        ours += f", {settings.method}"
    if settings.is_anywhere("extractor", "content"):
        ours += f", content model {model_of('content'):04x}"
    if settings.role_words:
        ours += ", role words " + "; ".join(f"{role}: {' '.join(words)}" for role, words in settings.role_words)
    return ours


def secret_mark(secret: bytes) -> str:
    """A text by which a secret is recognised that does not tell it."""
    return hashlib.blake2b(secret, digest_size=16, person=b"simdedup secret").hexdigest()
