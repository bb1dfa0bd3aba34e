"""A store on a server that is gone for a while costs no page, and one that cannot be used stops the crawl at once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
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

MISSED_PAGES = 40
"""Pages that are fetched while the server is gone, in twice the seconds for which a store is left alone."""
MOST_PAGES = 1_000


@pytest.mark.slow
@on_asyncio
async def test_a_crawl_goes_on_while_its_server_is_gone_and_uses_it_after(
    server_url: str, site: Site, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    """Each page is kept meanwhile; before and after it, repeats are dropped."""
    name = "redis_server" if server_url.startswith("redis") else "postgresql_server"
    server: RedisServer | PostgresqlServer = request.getfixturevalue(name)

    class Breaking(PatientSpider):
        """Fetches page after page until one is judged by the server that came back."""

        missed = 0

        async def start(self) -> Any:
            self.dropped = asyncio.Event()
            self.crawler.signals.connect(self.dropped.set, near_duplicate_dropped)
            async for made in super().start():
                yield made

        async def parse(self, response: Any) -> Any:
            for item in super().parse(response):
                yield item
            if response.url.endswith("/before"):
                return
            if response.url.endswith("/break"):
                await self.dropped.wait()  # the repeat waits for its original to be confirmed
                server.stop(signal.SIGINT)  # in order: a crash may cost the last commits
            elif self.crawler.stats.get_value("simdedup/pages/unjudged") == self.missed:
                return
            else:
                self.missed += 1
            if self.missed == MISSED_PAGES:
                await asyncio.to_thread(server.start)
            if self.missed < MOST_PAGES:
                site[f"/{self.missed}"] = slowly(page(self.missed))
                yield response.follow(f"/{self.missed}")

    paths = ["/before", "/before?again", "/break"]
    site["/before"], site["/before?again"], site["/break"] = page("before", 1), page("before", 2), page("break", 1)
    settings = ADDON | {"SIMDEDUP_STORE": server_url, "SIMDEDUP_RUN": "one"}
    done = await crawl(Breaking, settings, urls=site.urls(*paths))
    missed = done.spider.missed
    assert MISSED_PAGES <= done.stat("pages/unjudged") == missed < MOST_PAGES, "it was used before and after"
    assert done.urls == site.urls("/before", "/break", *(f"/{number}" for number in range(missed + 1)))
    assert done.stat("store/error_count") >= missed
    assert "The store failed, so pages are kept" in caplog.text

    site[f"/{missed}?again"], site["/break?again"] = page(missed, "again"), page("break", 2)
    again = await crawl(PathsSpider, settings, urls=site.urls(f"/{missed}?again", "/break?again"))
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
    done = await asyncio.wait_for(crawl(Emptying, settings, urls=site.urls(*paths)), 180)
    assert done.urls == site.urls(*paths[:1])
    assert done.stat("pages/dropped") == 2


def slowly(html: str) -> Any:
    def answer(_path: str) -> str:
        time.sleep(0.05)
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
