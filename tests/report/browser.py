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

from servers import executable

QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@dataclass
class Seen:
    """A page that was opened, and what it did."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    """What came in the console."""
    requests: list[str] = field(default_factory=list)


def with_chromium(test: Callable[..., None]) -> Callable[..., None]:
    """Give a test an ``open_page(url, **context)``, in a thread of its own, as this one has a running loop."""

    @pytest.mark.browser
    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        pytest.importorskip("playwright")
        program = os.environ.get("CHROMIUM") or shutil.which("google-chrome") or str(executable("chromium", "chromium"))
        with ThreadPoolExecutor(1) as pool:
            pool.submit(_run, program, test, args, kwargs).result()

    given = inspect.signature(test)
    wanted = [parameter for name, parameter in given.parameters.items() if name != "open_page"]
    run.__signature__ = given.replace(parameters=wanted)  # open_page is no fixture
    return run


def _run(program: str, test: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET)

        def open_page(url: str, **context: Any) -> Seen:
            page = browser.new_context(**context).new_page()
            seen = Seen(page)
            page.on("console", lambda message: seen.complaints.append(message.text))
            page.on("pageerror", lambda error: seen.complaints.append(str(error)))
            page.on("request", lambda request: seen.requests.append(request.url))
            page.goto(url)
            return seen

        try:
            test(*args, open_page=open_page, **kwargs)
        finally:
            browser.close()
