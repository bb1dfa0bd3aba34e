"""Chromium for tests; installed on Debian if it is missing."""

from __future__ import annotations

import functools
import inspect
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from helpers.servers import executable

QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
PATIENCE = 180_000
"""Milliseconds after which a browser counts as stuck: a machine that has much else to do is no failure."""


@dataclass
class Seen:
    """A page that was opened, and what it did."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    """What came in the console."""
    requests: list[str] = field(default_factory=list)


class Chromium:
    """One browser for all tests, in a thread of its own, as that of the tests has a running loop."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._thread.submit(self._start).result()

    def run(self, test: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        self._thread.submit(self._run, test, args, kwargs).result()

    def close(self) -> None:
        self._thread.submit(self._stop).result()
        self._thread.shutdown()

    def _start(self) -> None:
        from playwright.sync_api import sync_playwright

        program = os.environ.get("CHROMIUM") or shutil.which("google-chrome") or str(executable("chromium", "chromium"))
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=program, args=QUIET, timeout=PATIENCE)

    def _stop(self) -> None:
        self._browser.close()
        self._playwright.stop()

    def _run(self, test: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        contexts = []

        def open_page(url: str, **options: Any) -> Seen:
            context = self._browser.new_context(**options)
            context.set_default_timeout(PATIENCE)
            contexts.append(context)
            page = context.new_page()
            seen = Seen(page)
            page.on("console", lambda message: seen.complaints.append(message.text))
            page.on("pageerror", lambda error: seen.complaints.append(str(error)))
            page.on("request", lambda request: seen.requests.append(request.url))
            page.goto(url)
            return seen

        try:
            test(*args, open_page=open_page, **kwargs)
        finally:
            for context in contexts:
                context.close()


def with_chromium(test: Callable[..., None]) -> Callable[..., None]:
    """Give a test an ``open_page(url, **context)``."""

    @pytest.mark.browser
    @functools.wraps(test)
    def run(*args: Any, chromium: Chromium, **kwargs: Any) -> None:
        chromium.run(test, *args, **kwargs)

    given = inspect.signature(test)
    wanted = [parameter for name, parameter in given.parameters.items() if name != "open_page"]
    fixture = inspect.Parameter("chromium", inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = given.replace(parameters=[*wanted, fixture])  # open_page is no fixture
    return run
