"""What speaks against a rule about URLs is fetched once more, and before the end a sample of what was skipped."""

from __future__ import annotations

import os
import signal
from collections import Counter, defaultdict
from typing import Any

import pytest

from crawl.test_url_resume import Job, job
from helpers.crawling import ADDON, ONE_BY_ONE, Crawl, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from helpers.url_site import Magazine, Reader, times

__all__ = ["job"]

SKIP = {"SIMDEDUP_URL_LEARNING": "skip", "SIMDEDUP_SECRET": "so that chance is the same each time"}

pytestmark = [pytest.mark.usefixtures("awake"), pytest.mark.slow]


class Flaky(Magazine):
    """Every seventh address of an article that was shown before shows half a page when it is asked for first."""

    def __init__(self, site: Site, articles: int) -> None:
        super().__init__(site, articles)
        self.shown: defaultdict[str, set[str]] = defaultdict(set)
        """By article, the addresses that were asked for."""

    def answer(self, path: str) -> str:
        self.served += 1
        shown = self.shown[self.content(path)]
        is_other = bool(shown) and path not in shown
        shown.add(path)
        if is_other and self.served % 7 == 0:
            return self.broken(path)
        return super().answer(path)

    def broken(self, path: str) -> str:
        made = page(f"broken {path}", self.served, count=120, body="")
        return made.replace("<h1>", f'<h1 data-content="broken {path}">')


class Failing(Flaky):
    """A few addresses show an error of their own when they are asked for first, their article known or not."""

    def answer(self, path: str) -> str:
        self.served += 1
        shown = self.shown[self.content(path)]
        is_first = path not in shown
        shown.add(path)
        return self.broken(path) if is_first and self.served % 31 == 0 else Magazine.answer(self, path)


async def read(site: Site, spider: type[Reader] = Reader, **settings: Any) -> Crawl:
    return await crawl(spider, {**ADDON, **ONE_BY_ONE, **SKIP, **settings}, root=site.root)


@on_asyncio
async def test_pages_that_fail_now_and_then_cost_no_rule_and_no_item_twice(site: Site, caplog: Any) -> None:
    magazine = Flaky(site, 120)
    found = await read(site, SIMDEDUP_URL_CHECKS=0.2)
    again = sum(count - 1 for count in Counter(site.requested).values())
    assert again == found.stat("urls/asked") > 0
    assert magazine.contents <= set(times(found.items))
    assert max(times(found.items).values()) == 1
    saved = len(magazine.addresses) - len(site.requested)
    assert saved >= 0.3 * len(magazine.addresses)  # which pages are verified is chance
    assert f"URLs: {saved} fetches saved" in caplog.text


@on_asyncio
async def test_an_article_is_found_whose_first_address_showed_an_error_that_no_other_page_shows(site: Site) -> None:
    """The error stands for the other addresses until one of them is fetched."""
    magazine = Failing(site, 120)
    found = await read(site)
    assert magazine.contents <= set(times(found.items))
    assert len(site.requested) < 0.6 * len(magazine.addresses)


@on_asyncio
async def test_no_url_is_fetched_twice_where_no_checks_are_allowed(site: Site) -> None:
    Flaky(site, 60)
    found = await read(site, SIMDEDUP_URL_CHECKS=0)
    assert max(Counter(site.requested).values()) == 1
    assert found.stat("urls/asked") == found.stat("urls/sampled") == 0


@on_asyncio
async def test_content_that_only_the_second_look_shows_is_delivered(site: Site) -> None:
    """The URL shows something new each time."""

    class Restless(Magazine):
        def answer(self, path: str) -> str:
            if "view=full" in path and "id=9" in path:
                shown = f"{path} at {site.requested.count(path)}"
                made = page(shown, self.served, count=120, body="")
                return made.replace("<h1>", f'<h1 data-content="{shown}">')
            return super().answer(path)

    Restless(site, 60)
    found = await read(site)
    shown = [content for content in times(found.items) if " at " in content]
    looks = Counter(content.partition(" at ")[0] for content in shown)
    assert found.stat("urls/asked") > 0
    assert max(looks.values()) > 1
    assert sum(site.requested.count(path) for path in looks) == len(shown)


@on_asyncio
async def test_the_sample_is_made_last_and_the_summary_counts_the_checks(site: Site, caplog: Any) -> None:
    magazine = Magazine(site, 60)
    found = await read(site, SIMDEDUP_URL_CHECKS=0.3)
    assert found.stat("urls/sampled") > 5
    assert times(found.items) == dict.fromkeys(magazine.contents, 1)
    assert 0.2 < found.stat("urls/unseen_bound") < 1
    verified = found.stat("urls/verified")
    assert verified > found.stat("urls/sampled")
    assert f"none of {verified} requests that verified rules led to new content" in caplog.text


@on_asyncio
async def test_a_page_that_is_another_twice_refutes_the_rule_and_no_page_is_lost(site: Site) -> None:
    magazine = Magazine(site, 80, relevant=40)
    found = await read(site)
    assert magazine.contents <= set(times(found.items))
    assert max(times(found.items).values()) == 1


@on_asyncio
async def test_a_second_look_that_gets_no_answer_speaks_against_the_rule(site: Site) -> None:
    """A server that is down for whoever asks again."""

    class Down(Magazine):
        def answer(self, path: str) -> Any:
            if site.requested.count(path) > 1:
                return (503, {}, b"later")
            return super().answer(path)

    magazine = Down(site, 80, relevant=60)
    found = await read(site, RETRY_ENABLED=False)
    assert found.stat("urls/asked") > 0
    assert magazine.contents <= set(times(found.items))


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal")
def test_a_crawl_that_is_killed_while_it_asks_goes_on_and_loses_nothing(site: Site, job: Job) -> None:
    """The second process asks no URL for ever."""
    killed: list[str] = []

    class Killing(Flaky):
        def answer(self, path: str) -> str:
            if site.requested.count(path) == 2 and not killed:
                killed.append(path)
                assert job.process is not None
                job.process.kill()
            return super().answer(path)

    magazine = Killing(site, 80)
    job.settings["DUPEFILTER_CLASS"] = "scrapy.dupefilters.BaseDupeFilter"
    job.settings["SIMDEDUP_URL_CHECKS"] = 0.2
    job.start()
    job.end()
    assert killed
    assert job.process is not None
    assert job.process.exitcode == -signal.SIGKILL
    site.requested.clear()
    magazine.shown.clear()
    job.start()
    job.end()
    assert magazine.contents <= job.contents
    assert max(Counter(path for path in site.requested if path.startswith("/story")).values()) <= 5
