"""The store probe: opens a store before Scrapy opens the feeds, because opening a feed empties the one before."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import is_asyncio_available

from scrapy_simdedup.detect.detector import check_compatible
from scrapy_simdedup.errors import SimdedupError, StoreBusy
from scrapy_simdedup.setting_checks import redact_password
from scrapy_simdedup.store.url import store_by_url

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.store.base import Sleep

logger = logging.getLogger(__name__)


def probe_store(url: str, settings: DedupSettings) -> None:
    """Open and close a store, and wait for that: nothing else runs here meanwhile, for some milliseconds as a rule.

    A store that is busy passes, since it can be opened a moment later.

    Raises:
        StoreError: it cannot be opened, or its fingerprints are made in another way.
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
