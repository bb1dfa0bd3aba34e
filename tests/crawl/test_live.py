"""What a running crawl says of itself."""

from __future__ import annotations

import asyncio
import json
import logging
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scrapy.extensions.telnet import TelnetConsole

from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio, until
from helpers.pages import page
from helpers.site_server import Site
from scrapy_simdedup import NearDuplicateDownloaderMiddleware

LOGGER = "scrapy_simdedup.crawl.live_stats"


@pytest.fixture
def urls(site: Site) -> list[str]:
    """A page, a copy of it, one that is too short to be judged, and another page."""
    site["/one"], site["/again"], site["/short"], site["/two"] = page("one", 1), page("one", 2), "<p>Hello", page("two")
    return site.urls("/one", "/again", "/short", "/two")


class Looking(PathsSpider):
    """Calls ``look`` with itself when the last page is there, while the crawl runs."""

    look: Callable[[Any], Any]

    async def parse(self, response: Any) -> Any:
        if response.url == self.urls[-1]:
            await self.look(self)
        yield {"url": response.url}


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == LOGGER]


class TestTheLog:
    """A line beside that of LogStats."""

    @on_asyncio
    async def test_says_every_interval_what_was_judged_and_dropped(
        self, urls: list[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, LOGGER)
        line = "Judged 3 pages (at 0 pages/min), 1 dropped (at 0 pages/min)"

        async def look(spider: Any) -> None:
            await until(lambda: line in lines(caplog))

        await crawl(Looking, {**ADDON, "LOGSTATS_INTERVAL": 0.05}, urls=urls, look=look)
        found = lines(caplog)
        assert not any("Judged 0 pages" in text for text in found), "before the first page there is nothing to say"
        assert any("at 0 pages/min" not in text for text in found), "the rate is that of the last interval"
        after = len(found)
        await asyncio.sleep(0.2)
        assert len(lines(caplog)) == after, "it ends with the crawl"

    @on_asyncio
    async def test_says_what_would_have_been_dropped(self, urls: list[str], caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, LOGGER)

        async def look(spider: Any) -> None:
            await until(lambda: any("1 would have been dropped (" in text for text in lines(caplog)))

        settings = {**ADDON, "SIMDEDUP_MODE": "observe", "LOGSTATS_INTERVAL": 0.05}
        await crawl(Looking, settings, urls=urls, look=look)

    @on_asyncio
    async def test_is_silent_without_an_interval(self, urls: list[str], caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, LOGGER)

        async def look(spider: Any) -> None:
            await asyncio.sleep(0.2)

        done = await crawl(Looking, {**ADDON, "LOGSTATS_INTERVAL": 0}, urls=urls, look=look)
        assert done.stat("pages/judged") == 3
        assert lines(caplog) == []

    @on_asyncio
    async def test_is_silent_where_nothing_is_judged(self, site: Site, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, LOGGER)
        site["/short"] = "<p>Hello"

        async def look(spider: Any) -> None:
            await asyncio.sleep(0.2)

        await crawl(Looking, {**ADDON, "LOGSTATS_INTERVAL": 0.02}, urls=site.urls("/short"), look=look)
        assert lines(caplog) == []


class TestTheState:
    """One object, wherever it is asked for."""

    @on_asyncio
    async def test_is_plain_values(self, urls: list[str]) -> None:
        seen: list[Any] = []

        async def look(spider: Any) -> None:
            live = spider.crawler.get_downloader_middleware(NearDuplicateDownloaderMiddleware).live
            seen.append((live.as_dict(), repr(live)))

        await crawl(Looking, {**ADDON, "SIMDEDUP_RUN": "monday"}, urls=urls, look=look)
        ((state, shown),) = seen
        assert json.loads(json.dumps(state)) == state
        assert (state["run"], state["store"], state["mode"]) == ("monday", "memory:", "pages")
        assert (state["judged"], state["dropped"], state["in_work"], state["waiting"]) == (3, 1, 1, 0)
        assert state["kinds"] == {"new": 2, "identical": 1, "unjudged": 1}
        assert state["unjudged"] == {"too_short": 1}
        assert state["most_repeated"] == {urls[0]: 1}
        assert shown == (
            "<simdedup, run monday: 3 pages judged (2 new, 1 identical, 1 unjudged), 1 dropped, "
            f"{state['delivered']} delivered, 0 released, 1 in work, 0 waiting>"
        )

    @on_asyncio
    async def test_is_called_simdedup_in_the_telnet_console(self, urls: list[str]) -> None:
        said: list[str] = []

        async def look(spider: Any) -> None:
            (console,) = (each for each in spider.crawler.extensions.middlewares if isinstance(each, TelnetConsole))
            said.append(repr(console._get_telnet_vars()["simdedup"]))

        await crawl(
            Looking, {**ADDON, "TELNETCONSOLE_ENABLED": True, "TELNETCONSOLE_PORT": [0, 0]}, urls=urls, look=look
        )
        assert "3 pages judged (2 new, 1 identical, 1 unjudged), 1 dropped" in said[0]

    @on_asyncio
    async def test_is_within_reach_of_scrapy_s_remote_control(self, urls: list[str], tmp_path: Path) -> None:
        pytest.importorskip("scrapy.extensions.remote_control", reason="came with Scrapy 2.19")
        said: list[Any] = []
        code = (
            "from scrapy_simdedup import NearDuplicateDownloaderMiddleware as Middleware\n"
            "print(crawler.get_downloader_middleware(Middleware).live.as_dict()['dropped'])"
        )

        def ask() -> Any:
            (job,) = (json.loads(file.read_text()) for file in tmp_path.iterdir())
            request = urllib.request.Request(
                f"http://127.0.0.1:{job['port']}/execute",
                json.dumps({"code": code}).encode(),
                {"Authorization": f"Bearer {job['token']}", "Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)

        async def look(spider: Any) -> None:
            said.append(await asyncio.to_thread(ask))

        control = {"REMOTE_CONTROL_ENABLED": True, "REMOTE_CONTROL_JOBS_DIR": str(tmp_path)}
        await crawl(Looking, {**ADDON, **control}, urls=urls, look=look)
        assert (said[0]["status"], said[0]["output"]) == ("ok", "1\n"), said
