"""What runs have noted stays known: pages that moved, and sites with a new design."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.command_line import Crawled
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from helpers.site_server import Answer, Site
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store.sqlite import SqliteStore

GONE = (410, {"Content-Type": "text/html"}, b"<h1>Gone</h1>")
MISSING = (404, {"Content-Type": "text/html"}, b"<h1>Not found</h1>")
PATHS = [f"/{number}" for number in range(12)]
MOVED = {"/3": "404", "/4": "410", "/5": "changed"}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Crawled]:
    """A site of its own for each test: twelve pages."""
    with Site() as site:
        for path in PATHS:
            site[path] = page(path)
        yield Crawled(tmp_path, site)


def move_three(site: Site, *, first: bool) -> None:
    """To other URLs, which are met before the old ones, or after them."""
    news: dict[str, Answer] = {f"/archive{path}": page(path, "another frame") for path in MOVED}
    olds: dict[str, Answer] = {"/3": MISSING, "/4": GONE, "/5": page("an advertisement")}
    rest = {path: answer for path, answer in site.answers.items() if path not in MOVED}
    site.answers.clear()
    site.answers.update({**news, **olds, **rest} if first else {**olds, **news, **rest})


def told(shop: Crawled) -> dict[str, tuple[str, str, str]]:
    """By the old path: the new one, the run that noticed, and how."""
    length = len(shop.site.root)
    moves = shop.call("moved", "--json").json
    return {move["old"][length:]: (move["new"][length:], move["run"], move["why"]) for move in moves}


EXPECTED = {path: (f"/archive{path}", "two", why) for path, why in MOVED.items()}


class TestMoved:
    @pytest.mark.parametrize("first", [True, False], ids=["new URL first", "old URL first"])
    @pytest.mark.parametrize("against", ["run", "history"])
    @on_asyncio
    async def test_what_left_its_url_is_found_and_stays_found(self, shop: Crawled, against: str, first: bool) -> None:
        """Whichever URL the crawl meets first, and nothing is dropped but what an earlier run has delivered."""
        one = await shop.crawl(SIMDEDUP_AGAINST=against, SIMDEDUP_RUN="one")
        assert (len(one.items), told(shop)) == (12, {})
        move_three(shop.site, first=first)
        two = await shop.crawl(SIMDEDUP_AGAINST=against, SIMDEDUP_RUN="two")
        assert told(shop) == EXPECTED
        known = {"/archive/3", "/archive/4"} | ({"/archive/5"} if first else set()) if against == "history" else set()
        assert {url[len(shop.site.root) :] for url in two.urls} == {
            *(set(PATHS) - {"/3", "/4"}),
            *({f"/archive{path}" for path in MOVED} - known),
        }
        assert two.stat("pages/dropped") == len(known)
        shop.site["/new"] = page("new")
        await shop.crawl(SIMDEDUP_AGAINST=against, SIMDEDUP_RUN="three")
        assert told(shop) == EXPECTED
        text = shop.call("moved").out
        assert "answered 410 in two" in text
        assert "shows another content in two" in text

    @on_asyncio
    async def test_what_came_back_did_not_move(self, shop: Crawled) -> None:
        """Nor did what was there under both URLs before."""
        shop.site["/3?print=1"] = page("/3", "for paper")
        await shop.crawl()
        shop.site["/3"] = MISSING
        await shop.crawl()
        assert told(shop) == {}
        move_three(shop.site, first=False)
        await shop.crawl(SIMDEDUP_RUN="two")
        assert len(told(shop)) == 3
        for path in MOVED:
            shop.site[path] = page(path)
        await shop.crawl()
        assert told(shop) == {}

    @pytest.mark.parametrize("status", [301, 302])
    @on_asyncio
    async def test_a_lasting_redirect_says_that_the_page_moved(self, shop: Crawled, status: int) -> None:
        """One for the time being says nothing."""
        await shop.crawl(SIMDEDUP_RUN="one")
        shop.site["/3"] = (status, {"Location": "/archive/3"}, b"")
        shop.site["/archive/3"] = page("/3", "another frame")
        await shop.crawl(SIMDEDUP_RUN="two")
        shop.site["/new"] = page("new")
        await shop.crawl(SIMDEDUP_RUN="three")
        assert told(shop) == ({"/3": ("/archive/3", "two", "301")} if status == 301 else {})

    @on_asyncio
    async def test_a_store_that_takes_no_notes_costs_no_page(
        self, shop: Crawled, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await shop.crawl()
        move_three(shop.site, first=False)

        async def fails(*_: object, **__: object) -> bytes:
            raise StoreError("sqlite:", "the disk is full")

        monkeypatch.setattr(SqliteStore, "put_note", fails)
        crawl = await shop.crawl(SIMDEDUP_TRACK_LAYOUT=True)
        assert len(crawl.items) == 13
        assert crawl.stat("pages/unjudged_reason_count/status") == 2
        assert crawl.stat("store/error_count") >= 4
        assert {why for *_, why in told(shop).values()} <= {"not met"}

    @on_asyncio
    async def test_a_page_that_was_edited_did_not_leave(self, shop: Crawled) -> None:
        await shop.crawl()
        shop.site["/3"] = page("/3", body=prose("/3", 240) + prose("an afterword", 30))
        shop.site["/copy"] = page("/3")
        await shop.crawl()
        assert told(shop) == {}

    @on_asyncio
    async def test_rollback_takes_out_what_a_run_noted(self, shop: Crawled) -> None:
        await shop.crawl(SIMDEDUP_RUN="one")
        move_three(shop.site, first=False)
        await shop.crawl(SIMDEDUP_RUN="two")
        assert shop.call("rollback", "two").code == 0
        assert told(shop) == {}

    @on_asyncio
    async def test_learning_from_urls_does_not_mind(self, shop: Crawled) -> None:
        """Its notes are in the same store, and a run that is taken up reads all of its own."""
        settings = {"SIMDEDUP_URL_LEARNING": "observe", "SIMDEDUP_RUN": "one", "LOG_LEVEL": "ERROR"}
        await shop.crawl(SIMDEDUP_RUN="before")
        move_three(shop.site, first=False)
        await shop.crawl(**settings)
        again = await shop.crawl(**settings)
        assert again.stat("urls/seen") > 0
        assert shop.call("rules", "--json").code in {0, 1}
        assert shop.call("check").code == 0
        assert len(told(shop)) == 3


def in_a_new_template(seed: object) -> str:
    """The article of a seed, with nothing around it that was there before."""
    head, _, rest = page(seed).partition("<body")
    article = rest.partition("<main>")[2].partition("</main>")[0]
    return f"""{head}<body><div class="shell"><div class="grid"><section class="story"><main>{article}</main></section>
<ul class="dock"><li><span>Menu</span></li></ul></div></div></body></html>"""


class TestDrift:
    @on_asyncio
    async def test_a_redesign_is_told_after_the_crawl_and_later(self, shop: Crawled) -> None:
        """With its run, its time and the share of pages; and what was new in each run beside it."""
        settings = {"SIMDEDUP_TRACK_LAYOUT": True}
        await shop.crawl(**settings, SIMDEDUP_RUN="one")
        assert shop.call("drift", "--json").json["runs"] == []
        shop.site["/1"] = page("edited")
        await shop.crawl(**settings, SIMDEDUP_RUN="two")
        assert [site["redesign"] for site in shop.call("drift", "--json").json["sites"]] == [False]
        for path in PATHS:
            shop.site[path] = in_a_new_template(path if path != "/1" else "edited")
        shop.site["/2"] = in_a_new_template("edited, too")
        await shop.crawl(**settings, SIMDEDUP_RUN="three")
        await shop.crawl(**settings, SIMDEDUP_RUN="four")
        found = shop.call("drift", "--json").json
        assert [site["redesign"] for site in found["sites"]] == [True]
        news = {row["run"]: [row[name] for name in ("none", "content", "template", "both")] for row in found["runs"]}
        assert news == {"two": [11, 1, 0, 0], "three": [0, 0, 11, 1], "four": [12, 0, 0, 0]}
        assert [row["run"] for row in found["runs"]] == ["four", "three", "two"]
        assert {row["run"]: row["redesign"] for row in found["runs"]} == {"two": None, "three": 1.0, "four": None}
        assert [row["run"] for row in found["redesigns"]] == ["three"]
        assert "127.0.0.1 has a new design since" in shop.call("drift", "-n", 1).out, "whatever came later"
        report = shop.call("report", "--json").json
        assert report["changes"] == found["runs"]
        assert [row["run"] for row in shop.call("report", "--run", "three", "--json").json["changes"]] == ["three"]
        assert shop.call("rollback", "three").code == 0, (
            "its notes are left, though all of its pages were fetched again"
        )
        assert shop.call("rollback", "three").code == 1
        assert "new design" not in shop.call("drift").out

    @on_asyncio
    async def test_new_content_in_the_same_template_is_no_redesign(self, shop: Crawled) -> None:
        """However much of it, where the structures are known."""
        for number in range(12, 25):
            shop.site[f"/{number}"] = page(number)
        redesigns = []
        for on in (True, False):
            shop.site.answers.update({path: page(f"{path} {on}") for path in list(shop.site.answers)})
            await shop.crawl(SIMDEDUP_TRACK_LAYOUT=on)
            shop.site.answers.update({path: page(f"{path} {on} again") for path in list(shop.site.answers)})
            await shop.crawl(SIMDEDUP_TRACK_LAYOUT=on)
            redesigns += [site["redesign"] for site in shop.call("drift", "--json").json["sites"]]
        assert redesigns == [False, True]
