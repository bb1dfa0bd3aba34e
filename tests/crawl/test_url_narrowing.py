"""A rule about URLs that has exceptions goes on where it is right, and no page is lost where it is wrong."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from helpers.crawling import ADDON, ONE_BY_ONE, crawl
from helpers.on_asyncio import on_asyncio
from helpers.site_server import Site
from helpers.url_site import Magazine, Reader, times

SKIP = {"SIMDEDUP_URL_LEARNING": "skip", "SIMDEDUP_SECRET": "so that chance is the same each time"}
REPLIES = ("", *(f"&reply={{token}}{number}" for number in range(5)))

pytestmark = [pytest.mark.usefixtures("awake"), pytest.mark.slow]


class Commented(Magazine):
    """Of every tenth story the page with a form to reply is another one, whichever comment the reply is to."""

    def path(self, article: int, variant: str) -> str:
        return f"{self.prefix}{article}" + variant.format(token=article)

    def content(self, path: str) -> str:
        query = parse_qs(urlsplit(path).query)
        article = query["id"][0]
        return f"{article} with a form" if "reply" in query and int(article) % 10 == 9 else article


@pytest.mark.parametrize("stories", [50, 100])
@on_asyncio
async def test_one_reply_of_each_story_is_fetched_where_a_few_differ_from_the_story(site: Site, stories: int) -> None:
    """Also on a small site, where the story that is another page than its replies has one URL, and comes last."""
    magazine = Commented(site, stories, REPLIES)
    found = await crawl(Reader, {**ADDON, **ONE_BY_ONE, **SKIP}, root=site.root)
    assert times(found.items) == dict.fromkeys(magazine.contents, 1)
    saved = len(magazine.addresses) - len(site.requested)
    assert saved >= 0.3 * len(magazine.addresses)
    assert found.stat("urls/rules") > 0


@on_asyncio
async def test_no_reply_is_lost_where_each_shows_another_page_now_and_then(site: Site) -> None:
    class Varied(Commented):
        def content(self, path: str) -> str:
            shown = super().content(path)
            query = parse_qs(urlsplit(path).query)
            special = "reply" in query and int(query["reply"][0]) % 17 == 0
            return f"{shown} to {query['reply'][0]}" if special else shown

    magazine = Varied(site, 50, REPLIES)
    found = await crawl(Reader, {**ADDON, **ONE_BY_ONE, **SKIP}, root=site.root)
    assert times(found.items) == dict.fromkeys(magazine.contents, 1)


@on_asyncio
async def test_amp_pages_in_a_folder_are_skipped(site: Site) -> None:
    class Amplified(Magazine):
        def path(self, article: int, variant: str) -> str:
            return f"{variant}/story/{article}"

        def content(self, path: str) -> str:
            return path.rpartition("/")[2]

    magazine = Amplified(site, 60, ("", "/amp", "/en-gb"))
    found: Any = await crawl(Reader, {**ADDON, **ONE_BY_ONE, **SKIP}, root=site.root)
    assert times(found.items) == dict.fromkeys(magazine.contents, 1)
    assert len(magazine.addresses) - len(site.requested) >= 0.25 * len(magazine.addresses)
