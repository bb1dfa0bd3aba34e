"""A refusal: a crawl with settings or a store that cannot be used ends before it begins, with one sentence."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import is_asyncio_available
from twisted.logger import globalLogBeginner

from scrapy_simdedup.detect.detector import check_compatible
from scrapy_simdedup.errors import SimdedupError, StoreBusy
from scrapy_simdedup.setting_checks import redact_password
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.base import Sleep

logger = logging.getLogger(__name__)
FOREIGN_LOGGERS = "asyncio", "twisted"
"""The loggers that report an exception nobody caught, with its traceback."""
ANNOUNCEMENT = "Unhandled error in Deferred"
"""What Twisted logs just before such an exception, as a record of its own."""
_refused: WeakSet[Crawler] = WeakSet()
"""The crawls whose sentence is in the log."""


@contextmanager
def refusing(crawler: Crawler) -> Iterator[None]:
    """Log an error in the block as the last line of a crawl, and pass it on, so that Scrapy starts nothing.

    ``CrawlerProcess`` then has ``bootstrap_failed``, and ``scrapy crawl`` ends with exit code 1.
    """
    try:
        yield
    except SimdedupError as error:
        # To Scrapy 2.14 a crawl that has its spider did begin, and the exit code is 0.
        crawler.spider = None
        error.is_logged = True
        _keep_tracebacks_out()
        if crawler not in _refused:
            _refused.add(crawler)
            logger.critical("The crawl does not begin: %s", error)
        raise


def _keep_tracebacks_out() -> None:
    for name in FOREIGN_LOGGERS:
        logging.getLogger(name).addFilter(_without_tracebacks)
    # Until somebody chooses a log, Twisted also prints failures itself. Scrapy has chosen Python's without saying so.
    if getattr(globalLogBeginner, "_temporaryObserver", None) is not None:
        globalLogBeginner.beginLoggingTo([], redirectStandardIO=False)


class _WithoutTracebacks(logging.Filter):
    """Keeps tracebacks out of the log that have nothing to add to a sentence: no line of the user's is in them.

    Whoever awaits the crawl, or looks at its Deferred, gets the exception as ever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._announcement: logging.LogRecord | None = None
        """Held back until the record after it tells which exception it is about; both come in one go."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        announcement, self._announcement = self._announcement, None
        if isinstance(error, SimdedupError) and error.is_logged:
            return False
        if announcement is not None:
            logging.getLogger(announcement.name).callHandlers(announcement)
        if record.getMessage().startswith(ANNOUNCEMENT):
            self._announcement = record
            return False
        return True


_without_tracebacks = _WithoutTracebacks()


def probe_store(url: str, settings: DedupSettings) -> None:
    """Open and close a store, and wait for that: nothing else runs here meanwhile, for some milliseconds as a rule.

    Raises :class:`~scrapy_simdedup.StoreError`; but a store that is busy passes, as it can be opened a moment later.
    """
    if url == "memory:":
        return
    try:
        if is_asyncio_available():
            # The loop of this thread may be running, and then takes no second coroutine to wait for.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, _open(url, settings, asyncio.sleep)).result()
        else:
            _run_at_once(_open(url, settings, _block))
    except StoreBusy as busy:
        logger.warning("%s; the crawl begins nevertheless, and waits for it", busy)
    except SimdedupError:
        raise
    except Exception:  # a class of the user's own that works only in the crawl's event loop, which will tell
        logger.debug("The store could not be tried before the crawl", exc_info=True)


async def _open(url: str, settings: DedupSettings, sleep: Sleep) -> None:
    store = store_by_url(url, sleep, settings.ttl)
    try:
        await store.open()
        await check_compatible(store, redact_password(url), settings)
    finally:
        await store.close()


async def _block(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 - no loop runs that could do something else


def _run_at_once(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never waits for anything, as those of a store in a file; another one is given up."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
