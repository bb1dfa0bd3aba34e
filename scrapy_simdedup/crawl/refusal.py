"""A refusal: a crawl with settings or a store that cannot be used ends before it begins, with one sentence."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakSet

from twisted.logger import globalLogBeginner

from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

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
