"""Pages that the command line names: files, what is piped in, or URLs that are fetched as the project would."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse

from scrapy_simdedup.commands import BELOW_THE_COMMAND_LINE
from scrapy_simdedup.errors import SimdedupError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy.http import Response
    from scrapy.settings import Settings
    from twisted.python.failure import Failure

ALONE = {
    "SIMDEDUP_ENABLED": False,
    "TWISTED_REACTOR_ENABLED": True,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "FEEDS": {},
    "JOBDIR": None,
}
"""Settings that keep a fetch from leaving traces in what the project's crawls write."""


@dataclass(frozen=True, slots=True)
class NamedPage:
    """A page that was asked for."""

    name: str
    """As it was named."""
    url: str
    html: str
    """Decoded as Scrapy does."""


def is_url(name: str) -> bool:
    """Whether the name is an address, not a file."""
    return name.startswith(("http://", "https://"))


def read_pages(names: Sequence[str], settings: Settings) -> list[NamedPage]:
    """The pages, in the order of their names.

    Args:
        names: paths, URLs, or ``-`` for stdin.
        settings: the project's, under which URLs are fetched.

    Raises:
        OSError: a file cannot be read.
        SimdedupError: a URL cannot be fetched.
    """
    fetched = _fetch([name for name in names if is_url(name)], settings)
    return [NamedPage(name, name, fetched[name]) if is_url(name) else _read(name) for name in names]


def _read(name: str) -> NamedPage:
    body = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    url = "file:///dev/stdin" if name == "-" else Path(name).absolute().as_uri()
    return NamedPage(name, url, HtmlResponse(url, body=body).text)


class _Fetcher(Spider):
    name = "simdedup"

    def __init__(self, urls: Sequence[str], pages: dict[str, str], problems: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls, self.pages, self.problems = urls, pages, problems

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            yield Request(url, dont_filter=True, errback=self.failed, cb_kwargs={"name": url})

    def parse(self, response: Response, name: str) -> None:
        if isinstance(response, HtmlResponse):
            self.pages[name] = response.text
        else:
            self.problems.append(f"{name} is no HTML page")

    def failed(self, failure: Failure) -> None:
        url = failure.request.url  # type: ignore[attr-defined]  # Scrapy adds it
        response = getattr(failure.value, "response", None)
        why = f"answered with status {response.status}" if response is not None else failure.getErrorMessage()
        self.problems.append(f"{url} could not be fetched: {why}")


def _fetch(urls: Sequence[str], settings: Settings) -> dict[str, str]:
    pages: dict[str, str] = {}
    problems: list[str] = []
    if urls:
        settings = settings.copy()
        settings.setdict(ALONE, priority=BELOW_THE_COMMAND_LINE)
        process = CrawlerProcess(settings, install_root_handler=False)
        process.crawl(_Fetcher, urls=list(dict.fromkeys(urls)), pages=pages, problems=problems)
        process.start()
    missing = [url for url in urls if url not in pages]
    if problems or missing:
        raise SimdedupError(problems[0] if problems else f"{missing[0]} could not be fetched")
    return pages
