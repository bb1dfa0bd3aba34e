"""One content under many unrelated URLs is a stub; an article under many URLs is none."""

from __future__ import annotations

import gc
import random
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.detect import transactions
from scrapy_simdedup.detect.stubs import (
    MAX_CONTENTS,
    MAX_PATHS,
    MIN_CONTENTS_OF_QUERIES,
    MIN_PLACES,
    MIN_PLACES_OF_FAMILY,
    MIN_QUERIES_OF_VIEWS,
    MIN_SAID_AGAIN,
    RECENT_PAGES,
    StubDetector,
)
from scrapy_simdedup.detect.threads import OtherRows
from scrapy_simdedup.detect.transactions import StubWatch
from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.memory import MemoryStore

HOST = "http://site.example"
STUB, NEXT = 1, 1000


def watch_with_pages(url: Callable[[int], str] = f"{HOST}/news/article-{{}}".format) -> StubDetector:
    """A watch that has seen 30 pages of their own."""
    watch = StubDetector("site.example")
    for number in range(30):
        watch.observe(url(NEXT + number), NEXT + number)
    return watch


@pytest.mark.parametrize(
    "url",
    [
        lambda n: f"{HOST}/news/other-{n}",
        lambda n: f"{HOST}/user/{n}/profile",
        lambda n: f"{HOST}/index.php?id={n}",
    ],
)
def test_a_captcha_where_other_pages_should_be_is_a_stub(url: Callable[[int], str]) -> None:
    watch = watch_with_pages(url)
    assert [watch.observe(url(number), STUB) for number in range(MIN_PLACES)] == [False] * (MIN_PLACES - 1) + [True]


@pytest.mark.parametrize(
    "url",
    [
        lambda n: f"{HOST}/news/rain?sid={n}",
        lambda n: f"{HOST}/s/{n}/news/rain",
        lambda n: f"{HOST}/view?id=77&sid={n}",
        lambda n: f"{HOST}/tag-{n}/rain.html",
    ],
)
def test_an_article_under_many_urls_has_a_bond(url: Callable[[int], str]) -> None:
    watch = watch_with_pages()
    assert not any(watch.observe(url(number), STUB) for number in range(5 * MIN_PLACES))


@pytest.mark.parametrize("other_text", [True, False])
@pytest.mark.parametrize("path", ["/events/{}", "/events/in-{}", "/courses/painting/{}/"])
def test_a_family_may_have_a_part_of_its_site_for_itself(path: str, other_text: bool) -> None:
    """What repeats one content to the last word there is an article under many URLs."""
    least = MIN_PLACES_OF_FAMILY if other_text else None
    watch = watch_with_pages()
    watch.observe(f"{HOST}{path.format('first')}", STUB)
    numbers = range(2, 2 * MIN_PLACES)
    found = (number for number in numbers if watch.observe(f"{HOST}{path.format(number)}", STUB, other_text=other_text))
    assert next(found, None) == least


@pytest.mark.parametrize("section", ["b2b", "jobs-2026", "jobs-in-our-many-towns", "de/angebote-2026"])
def test_the_section_of_a_family_may_have_any_name_if_its_pages_have_names(section: str) -> None:
    watch = watch_with_pages()
    urls = (f"{HOST}/{section}/{'-'.join(words(number, 2))}" for number in range(2 * MIN_PLACES))
    assert any(watch.observe(url, STUB, other_text=True) for url in urls)


@pytest.mark.parametrize(
    "path", ["/news/rain?sid={}", "/thread/77/post/{}", "/how-to-bake-good-bread/{}", "/s/{}/rain"]
)
def test_an_article_with_a_quote_of_the_day_is_no_family(path: str) -> None:
    watch = watch_with_pages()
    assert not any(watch.observe(f"{HOST}{path.format(n)}", STUB, other_text=True) for n in range(2 * MIN_PLACES))


def observe_records(watch: StubDetector, path: str, count: int, *, said_before: bool = False) -> list[bool]:
    """Observe pages of one content, of which each has another line in place of one; for each, whether it is a stub."""
    lines = [OtherRows(lost=(1,), new=(number + 2,), own_words=3, words=3, blocks=1) for number in range(count)]
    return [
        watch.observe(
            f"{HOST}{path.format(n)}", STUB, other_text=n > 0, text=n, other_rows=line, said_before=said_before
        )
        for n, line in enumerate(lines)
    ]


@pytest.mark.parametrize("path", ["/show?id={}", "/show?id={}&from=home", "/show?list=3&id={}"])
def test_pages_that_a_query_tells_apart_are_a_family_if_some_say_again_what_they_said(path: str) -> None:
    watch = watch_with_pages()
    assert not any(observe_records(watch, path, MIN_PLACES_OF_FAMILY))
    assert watch.to_ask(STUB) == 1
    found = observe_records(watch, path, MIN_SAID_AGAIN + 1, said_before=True)
    assert found == [False] * MIN_SAID_AGAIN + [True]
    assert not watch.to_ask(STUB)


@pytest.mark.parametrize(("texts", "are_many"), [(4, False), (8, True)])
def test_records_have_many_texts_in_whatever_rows_they_differ(texts: int, are_many: bool) -> None:
    """Two advertisements that take turns are no records, nor four greetings."""
    watch = watch_with_pages()
    for number in range(3 * MIN_PLACES_OF_FAMILY):
        watch.observe(f"{HOST}/show?id={number}", STUB, other_text=number > 0, text=number % texts)
    assert bool(watch.to_ask(STUB)) == are_many


@pytest.mark.parametrize("path", ["/show?id=3", "/show?id=3&from={}", "/show?from={}"])
def test_pages_whose_queries_are_one_or_add_something_to_the_first_are_no_records(path: str) -> None:
    watch = watch_with_pages()
    watch.observe(f"{HOST}/show?id=3", STUB)
    assert not any(observe_records(watch, path, MIN_PLACES_OF_FAMILY))
    assert not watch.to_ask(STUB)


@pytest.mark.parametrize("separator", "&;")
def test_a_file_that_many_commits_have_is_no_stub(separator: str) -> None:
    """A git browser has one path, and may write semicolons between parameters."""

    def url(file: str, commit: int) -> str:
        return f"{HOST}/git?{separator.join(('a=blob', f'f={file}', f'hb=c{commit}'))}"

    watch = watch_with_pages(lambda number: url(f"src/{number}.py", number % 9))
    assert not any(watch.observe(url("LICENSE", commit), STUB) for commit in range(3 * MIN_PLACES))


def forum(queries: int, topics: int = 2 * MIN_CONTENTS_OF_QUERIES) -> StubDetector:
    """A watch on a forum of topics that were asked for by so many queries each."""
    watch = StubDetector("site.example")
    for number in range(topics * queries):
        watch.observe(f"{HOST}/topic.php?post={NEXT + number}", NEXT + number // queries)
    return watch


def test_a_thread_at_the_url_of_each_post_is_no_stub_where_other_threads_come_so_too() -> None:
    watch = forum(MIN_QUERIES_OF_VIEWS)
    assert not any(watch.observe(f"{HOST}/topic.php?post={number}", STUB) for number in range(2 * MIN_PLACES))


@pytest.mark.parametrize(
    ("queries", "topics", "other_text"),
    [
        (MIN_QUERIES_OF_VIEWS - 1, 40, False),
        (MIN_QUERIES_OF_VIEWS, MIN_CONTENTS_OF_QUERIES - 1, False),
        (MIN_QUERIES_OF_VIEWS, 40, True),
    ],
    ids=["topics come once or twice", "few topics", "each page says something else"],
)
def test_otherwise_a_content_at_many_urls_of_a_forum_is_a_stub(queries: int, topics: int, other_text: bool) -> None:
    watch = forum(queries, topics)
    watch.observe(f"{HOST}/topic.php?post=first", STUB)
    observed = (
        watch.observe(f"{HOST}/topic.php?post={number}", STUB, other_text=other_text, text=number)
        for number in range(MIN_PLACES)
    )
    assert any(observed)


def test_a_captcha_in_front_of_a_forum_is_a_wall() -> None:
    watch = forum(MIN_QUERIES_OF_VIEWS)
    walls = []
    for number in range(RECENT_PAGES):
        watch.observe(f"{HOST}/topic.php?post={number}", STUB)
        walls.append(watch.wall())
    assert any(walls)


def test_an_article_that_mostly_repeats_itself_to_the_last_word_is_no_family() -> None:
    watch = watch_with_pages()
    pages = ((f"{HOST}/events/{number}", number % 2 > 0) for number in range(2 * MIN_PLACES))
    assert not any(watch.observe(url, STUB, other_text=differs) for url, differs in pages)


def test_an_article_under_many_urls_is_no_stub_when_nothing_else_was_seen_yet() -> None:
    watch = StubDetector("site.example")
    assert not any(watch.observe(f"{HOST}/news/rain?sid={number}", STUB) for number in range(5 * MIN_PLACES))


def test_a_wall_from_the_first_page_on_is_told_once_within_a_hundred_pages() -> None:
    watch, walls = StubDetector("site.example"), []
    for number in range(300):
        watch.observe(f"{HOST}/news/article-{number}", STUB)
        walls.append(watch.wall())
    told = [number for number, wall in enumerate(walls) if wall]
    assert len(told) == 1
    assert told[0] < 100
    wall = walls[told[0]]
    assert wall is not None
    assert wall.site == "site.example"
    assert wall.samples[0] == f"{HOST}/news/article-0"
    assert wall.share == 1.0


def test_a_wall_is_told_by_one_of_its_own_pages() -> None:
    """Who hears of it takes the page that came for the wall's, and lets it displace nobody from then on."""
    watch = StubDetector("site.example")
    for number in range(RECENT_PAGES // 2 - 1):
        watch.observe(f"{HOST}/news/article-{number}", STUB)
        assert watch.wall() is None
    watch.observe(f"{HOST}/about", "another content")
    assert watch.wall() is None
    watch.observe(f"{HOST}/news/another", STUB)
    assert watch.wall() is not None


def walls_of(watch: StubDetector, urls: list[str]) -> int:
    """How many walls are told while these URLs give one content."""
    told = 0
    for url in urls:
        watch.observe(url, STUB)
        told += watch.wall() is not None
    return told


@pytest.mark.parametrize(
    "url",
    [
        lambda n: f"{HOST}/2024/rain/?replytocom={n}",
        lambda n: f"{HOST}/2024/rain/{f'comment-page-{n % 3}/' if n % 3 else ''}?replytocom={n}",
        lambda n: f"{HOST}/?p=12&replytocom={n}",
    ],
)
def test_a_post_under_sixty_reply_links_is_neither_a_stub_nor_a_wall(url: Callable[[int], str]) -> None:
    """They are fetched in a row, as the newest request is made first."""
    for watch in (watch_with_pages(), watch_with_pages(lambda n: f"{HOST}/?p={n}")):
        assert walls_of(watch, [url(number) for number in range(60)]) == 0
        assert not any(watch.observe(url(number), STUB) for number in range(60))


@pytest.mark.parametrize(
    "url",
    [
        lambda n: f"{HOST}/captcha?next=/news/article-{n}",
        lambda n: f"{HOST}/login?return=https%3A%2F%2Fsite.example%2Fnews%2F{n}&lang=en",
        lambda n: f"{HOST}/news/article-{n}",
    ],
)
def test_a_captcha_at_one_path_is_a_wall(url: Callable[[int], str]) -> None:
    """Its queries name the pages that were asked for."""
    assert walls_of(watch_with_pages(), [url(number) for number in range(60)]) == 1


def test_a_wall_in_front_of_a_site_that_is_all_one_path_is_told() -> None:
    assert walls_of(StubDetector("site.example"), [f"{HOST}/index.php?page={number}" for number in range(200)]) == 1
    watch = watch_with_pages(lambda n: f"{HOST}/index.php?page={n}")
    assert walls_of(watch, [f"{HOST}/index.php?page={number}" for number in range(60)]) == 1


def test_a_site_of_distinct_pages_has_no_wall() -> None:
    watch = watch_with_pages()
    for number in range(200):
        watch.observe(f"{HOST}/more/{number}", 5000 + number)
        assert watch.wall() is None


def test_memory_is_bounded() -> None:
    watch = StubDetector("site.example")
    for number in range(3 * MAX_CONTENTS):
        watch.observe(f"{HOST}/{number}", number)
    assert len(watch._contents) <= MAX_CONTENTS + 1
    assert len(watch._paths) <= MAX_PATHS


def short_url(number: int) -> str:
    return f"{HOST}/section-{number % 7}/page-{number}?view=full"


def long_url(number: int) -> str:
    """A URL of as many segments and parameters as there may be, and then of long ones."""
    if number % 2:
        path, query = ([f"{name}{number}-{at}" for at in range(60)] for name in "sp")
        return f"{HOST}/{'/'.join(path)}?{'&'.join(f'{name}=1' for name in query)}"
    return f"{HOST}/{number}{'x' * 2000}?{'y' * 2000}={number}"


@pytest.mark.parametrize("url", [short_url, long_url])
@pytest.mark.parametrize(("sites", "contents"), [(4, 150), (400, 3)])
def test_the_watch_on_all_sites_takes_bounded_memory(
    url: Callable[[int], str], sites: int, contents: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether there are few sites with many contents or many with few, and however long their URLs are."""
    monkeypatch.setattr(transactions, "MAX_WATCH_BYTES", 1_000_000)
    watch = StubWatch(None, "monday", print)
    tracemalloc.start()
    for number in range(contents):
        for site in range(sites):
            watch.detector(f"{site}.example").observe(url(number), number * sites + site)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    largest = max(detector.size for _, detector in watch._detectors.items())
    assert taken <= 1.5 * transactions.MAX_WATCH_BYTES + largest


def test_the_bytes_of_a_site_are_what_it_takes() -> None:
    for url in (short_url, long_url):
        tracemalloc.start()
        detector = StubDetector("site.example")
        for number in range(400):
            detector.observe(url(number), b"%020d" % (number // 2))
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 0.5 * taken <= detector.size <= 2 * taken


def test_a_site_that_was_forgotten_is_watched_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "MAX_WATCH_BYTES", 10_000)
    watch = StubWatch(None, "monday", print)
    first = watch.detector("site.example")
    assert watch.detector("site.example") is first
    for number in range(10):
        watch.detector(f"{number}.example")
    assert watch.detector("site.example") is not first


@pytest.mark.parametrize(
    "url", ["", "http://[broken", "http://site.example/?" + "&".join(f"a{n}=1" for n in range(999))]
)
def test_strange_urls_do_no_harm(url: str) -> None:
    assert StubDetector("site.example").observe(url, STUB) is False


@on_asyncio
async def test_a_run_that_goes_on_in_another_process_goes_on_counting() -> None:
    """Each page comes to a process of its own, and the eighth is the first that is recognised, as in one process."""
    store, told = MemoryStore(), []
    for number in range(2 * NEXT, 2 * NEXT + 30 + MIN_PLACES):
        watch = StubWatch(store, "monday", print)
        await watch.restore("site.example")
        content = str(number) if number < 2 * NEXT + 30 else "captcha"
        told.append(watch.detector("site.example").observe(f"{HOST}/news/article-{number}", content))
        await watch.save()
    assert told == [False] * (30 + MIN_PLACES - 1) + [True]


@on_asyncio
async def test_counts_that_went_on_are_those_of_one_process() -> None:
    store, whole, contents = MemoryStore(), StubDetector("site.example"), random.Random(1)
    watch = StubWatch(store, "monday", print)
    for number in range(3 * RECENT_PAGES):
        url, content = f"{HOST}/{number % 7}/{number}?page={number % 3}", str(contents.randrange(9))
        if number % 50 == 0:
            await watch.save()
            watch = StubWatch(store, "monday", print)
            await watch.restore("site.example")
        parted = watch.detector("site.example")
        assert parted.observe(url, content) == whole.observe(url, content)
        assert parted.wall() == whole.wall()
        assert parted.to_note("monday") == whole.to_note("monday")


@on_asyncio
async def test_another_run_begins_anew_and_so_does_one_whose_note_cannot_be_read() -> None:
    """The same twenty pages on each of twenty nights are no twenty places."""
    store = MemoryStore()
    watch = StubWatch(store, "monday", print)
    watch.detector("site.example").observe(f"{HOST}/login", "captcha")
    await watch.save()
    new = StubDetector("site.example").to_note("tuesday")
    for run, raw in (("tuesday", None), ("monday", b"damaged"), ("monday", zlib.compress(b"[1]"))):
        if raw is not None:
            await store.put_note("stubs", b"site.example", raw)
        other = StubWatch(store, run, print)
        await other.restore("site.example")
        assert other.detector("site.example").to_note("tuesday") == new


@on_asyncio
async def test_a_store_that_fails_costs_the_counts_and_no_page() -> None:
    class Failing(MemoryStore):
        async def get_note(self, journal: str, key: bytes) -> bytes | None:
            raise StoreError("a store", "is down")

        async def put_note(self, journal: str, key: bytes, value: bytes, *, once: bool = False) -> bytes:
            raise StoreError("a store", "is down")

    errors: list[StoreError] = []
    watch = StubWatch(Failing(), "monday", errors.append)
    await watch.restore("site.example")
    assert not watch.detector("site.example").observe(f"{HOST}/a", "a")
    await watch.save()
    assert len(errors) == 2


@pytest.mark.parametrize(
    ("run", "resumable", "expected"), [("monday", True, True), ("monday", False, False), (None, True, False)]
)
@on_asyncio
async def test_only_a_run_that_can_go_on_leaves_its_counts_in_the_store(
    tmp_path: Path, run: str | None, resumable: bool, expected: bool
) -> None:
    url = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    async with NearDuplicateDetector(url, run=run, resumable=resumable) as detector:
        await detector.add(page("a"), url=f"{HOST}/a")
    store = store_by_url(url)
    await store.open()
    assert (await store.get_note("stubs", b"site.example") is not None) == expected
    await store.close()


@pytest.mark.parametrize(
    ("ends", "are_asked"),
    [
        (("oak", "ash", "elm"), True),
        (("7", "8", "9.html"), True),
        (("draft-1", "draft-2", "draft-3"), False),
        (("oak", "print/oak", "elm"), False),
        (("oak", "ash", "ash?day=2"), False),
    ],
)
def test_three_pages_may_be_a_family_if_each_has_a_path_of_its_own(ends: tuple[str, ...], are_asked: bool) -> None:
    """Names that differ in digits alone may be those of versions, and what names another page may be a view of it."""
    watch = watch_with_pages()
    for number, end in enumerate(ends):
        line = OtherRows(lost=(1,), new=(number + 2,), own_words=3, words=3, blocks=1) if number else None
        watch.observe(f"{HOST}/trees/{end}", STUB, other_text=number > 0, text=number, other_rows=line)
    assert bool(watch.to_ask(STUB)) == are_asked
    watch.observe(f"{HOST}/trees/{ends[1]}", STUB, other_text=True, text=1, said_before=True)
    assert watch.to_ask(STUB) == 2 * are_asked


MEMBERS = {
    "/show?id=7&from=home": True,
    "/show": True,
    "/show?id=8": False,
    "/day/show?id=7": False,
}
"""URLs at which the page of a family is found that stands at ``/show?id=7``, and whether it is dropped there."""


@pytest.mark.parametrize("url", MEMBERS)
@on_asyncio
async def test_a_page_of_a_family_is_dropped_where_one_url_has_all_that_the_other_has(url: str) -> None:
    """A captcha asks the same question at several URLs, and another page stands behind it at each."""

    def member(number: int) -> str:
        city = " ".join(words(f"city {number}", 3))
        return page("family", body=f"<p>{city}</p>{prose('event', 80)}")

    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"{HOST}/about/{number}")
        for number in range(10):
            await detector.add(member(number), url=f"{HOST}/{'-'.join(words(number, 2))}")
        assert (await detector.add(member(11), url=f"{HOST}/show?id=7")).kind == "stub"
        verdict = await detector.judge(member(11), url=HOST + url)
        assert (verdict.kind, verdict.is_duplicate) == (("identical", True) if MEMBERS[url] else ("stub", False))
