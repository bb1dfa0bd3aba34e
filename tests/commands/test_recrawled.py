"""``forget``, ``rollback``, ``drift`` and ``moved``: what one crawl tells the next."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.command_line import Crawled
from helpers.crawling import ADDON, PatientSpider, crawl
from helpers.on_asyncio import on_asyncio, wait_for
from helpers.pages import page
from helpers.site_server import Site

INCREMENTAL = {"SIMDEDUP_AGAINST": "history", "SIMDEDUP_UNCHANGED": "drop"}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Crawled]:
    """A site of its own for each test: thirty pages, the first under three URLs."""
    with Site() as site:
        serve(site)
        yield Crawled(tmp_path, site)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """The same site, crawled once."""
    with Site() as site:
        serve(site)
        made = Crawled(tmp_path_factory.mktemp("original"), site)
        wait_for(made.crawl(**INCREMENTAL))
        yield made


@pytest.fixture
def crawled_shop(original: Crawled, tmp_path: Path) -> Crawled:
    """A copy for each test, of what that crawl left behind."""
    shutil.copytree(original.directory, tmp_path, dirs_exist_ok=True)
    return replace(original, directory=tmp_path)


def serve(site: Site) -> None:
    for number in range(30):
        site[f"/{number}"] = page(number)
    site["/0?print=1"], site["/0?ref=mail"] = page(0, 1), page(0, 2)


class TestForget:
    @on_asyncio
    async def test_what_is_forgotten_is_kept_in_the_next_run(self, crawled_shop: Crawled) -> None:
        assert len((await crawled_shop.crawl(**INCREMENTAL)).items) == 0, "nothing is new"
        answer = crawled_shop.call("forget", crawled_shop.site.url("/7"), "--json")
        assert answer.json == {"missing": [], "pages": 1, "others": 0, "dry_run": False}
        again = await crawled_shop.crawl(**INCREMENTAL)
        assert again.urls == [crawled_shop.site.url("/7")]
        assert again.stat("pages/new") == 1

    @on_asyncio
    async def test_who_forgets_a_repeat_forgets_its_content(self, crawled_shop: Crawled) -> None:
        answer = crawled_shop.call("forget", crawled_shop.site.url("/0?print=1"))
        assert answer.out.startswith("1 page is forgotten, and 2 with the same content")
        again = await crawled_shop.crawl(**INCREMENTAL)
        assert again.urls == [crawled_shop.site.url("/0")]
        assert again.stat("pages/dropped") == 31

    def test_nothing_happens_in_a_dry_run(self, crawled_shop: Crawled) -> None:
        answer = crawled_shop.call("forget", "--site", "127.0.0.1", "--dry-run")
        assert "32 pages would be forgotten" in answer.out
        assert crawled_shop.call("check", "--json").json["pages"] == 32

    def test_a_site_or_what_is_old_can_be_forgotten(self, crawled_shop: Crawled) -> None:
        assert crawled_shop.call("forget", "--older-than", "1").code == 1
        assert crawled_shop.call("forget", "--older-than", "0", "--site", "127.0.0.1").code == 0
        assert crawled_shop.call("check", "--json").json["pages"] == 0
        _, *records = crawled_shop.call("export").out.splitlines()
        assert records == []
        assert crawled_shop.call("report", "--json").json["pages"] == 0
        assert crawled_shop.call("explain", crawled_shop.site.url("/0")).code == 1

    def test_what_is_not_there_is_named(self, crawled_shop: Crawled) -> None:
        answer = crawled_shop.call("forget", "http://nope.example/")
        assert (answer.code, answer.out) == (1, "no page fits: nothing is forgotten\n")
        assert answer.err == "http://nope.example/ is not in the store\n"
        answer = crawled_shop.call("forget", "http://nope.example/", crawled_shop.site.url("/7"), "--json")
        assert (answer.code, answer.json["missing"], answer.json["pages"]) == (0, ["http://nope.example/"], 1)

    def test_it_wants_to_know_what(self, crawled_shop: Crawled) -> None:
        answer = crawled_shop.call("forget")
        assert answer.code == 2
        assert "say which pages" in answer.err


@on_asyncio
async def test_rollback_takes_out_what_a_run_wrote(shop: Crawled) -> None:
    await shop.crawl(**INCREMENTAL, SIMDEDUP_RUN="good")
    shop.site["/new"] = page("new")
    await shop.crawl(**INCREMENTAL, SIMDEDUP_RUN="bad")
    # The new page, and the two that the run recognised as repeats once more.
    assert shop.call("rollback", "bad", "--dry-run", "--json").json["pages"] == 3
    assert shop.call("rollback", "bad", "--json").json == {"run": "bad", "pages": 3, "others": 0, "dry_run": False}
    again = await shop.crawl(**INCREMENTAL)
    assert again.urls == [shop.site.url("/new")], "as if the bad run had never been"
    assert shop.call("rollback", "bad").code == 1


@on_asyncio
async def test_rollback_takes_out_what_a_run_delivered_and_another_spider_fetched_since(shop: Crawled) -> None:
    class OtherSpider(PatientSpider):
        name = "other"

    settings = ADDON | {"SIMDEDUP_STORE": shop.store, "SIMDEDUP_UNCHANGED": "drop"}
    urls = shop.site.urls("/1", "/2")
    await crawl(PatientSpider, settings | {"SIMDEDUP_RUN": "bad"}, urls=urls)
    await crawl(OtherSpider, settings, urls=urls)
    assert (await crawl(PatientSpider, settings, urls=urls)).urls == []
    assert shop.call("rollback", "bad", "--json").json["pages"] == 2
    assert (await crawl(PatientSpider, settings, urls=urls)).urls == urls


@on_asyncio
async def test_a_run_that_is_not_there_is_said_with_those_that_are(shop: Crawled) -> None:
    await shop.crawl(SIMDEDUP_RUN="monday")
    answer = shop.call("rollback", "mondya")
    assert answer.code == 1
    assert answer.out == "the store has nothing of a run 'mondya'; its latest runs are monday\n"


@on_asyncio
async def test_drift_tells_pages_that_change_and_sites_that_may_have_a_new_design(shop: Crawled) -> None:
    await shop.crawl()
    assert shop.call("drift").out == "No page was fetched more than once.\n"
    shop.site["/3"] = page("another text")
    await shop.crawl()
    calm = shop.call("drift", "--json").json
    assert [(row["changed"], row["redesign"]) for row in calm["sites"]] == [(1, False)]
    assert [row["url"] for row in calm["pages"]] == [shop.site.url("/3")]
    for number in range(25):
        shop.site[f"/{number}"] = page(f"new {number}")
    await shop.crawl()
    answer = shop.call("drift", "-n", 3)
    assert "127.0.0.1 (a redesign?)" in answer.out
    assert shop.site.url("/3") in answer.out, "the page that changed twice comes first"
    assert {page["changes_per_day"] for page in shop.call("drift", "--json").json["pages"]} == {None}
    assert "per day is told once their visits are an hour apart" in answer.out


class TestMoved:
    @pytest.mark.parametrize("against", ["run", "history"])
    @on_asyncio
    async def test_a_page_is_found_under_its_new_url(self, shop: Crawled, against: str) -> None:
        await shop.crawl(SIMDEDUP_AGAINST=against)
        assert shop.call("moved").code == 1
        del shop.site.answers["/5"]
        shop.site["/moved/5"] = page(5, "another frame")
        shop.site["/6?print=1"] = page(6, "no move: /6 is still there")
        await shop.crawl(SIMDEDUP_AGAINST=against)
        (move,) = shop.call("moved", "--json").json
        assert (move["old"], move["new"]) == (shop.site.url("/5"), shop.site.url("/moved/5"))
        assert move["similarity"] > 0.95
        assert shop.site.url("/moved/5") in shop.call("moved", "--site", "127.0.0.1").out

    @pytest.mark.parametrize("name", ["sid", "PHPSESSID", "session"])
    @on_asyncio
    async def test_a_page_under_another_session_id_did_not_move(self, name: str, tmp_path: Path) -> None:
        with Site() as site:
            shop = Crawled(tmp_path, site)
            for number in range(5):
                site[f"/p?id={number}&{name}=a3f9"] = page(number)
            await shop.crawl()
            site.answers.clear()
            for number in range(5):
                site[f"/p?id={number}&{name}=77b1"] = page(number, "later")
            await shop.crawl()
            answer = shop.call("moved")
            assert answer.code == 1
            assert answer.out.startswith("0 pages moved\n\n5 pages came under another session id, and did not move")
            assert [move["is_session"] for move in shop.call("moved", "--json").json] == [True] * 5

    @on_asyncio
    async def test_a_talk_that_got_another_number_moved(self, tmp_path: Path) -> None:
        """Its parameter is called session, and holds no session id."""
        with Site() as site:
            shop = Crawled(tmp_path, site)
            site["/talk?session=12"] = page("talk")
            await shop.crawl()
            site.answers.clear()
            site["/talk?session=13"] = page("talk", "later")
            await shop.crawl()
            assert shop.call("moved").out.startswith("1 page moved\n")

    @on_asyncio
    async def test_a_page_that_is_gone_did_not_move(self, shop: Crawled) -> None:
        await shop.crawl()
        del shop.site.answers["/5"]
        shop.site["/new"] = page("new")
        await shop.crawl()
        assert shop.call("moved").out == "0 pages moved\n"
