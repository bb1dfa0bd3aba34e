"""A store on a server that is gone for a while costs no page, and one that cannot be used stops the crawl at once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from typing import Any

import pytest

from helpers.crawl_script import SCRIPT
from helpers.crawling import ADDON, PathsSpider, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.servers import PASSWORD, PostgresqlServer, RedisServer
from helpers.site_server import Site
from helpers.warm_python import run_python
from scrapy_simdedup.signals import near_duplicate_dropped

OUTAGE_SECONDS = float(os.environ.get("SIMDEDUP_TEST_OUTAGE", "3"))
"""How long the server is gone; 10 in the long form of this test."""
PAGES = 120


@pytest.mark.slow
@on_asyncio
async def test_a_crawl_goes_on_while_its_server_is_gone_and_uses_it_after(
    server_url: str, site: Site, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    """Each page is kept meanwhile; before and after it, repeats are dropped."""
    name = "redis_server" if server_url.startswith("redis") else "postgresql_server"
    server: RedisServer | PostgresqlServer = request.getfixturevalue(name)
    back = threading.Timer(OUTAGE_SECONDS, server.start)

    class Breaking(PatientSpider):
        async def start(self) -> Any:
            self.dropped = asyncio.Event()
            self.crawler.signals.connect(self.dropped.set, near_duplicate_dropped)
            async for made in super().start():
                yield made

        async def parse(self, response: Any) -> Any:
            if response.url.endswith("/break"):
                await self.dropped.wait()  # the repeat waits for its original to be confirmed
                server.stop(signal.SIGINT)  # in order: a crash may cost the last commits
                back.start()
            for item in super().parse(response):
                yield item

    paths = ["/before", "/before?again", "/break"]
    site["/before"], site["/before?again"], site["/break"] = page("before", 1), page("before", 2), page("break", 1)
    for number in range(PAGES):
        paths.append(f"/{number}")
        site[paths[-1]] = slowly(page(number))

    settings = ADDON | {"SIMDEDUP_STORE": server_url, "SIMDEDUP_RUN": "one"}
    done = await crawl(Breaking, settings, urls=site.urls(*paths))
    back.join()
    assert done.urls == site.urls(*(path for path in paths if path != "/before?again"))
    assert 0 < done.stat("pages/unjudged") < PAGES, "it was used before and after"
    assert done.stat("store/error_count") >= done.stat("pages/unjudged")
    assert "The store failed, so pages are kept" in caplog.text

    site[f"/{PAGES - 1}?again"], site["/break?again"] = page(PAGES - 1, "again"), page("break", 2)
    again = await crawl(PathsSpider, settings, urls=site.urls(f"/{PAGES - 1}?again", "/break?again"))
    # What was delivered while the server was gone is known, too.
    assert again.items == [], (done.crawler.stats.get_stats(), again.crawler.stats.get_stats())


@on_asyncio
async def test_nobody_waits_for_a_page_that_the_server_forgot(
    server_url: str, site: Site, request: pytest.FixtureRequest
) -> None:
    """It was emptied while the page was delivered, so no settlement will ever be read; this process knows of it."""

    def forget_all() -> None:
        if server_url.startswith("redis"):
            request.getfixturevalue("redis_server").ask("FLUSHALL")
        else:
            schema = server_url.rpartition("%3D")[2]
            request.getfixturevalue("postgresql_server").ask(f"TRUNCATE {schema}.simdedup_page")

    class Emptying(PatientSpider):
        def parse(self, response: Any) -> Any:
            if response.url.endswith("/kettle"):
                forget_all()
            yield from super().parse(response)

    paths = ["/kettle", "/kettle?again", "/kettle?print"]
    for number, path in enumerate(paths):
        site[path] = page("kettle", number)
    settings = ADDON | {"SIMDEDUP_STORE": server_url, "SIMDEDUP_PENDING_TIMEOUT": 300}
    done = await asyncio.wait_for(crawl(Emptying, settings, urls=site.urls(*paths)), 60)
    assert done.urls == site.urls(*paths[:1])
    assert done.stat("pages/dropped") == 2


def slowly(html: str) -> Any:
    def answer(_path: str) -> str:
        time.sleep(OUTAGE_SECONDS / (PAGES / 2))
        return html

    return answer


def test_a_plain_reactor_is_told_to_be_asyncio(server_url: str, site: Site) -> None:
    """In one sentence, before any page is fetched."""
    environment = os.environ | {"SETTINGS": json.dumps({"SIMDEDUP_STORE": server_url})}
    done = run_python([SCRIPT, "plain", site.url("/one")], env=environment)
    said = [line for line in done.stderr.splitlines() if "The crawl does not begin" in line]
    assert len(said) == 1
    assert "needs asyncio, which does not run here; use the asyncio reactor: TWISTED_REACTOR =" in said[0]
    assert PASSWORD not in done.stderr
    assert site.requested == []
