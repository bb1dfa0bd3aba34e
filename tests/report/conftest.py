"""A crawl that wrote its report, and a browser to look at it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from helpers.browser import Chromium
from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import wait_for
from helpers.pages import page, prose
from helpers.report_records import Reported
from helpers.site_server import Site


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reported]:
    """Twelve documents, one of them under five URLs, others under two; one near another, one too short."""
    directory = tmp_path_factory.mktemp("reported")
    with Site() as site:
        for number in range(12):
            for wrapping in range(6 if number == 0 else 1 + number % 2):
                site[f"/{number}?v={wrapping}"] = page(number, wrapping)
        site["/near"] = page("0", body=prose("0", 215) + prose("other", 25))
        site["/short"] = "<p>Hello"
        settings = {
            **ADDON,
            "SIMDEDUP_REPORT": [str(directory / "report.html"), str(directory / "report.json")],
            "SIMDEDUP_STORE": f"sqlite:///{(directory / 'pages.sqlite').as_posix()}",
        }
        done = wait_for(crawl(PathsSpider, settings, urls=site.urls(*site.answers)))
        made = json.loads((directory / "report.json").read_text())
        yield Reported(directory / "report.html", made, done, site)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    pytest.importorskip("playwright")
    browser = Chromium()
    yield browser
    browser.close()
