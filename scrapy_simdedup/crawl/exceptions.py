"""The exceptions that drop a page, a request or an item, and how all others are kept from costing any of these."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, IgnoreRequest
from twisted.logger import globalLogBeginner

from scrapy_simdedup.display import plural
from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_simdedup.detect.verdict import Verdict

logger = logging.getLogger(__name__)
FOREIGN_LOGGERS = "asyncio", "twisted"
"""The loggers that report an exception nobody caught, with its traceback."""
ANNOUNCEMENT = "Unhandled error in Deferred"
"""The record that Twisted logs just before the traceback of such an exception."""
_refused: WeakSet[Crawler] = WeakSet()
"""The crawls whose sentence is in the log."""


class NearDuplicatePage(IgnoreRequest):
    """The page repeats a delivered page, so its callback is not called.

    It reaches the request's errback, where there is one; ``failure.check(NearDuplicatePage)`` tells it apart.
    """

    def __init__(self, response: Response, verdict: Verdict) -> None:
        self.response = response
        """The page that was dropped."""
        self.verdict = verdict
        """Its verdict, with the original, the kind and the similarity."""
        super().__init__(f"{response.url} {_what_it_is(verdict)}")


def _what_it_is(verdict: Verdict) -> str:
    if verdict.kind == "unchanged":
        return "did not change since it was delivered"
    about: list[str] = [verdict.kind]
    if verdict.similarity is not None:
        about.append(f"similarity {verdict.similarity:.3f}")
    if (words := verdict.own_words) is not None:
        about.append(f"{plural(words, 'word') if words else 'nothing'} of its own")
    return f"repeats {verdict.original} ({', '.join(about)})"


class SkippedRequest(IgnoreRequest):
    """The request is not made, because its URL leads to content that was delivered.

    It reaches the request's errback, where there is one. If the rule turns out to be wrong, the request is made after
    all.
    """

    def __init__(self, url: str, known_url: str | None, rule: str) -> None:
        self.url = url
        """The URL that was not fetched."""
        self.known_url = known_url
        """The URL of the fetched page whose content it leads to."""
        self.rule = rule
        """The rule by which it was skipped, such as ``query:sid in viewtopic.php``."""
        super().__init__(f"{url} leads to the page of {known_url}: {rule} does not matter")


class LinkNotFollowed(IgnoreRequest):
    """The request is not made, because only repeats link to it, and links of its pattern lead to known content.

    It reaches the request's errback, where there is one.
    """

    def __init__(self, url: str, pattern: str, bound: float) -> None:
        self.url = url
        """The URL that was not fetched."""
        self.pattern = pattern
        """The pattern of similar links, such as ``blog.example/#?replytocom``."""
        self.bound = bound
        """The upper bound (95 %) for the share of these links that lead to new content, 0..1."""
        super().__init__(f"only repeats link to {url}, and at most {bound:.1%} of {pattern} lead to new content")


class NearDuplicateItem(DropItem):
    """The item repeats a delivered item."""


class FailSafe:
    """Logs an exception in the block with a message and goes on behind it: our mistakes must not cost the user a page.

    What drops a page, a request or an item on purpose passes.
    """

    def __init__(self, message: str, *about: object) -> None:
        self._message, self._about = message, about

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        """Log an error of the block, and say whether it is to go no further."""
        if not isinstance(error, Exception) or isinstance(error, DropItem | IgnoreRequest):
            return False
        logger.error(self._message, *self._about, exc_info=error)
        return True


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
        for name in FOREIGN_LOGGERS:
            logging.getLogger(name).addFilter(_without_tracebacks)
        # Until somebody chooses a log, Twisted prints failures, too. Scrapy has chosen Python's without saying so.
        if getattr(globalLogBeginner, "_temporaryObserver", None) is not None:
            globalLogBeginner.beginLoggingTo([], redirectStandardIO=False)
        if crawler not in _refused:
            _refused.add(crawler)
            logger.critical("The crawl does not begin: %s", error)
        raise


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
