"""What the detector makes of a page, on every kind of store."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from helpers.prints import Clock, edited, print_of
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.detect import site_logs
from scrapy_simdedup.errors import FingerprintMismatch, SettingError, StoreError
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import FingerprintStore, Record
from scrapy_simdedup.store.memory import MemoryStore
from scrapy_simdedup.store.sqlite import SqliteStore

A, B, C = (f"https://shop.example/{name}" for name in "abc")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FingerprintStore:
    return MemoryStore() if request.param == "memory" else SqliteStore(f"sqlite:///{(tmp_path / 's').as_posix()}")


@asynccontextmanager
async def run(
    store: FingerprintStore | str, name: str = "monday", **settings: Any
) -> AsyncIterator[NearDuplicateDetector]:
    """A detector of one run of a crawl; its secret is always the same, so that its similarities are too."""
    settings = {"secret": "of the tests", **settings}
    detector = NearDuplicateDetector(store, run=name, **settings)
    await detector.open()
    yield detector
    await detector.close()


async def records(store: FingerprintStore) -> dict[str, Record]:
    """What the store has, the newest version of each page by its URL."""
    await store.open()
    try:
        found = sorted([record async for _, record in store.records()], key=lambda record: record.id)
        return {record.url: record for record in found}
    finally:
        await store.close()


# ------------------------------------------------------------------ repeats


@on_asyncio
async def test_a_repeat_of_a_delivered_page_is_a_duplicate(store: FingerprintStore) -> None:
    """Whatever wraps it; and the verdict tells all that explains the drop."""
    async with run(store, now=Clock(5000.0)) as detector:
        first = await detector.judge(page("kettle", 1), url=A)
        assert (first.kind, first.is_duplicate, first.original) == ("new", False, None)
        await detector.confirm(first.page)
        again = await detector.judge(page("kettle", 2), url=B)
        assert (again.kind, again.is_duplicate, again.original, again.page) == ("identical", True, A, None)
        assert again.similarity > 0.95
        assert again.distance <= 12
        assert (again.original_run, again.original_first_seen) == ("monday", 5000.0)
        assert (await detector.judge(page("teapot", 2), url=C)).kind == "new"


@on_asyncio
async def test_a_page_can_be_compared_with_what_was_delivered_and_nothing_is_stored_of_it(
    store: FingerprintStore,
) -> None:
    """The page's own earlier version counts; what is new does not."""
    async with run(store) as detector:
        await detector.add(page("first"), url=A)
        own = (await detector.fetched(page("first"), url=A)).key
        for url in (A, B):
            content, verdict = await detector.known_content(await detector.fetched(page("first", 2), url=url))
            assert content == own
            assert verdict.page is None
        content, verdict = await detector.known_content(await detector.fetched(page("second"), url=A))
        assert (content, verdict.kind) == (None, "changed")
    assert list(await records(store)) == [A]


@on_asyncio
async def test_what_changes_between_two_fetches_of_one_run_is_no_content_of_a_page(store: FingerprintStore) -> None:
    """Whoever asks for a page once more to check a rule shows its callback nothing that a copy would not show."""

    def html(seen: int, dish: str = "lentils") -> str:
        text = " ".join(words(dish, 120))
        return f"<title>{dish}</title><main><h1>{dish}</h1><p>{text}</p><p>Seen {seen} times</p></main>"

    async with run(store) as detector:
        await detector.add(html(1921), url=A)
        own = await detector.fetched(html(1922), url=A)
        assert (await detector.known_content(own))[0] == own.key
        content, verdict = await detector.known_content(await detector.fetched(html(1922, "plums"), url=A))
        assert (content, verdict.kind) == (None, "changed")
    async with run(store, name="tuesday") as detector:
        content, verdict = await detector.known_content(await detector.fetched(html(2024), url=A))
        assert (content, verdict.kind) == (None, "changed")


@on_asyncio
async def test_a_page_that_is_like_two_originals_can_be_compared_with_either(store: FingerprintStore) -> None:
    """So that a rule about URLs is not wrong only because the page was filed under the other one."""

    def html(*changed: int) -> str:
        words = [f"no{number}" if number in changed else f"word{number}" for number in range(300)]
        return f"<title>t</title><body><main><p>{' '.join(words)}</p></main></body>"

    async with run(store, identical=0.9, near=0.5, novel_words=None) as detector:
        for url, text in ((A, html()), (B, html(*range(60)))):
            assert not (await detector.add(text, url=url)).is_duplicate
        between = await detector.fetched(html(*range(30)), url=C)
        for url, text in ((A, html()), (B, html(*range(60)))):
            key = (await detector.fetched(text, url=url)).key
            assert (await detector.known_content(between, key))[0] == key
        other = await detector.fetched(html(*range(100, 130)), url=C)
        assert (await detector.known_content(other, (await detector.fetched("", url=B)).key))[0] != key


@on_asyncio
async def test_a_page_that_says_what_it_said_is_still_what_it_was(store: FingerprintStore) -> None:
    """Though a page came later that has all of its text, and some more: by now it would be dropped for that one."""

    def html(more: str) -> str:
        words = " ".join(f"word{number}" for number in range(1500))
        return f"<title>t</title><body><main><p>{words}</p>{more}</main></body>"

    async with run(store) as detector:
        longer = html(f"<p>{' '.join(f'more{number}' for number in range(60))}</p>")
        for text, url in ((html(""), A), (longer, B)):
            assert not (await detector.add(text, url=url)).is_duplicate
        page = await detector.fetched(html(""), url=A)
        later = (await detector.fetched("", url=B)).key
        assert (await detector.known_content(page))[0] == later
        assert (await detector.known_content(page, None, page.key))[0] == page.key
        assert await detector.is_unchanged(page)
        assert not await detector.is_unchanged(await detector.fetched(html(""), url=C))
        other = await detector.judge(page_of_c := html("").replace("word", "other"), url=C)
        await detector.confirm(other.page)
        changed = await detector.fetched(page_of_c, url=A)
        assert (await detector.known_content(changed, None, page.key))[0] not in {page.key, later, None}
        assert not await detector.is_unchanged(changed)


@on_asyncio
async def test_a_duplicate_is_remembered_with_what_it_repeats(store: FingerprintStore) -> None:
    """So that the drop can be explained when the crawl is over."""
    async with run(store) as detector:
        first = await detector.add(page("kettle", 1), url=A)
        again = await detector.add(page("kettle", 2), url=B)
    found = await records(store)
    assert (found[A].state, found[A].kind, found[A].id) == ("confirmed", "new", first.page.id)
    assert (found[B].state, found[B].kind, found[B].similarity) == ("duplicate", "identical", again.similarity)
    assert found[B].original == found[A].key


@on_asyncio
async def test_the_repeat_of_a_page_in_work_is_undecided(store: FingerprintStore) -> None:
    """It waits for the delivery of the other; asking again changes nothing."""
    async with run(store) as detector:
        first = await detector.judge(page("kettle", 1), url=A)
        for _ in range(3):
            twin = await detector.judge(page("kettle", 2), url=B)
            assert (twin.kind, twin.is_duplicate, twin.page) == ("identical", False, None)
            assert twin.pending == first.page
    assert set(await records(store)) == {A}


@on_asyncio
async def test_a_page_whose_original_was_not_delivered_is_new(store: FingerprintStore) -> None:
    async with run(store) as detector:
        await detector.release((await detector.judge(page("kettle", 1), url=A)).page)
        twin = await detector.judge(page("kettle", 2), url=B)
        assert (twin.kind, twin.pending) == ("new", None)
        await detector.confirm(twin.page)
        assert (await detector.judge(page("kettle", 3), url=C)).original == B


@on_asyncio
async def test_a_page_that_does_not_wait_is_kept_and_remembered(store: FingerprintStore) -> None:
    async with run(store) as detector:
        await detector.judge(page("kettle", 1), url=A)
        twin = await detector.fingerprint(page("kettle", 2), url=B)
        verdict = await detector.judge_page(detector.page_of(twin, url=B), keep_pending=True)
        assert (verdict.kind, verdict.is_duplicate, verdict.reason) == ("identical", False, "in_work")
        await detector.confirm(verdict.page)
        assert (await detector.judge(page("kettle", 3), url=C)).original == B, "the delivered one of the two"


@on_asyncio
async def test_near_pages_are_kept_unless_the_settings_drop_them(store: FingerprintStore) -> None:
    async with run(store) as detector:
        await detector.add(page("kettle", 1), url=A)
        near = await detector.add(edited("kettle", 2), url=B)
        assert (near.kind, near.is_duplicate, near.original) == ("near", False, A)
        assert 0.85 <= near.similarity < 0.95
        assert near.page is not None
    async with run(MemoryStore(), drop="near") as detector:
        await detector.add(page("kettle", 1), url=A)
        near = await detector.add(edited("kettle", 2), url=B)
        assert (near.kind, near.is_duplicate, near.original, near.page) == ("near", True, A, None)


@on_asyncio
async def test_a_site_can_have_settings_of_its_own() -> None:
    sites = {"shop.example": {"drop": "near"}, "news.co.uk": {"identical": 0.87, "near": 0.5}}
    async with run("memory:", site_settings=sites) as detector:
        for host, kind, dropped in (
            ("shop.example", "near", True),
            ("www.news.co.uk", "identical", True),
            ("other.example", "near", False),
        ):
            await detector.add(page("kettle", 1), url=f"https://{host}/a")
            verdict = await detector.add(edited("kettle", 2, 0.1), url=f"https://{host}/b")
            assert (verdict.kind, verdict.is_duplicate) == (kind, dropped), host


@pytest.mark.parametrize(
    ("sites", "host", "dropped"),
    [
        ({"shop.co.uk": {"drop": "near"}}, "shop.co.uk", True),
        ({"shop.co.uk": {"drop": "near"}}, "www.shop.co.uk", True),
        ({"shop.co.uk": {"drop": "near"}}, "shop.example", False),
        ({"www.shop.co.uk": {"drop": "near"}}, "www.shop.co.uk", True),
        ({"www.shop.co.uk": {"drop": "near"}}, "shop.co.uk", False),
        ({"www.shop.co.uk": {"drop": "near"}}, "blog.shop.co.uk", False),
        ({"shop.co.uk": {"drop": "near"}, "blog.shop.co.uk": {"near": 0.9}}, "blog.shop.co.uk", False),
    ],
)
@on_asyncio
async def test_settings_hold_for_a_registrable_domain_or_for_a_host(sites: Any, host: str, dropped: bool) -> None:
    """Of both, those of the host."""
    async with run("memory:", site_settings=sites) as detector:
        await detector.add(page("kettle", 1), url=f"https://{host}/a")
        verdict = await detector.add(edited("kettle", 2, 0.1), url=f"https://{host}/b")
        assert (verdict.kind, verdict.is_duplicate) == ("near", dropped)


@on_asyncio
async def test_a_site_can_have_an_extractor_of_its_own() -> None:
    async with run("memory:", site_settings={"shop.example": {"extractor": "readability"}}) as detector:
        for host, extractor in (("shop.example", "readability"), ("other.example", "roles")):
            url = f"https://{host}/a"
            assert (await detector.fingerprint(page("kettle"), url=url)).extractor == extractor
            assert (await detector.add(page("kettle"), url=url)).kind == "new"
            assert (await detector.add(page("kettle", 2), url=url + "2")).is_duplicate


@on_asyncio
async def test_another_site_displaces_nobody() -> None:
    """Anyone can copy a text; so pages are compared inside their site, unless the settings say otherwise."""
    urls = ["https://shop.co.uk/a", "https://www.shop.co.uk/a", "https://copy.co.uk/a"]
    for scope, kinds in {
        "domain": ["new", "identical", "new"],
        "host": ["new", "new", "new"],
        "all": ["new", "identical", "identical"],
    }.items():
        async with run("memory:", scope=scope) as detector:
            assert [(await detector.add(page("kettle", url), url=url)).kind for url in urls] == kinds


@on_asyncio
async def test_a_url_is_one_page_however_it_is_written() -> None:
    """Without a key of its own a page is who its canonical URL is; with one it is who that says."""
    async with run("memory:") as detector:
        await detector.add(page("kettle", 1), url="https://shop.example/?a=1&b=2")
        assert (await detector.add(page("kettle", 2), url="https://shop.example/?b=2&a=1#top")).kind == "unchanged"
        posted = await detector.add(page("kettle", 3), url="https://shop.example/?a=1&b=2", key=b"post")
        assert posted.kind == "identical"
        assert (await detector.add(page("teapot", 3), url="http://[broken/")).kind == "new"


# ------------------------------------------------------------------ a page and its past


@on_asyncio
async def test_a_page_is_compared_with_what_it_was_in_the_run_before(store: FingerprintStore) -> None:
    """Unchanged or changed, never a duplicate of itself or of its own repeats; how often is counted."""
    clock = Clock(1000.0)
    async with run(store, "monday", now=clock) as detector:
        await detector.add(page("kettle", 1), url=A)
        await detector.add(page("teapot", 1), url=B)
        await detector.add(page("kettle", 2), url=C)
    clock.seconds = 2000.0
    async with run(store, "tuesday", now=clock) as detector:
        same = await detector.add(page("kettle", 3), url=A)
        assert (same.kind, same.is_duplicate, same.original) == ("unchanged", False, A)
        assert (same.original_run, same.original_first_seen) == ("monday", 1000.0)
        other = await detector.add(edited("teapot", 3, 0.3), url=B)
        assert (other.kind, other.is_duplicate, other.original) == ("changed", False, B)
        assert 0 < other.similarity < 0.95
        assert (await detector.add(page("kettle", 4), url=C)).original == A
    found = await records(store)
    counts = {url: (made.visits, made.changes, made.first_seen, made.last_changed) for url, made in found.items()}
    assert counts == {A: (2, 0, 1000.0, 1000.0), B: (2, 1, 1000.0, 2000.0), C: (2, 0, 1000.0, 1000.0)}
    assert {found[url].run for url in found} == {"tuesday"}


@on_asyncio
async def test_every_run_is_complete(store: FingerprintStore) -> None:
    """Pages of earlier runs displace nothing: whichever of two copies comes first is kept, in every run."""
    async with run(store, "monday") as detector:
        assert [(await detector.add(page("kettle", 1), url=url)).is_duplicate for url in (A, B)] == [False, True]
    async with run(store, "tuesday") as detector:
        assert [(await detector.add(page("kettle", 2), url=url)).is_duplicate for url in (B, A)] == [False, True]
    async with run(store, "wednesday") as detector:
        assert (await detector.add(page("kettle", 3), url=C)).kind == "new"


@on_asyncio
async def test_an_incremental_crawl_drops_what_any_run_delivered(store: FingerprintStore) -> None:
    async with run(store, "monday") as detector:
        await detector.add(page("kettle", 1), url=A)
    async with run(store, "tuesday", against="history") as detector:
        copy = await detector.add(page("kettle", 2), url=B)
        assert (copy.kind, copy.is_duplicate, copy.original, copy.original_run) == ("identical", True, A, "monday")
        assert (await detector.add(page("kettle", 3), url=A)).kind == "unchanged"


@on_asyncio
async def test_a_past_that_was_read_in_another_way_says_nothing() -> None:
    """The text of the page may differ only because other parts of it are looked at; the visit counts all the same."""
    store = MemoryStore()
    async with run(store, "monday") as detector:
        await detector.add(page("kettle", 1), url=A)
    async with run(store, "tuesday", site_settings={"shop.example": {"extractor": "readability"}}) as detector:
        assert (await detector.add(page("kettle", 2), url=A)).kind == "new"
    assert (await records(store))[A].visits == 2


@on_asyncio
async def test_what_did_not_change_can_be_dropped(store: FingerprintStore) -> None:
    """A page that repeats what its own URL delivered; dropping it leaves what was delivered in its place."""
    async with run(store, "monday") as detector:
        await detector.add(page("kettle", 1), url=A)
        await detector.add(page("kettle", 2), url=B)
    for day in ("tuesday", "wednesday"):
        async with run(store, day, unchanged="drop") as detector:
            for url in (A, B):
                verdict = await detector.judge(page("kettle", day), url=url)
                assert (verdict.kind, verdict.is_duplicate, verdict.original) == ("unchanged", True, url)
                assert verdict.page is None
    found = await records(store)
    assert [(found[url].state, found[url].run, found[url].visits) for url in (A, B)] == [
        ("confirmed", "monday", 3),
        ("duplicate", "monday", 3),
    ]


@on_asyncio
async def test_what_did_not_change_stands_for_its_content_under_new_urls(store: FingerprintStore) -> None:
    """An earlier run delivered it, and this one drops it for that: so it drops the same under the URL of a revision."""
    async with run(store, "monday") as detector:
        await detector.add(page("kettle", 1), url=A)
    async with run(store, "tuesday", unchanged="drop") as detector:
        assert not (await detector.add(page("other", 1), url=C)).is_duplicate
        assert (await detector.add(page("kettle", 2), url=A)).kind == "unchanged"
        verdict = await detector.add(page("kettle", 3), url=B)
        assert (verdict.kind, verdict.is_duplicate, verdict.original, verdict.original_run) == (
            "identical",
            True,
            A,
            "monday",
        )
    async with run(store, "wednesday", unchanged="drop") as detector:
        assert (await detector.add(page("kettle", 4), url=B)).kind == "unchanged"


@pytest.mark.parametrize("length", [300, 6000])
@on_asyncio
async def test_an_edit_of_a_page_that_was_a_copy_is_exported(store: FingerprintStore, length: int) -> None:
    """Two versions of a handbook had one text. Where both get the same edit, it is exported once.

    Beside a long text nothing of a sentence may be in the sketch, so that the similarity is 1.
    """

    def chapter(more: str = "") -> str:
        return page("chapter", 1, body=f"{prose('chapter', length)}{more}")

    note = "<p>Returns a list, or nothing where there is none.</p>"
    async with run(store, "monday", unchanged="drop") as detector:
        assert (await detector.add(chapter(), url=A)).kind == "new"
        assert (await detector.add(chapter(), url=B)).is_duplicate
    async with run(store, "tuesday", unchanged="drop") as detector:
        assert (await detector.add(chapter(), url=A)).kind == "unchanged"
        assert (await detector.add(chapter(note), url=B)).kind == "changed"
    async with run(store, "wednesday", unchanged="drop") as detector:
        assert (await detector.add(chapter(note), url=B)).kind == "unchanged"
        assert (await detector.add(chapter(note), url=A)).is_duplicate


@pytest.mark.parametrize("against", ["run", "history"])
@pytest.mark.parametrize(("before", "now"), [("Buy", "Sold out"), ("I was there.", "I was there, too.")])
@on_asyncio
async def test_an_edit_beside_the_content_is_exported_although_its_original_is_linked_no_more(
    store: FingerprintStore, before: str, now: str, against: str
) -> None:
    """A list of what is read most linked to the first URL of a page; other lists link to others, in each run."""

    def kettle(said: dict[str, str]) -> str:
        buy, comment = (said.get(text, text) for text in ("Buy", "I was there."))
        form = f"<form action=/cart><button>{buy}</button></form><div class=comments><p>{comment}</p></div>"
        return page("kettle", 1, body=f"{prose('kettle', 120)}{form}")

    urls = [f"https://shop.example/kettle?from={name}" for name in ("most-read", "related", "author", "home")]
    async with run(store, "monday", unchanged="drop", against=against) as detector:
        assert [(await detector.add(kettle({}), url=url)).is_duplicate for url in urls] == [False, True, True, True]
    async with run(store, "tuesday", unchanged="drop", against=against) as detector:
        assert [(await detector.add(kettle({}), url=url)).is_duplicate for url in urls[1:2]] == [True]
    async with run(store, "wednesday", unchanged="drop", against=against) as detector:
        found = [await detector.add(kettle({before: now}), url=url) for url in urls[1:]]
        assert [verdict.kind for verdict in found if not verdict.is_duplicate] == ["changed"]


@on_asyncio
async def test_an_unchanged_repeat_stays_delivered_when_its_original_repeats_another_page(
    store: FingerprintStore,
) -> None:
    """The shop sells the kettle under A no more, and shows the teapot there; B shows the kettle as before."""
    async with run(store, "monday", unchanged="drop") as detector:
        assert (await detector.add(page("kettle"), url=A)).kind == "new"
        assert (await detector.add(page("kettle"), url=B)).is_duplicate
        assert (await detector.add(page("teapot"), url=C)).kind == "new"
    for name in ("tuesday", "wednesday"):
        async with run(store, name, unchanged="drop") as detector:
            for url, shown in ((C, "teapot"), (A, "teapot"), (B, "kettle")):
                assert (await detector.add(page(shown), url=url)).is_duplicate


@pytest.mark.parametrize("order", [(A, B), (B, A)])
@on_asyncio
async def test_a_price_that_rose_under_two_urls_is_exported_once(
    store: FingerprintStore, order: tuple[str, str]
) -> None:
    """Whichever URL comes first; the menu, the advertisements and the footer are others in each answer."""

    def kettle(price: int, answer: str) -> str:
        return page("kettle", answer, body=f"{prose('kettle', 120)}<p>{price} EUR, and free of charges from 50 on</p>")

    async with run(store, "monday", unchanged="drop") as detector:
        for url in (A, B):
            await detector.add(kettle(29, f"monday {url}"), url=url)
    async with run(store, "tuesday", unchanged="drop") as detector:
        found = [await detector.add(kettle(35, f"tuesday {url}"), url=url) for url in order]
        assert [verdict.is_duplicate for verdict in found] == [False, True]
        assert found[0].kind == "changed"
    async with run(store, "wednesday", unchanged="drop") as detector:
        for url in order:
            assert (await detector.add(kettle(35, f"wednesday {url}"), url=url)).is_duplicate
        assert not (await detector.add(kettle(29, "thursday"), url=A)).is_duplicate


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("A fine text.", "A fine text, but too short.", "changed"),
        ("A fine text.", "A fine text.</p><p>Thanks, and on to the next.", "changed"),
        ("Posted 3 days ago", "Posted 5 days ago", "unchanged"),
        ("Posted a day ago", "Posted a week ago", "unchanged"),
        ("12 likes", "13 likes", "unchanged"),
        ("A fine text.", "A fine text.</p><p>Great, I made it 2 times", "changed"),
        ("A fine text.", "A fine text.</p><p>3 people are looking at this just now", "unchanged"),
        ("Read with pleasure by 12 of us", "Read with pleasure by 13 of us", "unchanged"),
    ],
)
@on_asyncio
async def test_a_page_whose_comments_change_is_changed(
    store: FingerprintStore, before: str, after: str, kind: str
) -> None:
    """They are no content of the page, so that no copy is kept for them; but an edit is one."""

    def post(comment: str, template: str) -> str:
        comments = f"<div class=comments><h2>Comments</h2><p>Hear, hear!</p><p>{comment}</p></div>"
        return f"{template.format(prose('post', 200), comments)}<div class=sidebar><a href=/>Home</a></div>"

    aside = "<article>{}</article><aside class=comments>{}</aside>"
    for url, template in (
        (A, "<main>{}</main>{}"),
        (B, "<article>{}<footer>{}</footer></article>"),
        (f"{A}/aside", aside),
    ):
        async with run(store, f"monday {url}") as detector:
            await detector.add(post(before, template), url=url)
        async with run(store, f"tuesday {url}") as detector:
            assert (await detector.add(post(after, template), url=url)).kind == kind


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("2:1", "2:2", "changed"),
        ("<div>29.90</div>", "<div>31.90</div>", "changed"),
        ("29 EUR", "31 EUR", "changed"),
        ("7", "8", "unchanged"),
    ],
)
@on_asyncio
async def test_a_score_or_a_price_is_seen_in_a_table_of_links(
    store: FingerprintStore, before: str, after: str, kind: str
) -> None:
    """As each of them leads to its game. The numbers of pages and days are links in tables, too, and counters are."""
    rows = [
        f"<tr><td><a href=/{team}>{team}</a><td><a href=/{team}/1>{{0}}</a>" for team in ("Ashford", "Dover", "Hull")
    ]
    kinds = []
    for day, score in enumerate((before, after)):
        async with run(store, str(day)) as detector:
            table = "".join(rows).format(score)
            html = f"<main><h1>Games</h1>{prose('games', 100)}<table>{table}</table></main>"
            kinds.append((await detector.add(html, url=A)).kind)
    assert kinds == ["new", kind]


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("<table><tr><th>Status<td>{}<th>Owner<td><a href=/u/ann>Ann</a></table>", "changed"),
        ("<table><tr><th><a href=/help>Status</a><td><div>{}</div></table>", "changed"),
        ("<table><tr><td>Status:<td>{}</table>", "changed"),
        ("<dl><dt>Status<dd>{}</dl>", "changed"),
        ("<table><tr><td><a href=/help>Status:</a><td>{}</table>", "unchanged"),
        ("<table><tr><td>3 May<td>{}</table>", "unchanged"),
        ("<table><tr><th>Status<tr><td>{}</table>", "unchanged"),
        ("<dl><dt><a href=/status>Status</a><dd>{}</dl>", "unchanged"),
        ("<p>Status<p>{}", "unchanged"),
        ("<nav><table><tr><th>Status<td>{}</table></nav>", "unchanged"),
    ],
)
@on_asyncio
async def test_what_stands_behind_a_label_is_seen_though_it_is_a_link(
    store: FingerprintStore, field: str, kind: str
) -> None:
    """In tickets, catalogues and tables of facts it leads to what else has it; in lists links lead elsewhere."""
    kinds = []
    for day, status in enumerate(("open", "closed")):
        async with run(store, str(day)) as detector:
            value = field.format(f"<a href=/status/{status}>{status}</a>")
            html = f"<main><h1>The door is jammed</h1>{value}{prose('door', 100)}</main>"
            kinds.append((await detector.add(html, url=A)).kind)
    assert kinds == ["new", kind]


@on_asyncio
async def test_a_table_of_labelled_links_is_no_menu(store: FingerprintStore) -> None:
    fields = "".join(
        f"<tr><th>{name}<td><a href=/{name}/{{{at}}}>{{{at}}}</a>" for at, name in enumerate(("by", "in", "of", "to"))
    )
    kinds = []
    for day, milestone in enumerate(("The first release", "The second release")):
        async with run(store, str(day)) as detector:
            table = fields.format("Ann Miller", "The hinges of it", "Another door", milestone)
            html = f"<main><h1>The door is jammed</h1><table>{table}</table>{prose('door', 100)}</main>"
            kinds.append((await detector.add(html, url=A)).kind)
    assert kinds == ["new", "changed"]


@pytest.mark.parametrize(
    ("template", "kind"), [("{}{}", "changed"), ("<div><section>{}</section>{}</div>", "unchanged")]
)
@on_asyncio
async def test_the_first_comment_is_an_edit_and_a_design_with_comments_is_none(
    store: FingerprintStore, template: str, kind: str
) -> None:
    article, comment = prose("post", 200), "<div class=comments><p>I was there as well.</p></div>"
    async with run(store, "monday") as detector:
        await detector.add(f"{article}<div class=sidebar><a href=/>Home</a></div>", url=A)
    async with run(store, "tuesday") as detector:
        assert (await detector.add(template.format(article, comment), url=A)).kind == kind


@pytest.mark.parametrize("text", ["", "<p>Closed today.</p>"])
@on_asyncio
async def test_a_short_page_is_unchanged_whatever_its_code_says(store: FingerprintStore, text: str) -> None:
    """The key of a style sheet, or a token of a form; what it says, its title among it, is compared."""

    def notice(nonce: str, title: str = "Opening hours", more: str = "") -> str:
        head = f"<title>{title}</title><link rel=stylesheet href='/css?{nonce}'>"
        return f"{head}<h1>{title}</h1><p>From ten to six.</p>{more}"

    async with run(store, "monday") as detector:
        assert (await detector.add(notice("a"), url=A)).kind == "unjudged"
    async with run(store, "tuesday", unchanged="drop") as detector:
        verdict = await detector.add(notice("b", more=text), url=A)
        assert (verdict.kind, verdict.is_duplicate) == (("unjudged", False) if text else ("unchanged", True))
        assert not (await detector.add(notice("b", "Hours"), url=A)).is_duplicate


@pytest.mark.parametrize(
    ("before", "after", "is_duplicate"),
    [
        ("<p>From ten to six.</p>", "<p>From ten to six.</p>", True),
        ("<p>From ten to six.</p>", "<p>From ten to seven.</p>", False),
        ("<p>From ten to six.</p>", "<p>From ten to six.</p><p>Closed today.</p>", False),
        ("", "", False),  # a shell, whose text a script may fetch
    ],
)
@on_asyncio
async def test_a_short_page_beside_a_long_menu_is_unchanged_when_the_menu_changes(
    store: FingerprintStore, before: str, after: str, *, is_duplicate: bool
) -> None:
    def notice(text: str, last: str) -> str:
        names = [*(f"Tale {number}" for number in range(90)), last]
        menu = "".join(f"<li><a href=/{number}>{name}</a>" for number, name in enumerate(names))
        around = f"<nav><ul>{menu}</ul></nav><footer><ul>{menu}</ul></footer>"
        return f"<title>Opening hours</title>{around}<main><h1>Opening hours</h1>{text}</main>"

    async with run(store, "monday") as detector:
        assert (await detector.add(notice(before, "An old page of ours"), url=A)).reason == "empty"
    async with run(store, "tuesday", unchanged="drop") as detector:
        verdict = await detector.add(notice(after, "A new page of the house"), url=A)
        assert (verdict.kind, verdict.is_duplicate) == ("unchanged" if is_duplicate else "unjudged", is_duplicate)


@on_asyncio
async def test_a_short_post_is_unchanged_when_another_post_is_announced_below_it(store: FingerprintStore) -> None:
    """Most of such a page are links to other posts, and still it is no list of them."""

    def post(*others: str) -> str:
        cards = "".join(f"<div><a href=/{other}><h3>{other}</h3>{prose(other, 40)}</a></div>" for other in others)
        text = f"<main><article><h1>Kettle</h1>{prose('kettle', 25)}</article></main>"
        return f"<title>Kettle</title>{text}<section><h2>Read more</h2><div>{cards}</div></section>"

    async with run(store, "monday") as detector:
        await detector.add(post("Teapot", "Spoon", "Sieve"), url=A)
    async with run(store, "tuesday") as detector:
        assert (await detector.add(post("Ladle", "Teapot", "Spoon"), url=A)).kind == "unchanged"


@pytest.mark.parametrize(
    ("before", "after"), [("\u2713", "\u2717"), ("\u25cf\u25cf\u25cb", "\u25cf\u25cb\u25cb"), ("मेल", "मूल")]
)
@on_asyncio
async def test_an_edit_may_be_one_check_mark_or_one_vowel(store: FingerprintStore, before: str, after: str) -> None:
    """A cell of a table may say no more than whether a room has a shower."""

    def room(shower: str) -> str:
        return page(
            "room", body=f"<table><tr><td>Shower<td>{shower}<tr><td>Balcony<td>\u2713</table>{prose('room', 90)}"
        )

    for day, shower, kind in (
        ("monday", before, "new"),
        ("tuesday", before, "unchanged"),
        ("sunday", after, "changed"),
    ):
        async with run(store, day) as detector:
            assert (await detector.add(room(shower), url=A)).kind == kind


@on_asyncio
async def test_a_page_in_work_that_is_fetched_again_is_not_dropped(store: FingerprintStore) -> None:
    """It was not delivered yet, so its repeat must not be lost; another page waits for whichever is more like it."""
    async with run(store, unchanged="drop") as detector:
        first = await detector.judge(page("kettle", 1), url=A)
        second = await detector.judge(page("kettle", 2), url=A)
        assert (second.kind, second.is_duplicate) == ("unchanged", False)
        assert (await detector.judge(page("kettle", 3), url=B)).pending in {first.page, second.page}
        await detector.confirm(first.page)
        assert (await detector.judge(page("kettle", 3), url=B)).original == A
        await detector.release(second.page)
        assert (await detector.judge(page("kettle", 4), url=A)).is_duplicate


@on_asyncio
async def test_a_changed_page_counts_for_its_new_content_once_it_is_delivered(store: FingerprintStore) -> None:
    """If that delivery fails, the older version stays what it was."""
    for delivered in (False, True):
        async with run(store, against="history") as detector:
            await detector.add(page("kettle", 1), url=A)
            changed = await detector.judge(page("teapot", 1), url=A)
            assert changed.kind == "changed"
            assert (await detector.judge(page("teapot", 2), url=B)).pending == changed.page
            assert (await detector.judge(page("kettle", 2), url=C)).is_duplicate, "until then the old one is delivered"
            await (detector.confirm if delivered else detector.release)(changed.page)
            repeat = await detector.judge(page("teapot" if delivered else "kettle", 3), url=B)
            assert (repeat.is_duplicate, repeat.original) == (True, A)


@on_asyncio
async def test_what_a_url_gives_twice_in_one_run_is_stored_as_identical(store: FingerprintStore) -> None:
    """So that no table of a first run has unchanged pages."""
    async with run(store) as detector:
        for number in range(2):
            await detector.add(page("kettle", number), url=A)
        assert {record.kind async for _, record in detector.store.records()} == {"identical"}
    async with run(store, "tuesday") as detector:
        await detector.add(page("kettle", 3), url=A)
        assert {record.kind async for _, record in detector.store.records()} == {"unchanged"}


@on_asyncio
async def test_a_detector_is_open_as_long_as_its_block() -> None:
    async with NearDuplicateDetector() as detector:
        assert (await detector.add(page("kettle"), url=A)).kind == "new"
        assert (await detector.add(page("kettle", 2), url=B)).is_duplicate


# ------------------------------------------------------------------ what cannot be judged


@pytest.mark.parametrize(
    ("html", "reason"),
    [("", "empty"), ("<p>Please enable JavaScript", "too_short"), (page("kettle") + "<div>" * 9000, "cut")],
)
@on_asyncio
async def test_a_page_that_cannot_be_judged_is_kept(store: FingerprintStore, html: str, reason: str) -> None:
    """The same bytes under its own URL are unchanged."""
    async with run(store) as detector:
        first = await detector.add(html, url=A)
        assert (first.kind, first.reason, first.is_duplicate) == ("unjudged", reason, False)
        assert (await detector.add(html + "<!-- x -->", url=B)).kind == "unjudged"
        assert (await detector.add(html, url=A)).kind == "unchanged"


@on_asyncio
async def test_stubs_under_different_urls_are_not_repeats() -> None:
    """A shell or an error page stands for no content; two of them are two pages that are still to be fetched."""
    async with run("memory:", unchanged="drop", drop="near") as detector:
        verdicts = [await detector.add("<p>Please enable JavaScript", url=url) for url in (A, B, C)]
    assert [verdict.kind for verdict in verdicts] == ["unjudged"] * 3


@on_asyncio
async def test_of_pages_that_are_too_big_only_equal_bodies_are_repeats(store: FingerprintStore) -> None:
    async with run(store, max_page_bytes=1000) as detector:
        assert (await detector.add(page("kettle", 1), url=A)).reason == "too_big"
        same = await detector.add(page("kettle", 1), url=B)
        assert (same.kind, same.is_duplicate, same.original, same.similarity) == ("identical", True, A, 1.0)
        assert (await detector.add(page("kettle", 2), url=C)).reason == "too_big"


@on_asyncio
async def test_a_page_that_was_a_stub_before_has_changed(store: FingerprintStore) -> None:
    async with run(store) as detector:
        await detector.add("<p>Please wait", url=A)
        verdict = await detector.add(page("kettle"), url=A)
        assert (verdict.kind, verdict.similarity) == ("changed", None)
        await detector.add("<p>Please wait", url=A)
    assert (await records(store))[A].visits == 3


@on_asyncio
async def test_a_body_that_is_known_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with run("memory:") as detector:
        await detector.add(page("kettle", 1), url=A)
        monkeypatch.setattr(detector, "fingerprint", lambda *_: pytest.fail("parsed again"))
        assert (await detector.add(page("kettle", 1), url=B)).is_duplicate
        assert (await detector.add(page("kettle", 1), url=A)).kind == "unchanged"


# ------------------------------------------------------------------ a store that fails


class Failing(MemoryStore):
    """A store whose database goes away."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: set[str] = set()

    def check(self, verb: str) -> None:
        if verb in self.broken:
            raise StoreError("failing:", "the database went away")

    async def read(self, *args: Any) -> Any:
        self.check("read")
        return await super().read(*args)

    async def append(self, *args: Any) -> Any:
        self.check("append")
        return await super().append(*args)

    async def settle(self, *args: Any) -> None:
        self.check("settle")
        await super().settle(*args)


@on_asyncio
async def test_while_the_store_fails_every_page_is_kept() -> None:
    """Nothing is raised, and somebody is told; when it works again, so does the detector."""
    store, told = Failing(), []
    async with run(store, on_store_error=told.append) as detector:
        first = await detector.add(page("kettle", 1), url=A)
        for verb in ("read", "append"):
            store.broken = {verb}
            verdict = await detector.add(page("kettle", 2), url=B)
            assert (verdict.kind, verdict.reason, verdict.is_duplicate) == ("unjudged", "store_error", False)
            assert verdict.page is None
        store.broken = {"settle"}
        assert not await detector.confirm(first.page)
        assert detector.store_errors == len(told) == 3
        store.broken = set()
        assert (await detector.add(page("kettle", 2), url=B)).is_duplicate


@on_asyncio
async def test_a_record_that_is_no_fingerprint_costs_no_page() -> None:
    """Nor is anything raised where a 304 comes in a page's place."""
    store, told = MemoryStore(), []
    async with run(store) as detector:
        await detector.add(page("kettle"), url=A)
        ((site, kept),) = [found async for found in store.records()]
        await store.append(site, kept._replace(key=b"another", fingerprint=b"garbage"), kept.position)
    async with run(store, on_store_error=told.append) as detector:
        assert (await detector.judge(page("kettle"), url=B)).reason == "store_error"
        await detector.refresh(url=A)
    assert ["is no fingerprint of ours" in str(error) for error in told] == [True, True]


@on_asyncio
async def test_a_site_that_others_change_all_the_time_is_a_busy_store() -> None:
    """After so many attempts the page is kept, rather than waiting for ever."""

    class Hectic(MemoryStore):
        async def append(self, *_: Any) -> int | None:
            return None

    async with run(Hectic()) as detector:
        assert (await detector.judge(page("kettle"), url=A)).reason == "store_error"


# ------------------------------------------------------------------ what a detector and its store agree on


@on_asyncio
async def test_detectors_of_one_store_share_its_secret(store: FingerprintStore) -> None:
    """A store to which none was given has one of its own."""
    async with run(store, secret=None) as one:
        secret = one.secret
    async with run(store, secret=None) as other:
        assert other.secret == secret
        assert len(secret) == 16
    async with run(MemoryStore(), secret=None) as stranger:
        assert stranger.secret != secret


@pytest.mark.parametrize(
    ("first", "then", "problem"),
    [
        ({}, {"bits": 128}, "of algorithm .*, 64 bits, .* and these settings make .*, 128 bits"),
        ({}, {"shingle_size": 4}, "3 words per shingle, .* make .*, 4 words"),
        ({}, {"extractor": "readability"}, "roles, and .*, readability"),
        ({"secret": None}, {"secret": "geheim"}, "another SIMDEDUP_SECRET"),
        ({"secret": "geheim"}, {"secret": None}, "another SIMDEDUP_SECRET"),
        ({"secret": "geheim"}, {"secret": "other"}, "another SIMDEDUP_SECRET"),
    ],
)
@on_asyncio
async def test_fingerprints_made_in_different_ways_never_meet(
    store: FingerprintStore, first: dict[str, Any], then: dict[str, Any], problem: str
) -> None:
    async with run(store, **first):
        pass
    with pytest.raises(StoreError, match=problem + ".*; set it back, or name another store") as caught:
        async with run(store, **then):
            pass
    assert "geheim" not in str(caught.value)


@on_asyncio
async def test_a_secret_that_was_given_can_be_given_again(store: FingerprintStore) -> None:
    for url, kind in ((A, "new"), (B, "identical")):
        async with run(store, secret="geheim") as detector:
            assert (await detector.add(page("kettle", url), url=url)).kind == kind


@on_asyncio
async def test_a_fingerprint_of_another_make_is_refused() -> None:
    async with run("memory:") as detector:
        with pytest.raises(FingerprintMismatch):
            await detector.judge_page(detector.page_of(print_of(1, bits=128), url=A))


@on_asyncio
async def test_a_detector_must_be_open() -> None:
    with pytest.raises(RuntimeError, match="open the detector"):
        await NearDuplicateDetector().judge(page("kettle"), url=A)


def test_settings_come_whole_or_one_by_one() -> None:
    assert NearDuplicateDetector(identical=0.9).settings.identical == 0.9
    assert NearDuplicateDetector(settings=DedupSettings(run="monday")).run == "monday"
    with pytest.raises(TypeError, match="either settings, or"):
        NearDuplicateDetector(settings=DedupSettings(), identical=0.9)
    with pytest.raises(SettingError, match="did you mean SIMDEDUP_IDENTICAL"):
        NearDuplicateDetector(identcal=0.9)


def test_the_stores_name_hides_its_password() -> None:
    assert NearDuplicateDetector("sqlite:///a.sqlite").store_name == "sqlite:///a.sqlite"
    assert NearDuplicateDetector(MemoryStore()).store_name == "MemoryStore"


# ------------------------------------------------------------------ memory


@on_asyncio
async def test_a_site_that_was_forgotten_is_read_again(
    store: FingerprintStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded: the site not asked for longest goes. The verdicts stay the same."""
    monkeypatch.setattr(site_logs, "MAX_INDEX_BYTES", 15_000)
    async with run(store) as detector:
        for round_ in (1, 2, 3):
            for number in range(5):
                verdict = await detector.add(page(number, round_), url=f"https://shop{number}.example/{round_}")
                assert verdict.is_duplicate == (round_ > 1)
        known = [number for number in range(5) if detector._logs.indexes.known(f"shop{number}.example")]
    assert 0 < len(known) < 5
    assert known == list(range(5))[-len(known) :]


@on_asyncio
async def test_verdicts_can_be_pickled(store: FingerprintStore) -> None:
    async with run(store) as detector:
        for url in (A, B):
            verdict = await detector.judge(page("kettle", url), url=url)
            assert pickle.loads(pickle.dumps(verdict)) == verdict
