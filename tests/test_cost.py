"""What pages cost, in work that can be counted and in ratios within one run: nothing here depends on a machine.

The margins are wide. ``make bench`` tells more.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

from helpers.hostile import HOSTILE
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from scrapy_simdedup.detect.candidate_index import hamming_search
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.fingerprint import make
from scrapy_simdedup.fingerprint.hashing import WordHasher
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.page import block_tree, content_model
from scrapy_simdedup.page import page as pages_room
from scrapy_simdedup.page.content import page_markdown
from scrapy_simdedup.page.metadata import MAX_HEAD, declared_canonical_url
from scrapy_simdedup.page.parse import MAX_ELEMENTS, parse
from scrapy_simdedup.page.roles import DEFAULT_ROLE_WORDS
from scrapy_simdedup.settings import DedupSettings

SETTINGS = DedupSettings()
URL = "https://shop.example/"

pytestmark = pytest.mark.alone


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, written in Python or in C."""
    count = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def ratio(one: Callable[[], object], other: Callable[[], object]) -> float:
    """CPU time of one by that of the other: the median of rounds in which they take turns."""
    one(), other()
    return statistics.median(seconds(one, 10) / max(seconds(other, 10), 1e-6) for _ in range(9))


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """CPU time of this thread, without the garbage collector: its passes take as long as the test process is large."""
    gc.collect()
    gc.disable()
    try:
        start = time.thread_time()
        for _ in range(times):
            work()
        return time.thread_time() - start
    finally:
        gc.enable()


def long_page(factor: int) -> str:
    return page("long", count=240 * factor, links=tuple(f"/{number}" for number in range(24 * factor)))


# ------------------------------------------------------------------ counted


def test_the_work_grows_as_the_page_does() -> None:
    """About fifteen calls per tag, for pages of any length."""
    short, long = long_page(10), long_page(100)
    fingerprint(short, SETTINGS)
    fingerprint(long, SETTINGS)
    few, many = (calls(lambda html=html: fingerprint(html, SETTINGS)) for html in (short, long))
    assert few <= 20 * short.count("<")
    assert many <= 20 * long.count("<")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_takes_no_more_work_than_the_bounds_on_pages_allow(name: str) -> None:
    """However large it is: some fifty calls per element, and the CPU time of a score of ordinary long pages at most.

    So much at a time a crawl without worker processes does in the thread of its event loop.
    """
    hostile, ordinary = HOSTILE[name].page("one"), long_page(200)
    assert calls(lambda: fingerprint(hostile, SETTINGS)) <= 60 * MAX_ELEMENTS
    rounds = (
        seconds(lambda: fingerprint(hostile, SETTINGS)) / seconds(lambda: fingerprint(ordinary, SETTINGS))
        for _ in "123"
    )
    assert any(share <= 20 for share in rounds), "also if something disturbs one of the rounds"


@pytest.mark.parametrize(
    "piece", ["<a=", "<a =b", "<a b='", "<a=\"'", "<!-", "<!--", "<script", "</html ", "&#0", "data:", "data:,A"]
)
def test_a_page_that_breaks_off_in_what_never_ends_takes_no_more_work(piece: str) -> None:
    """Each of the pieces could be looked through up to the end of the page."""
    hostile, ordinary = page("one") + piece * 90_000, long_page(200)
    rounds = (
        seconds(lambda: fingerprint(hostile, SETTINGS)) / seconds(lambda: fingerprint(ordinary, SETTINGS))
        for _ in "123"
    )
    assert any(share <= 20 for share in rounds)


@pytest.mark.parametrize("piece", ['"\\"', "\\", '"a b c ', "[", "\\ud800 a b c", "window.a"])
def test_data_without_end_take_no_more_work(piece: str) -> None:
    hostile, ordinary = f"<script type=application/json>{piece * 90_000}</script>", long_page(200)
    rounds = (
        seconds(lambda: fingerprint(hostile, SETTINGS)) / seconds(lambda: fingerprint(ordinary, SETTINGS))
        for _ in "123"
    )
    assert any(share <= 20 for share in rounds)


def test_a_page_is_parsed_once_and_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    for name in ("parse", "build_block_tree"):
        work = getattr(pages_room, name)
        monkeypatch.setattr(
            pages_room, name, lambda *a, _name=name, _work=work, **k: (seen.append(_name), _work(*a, **k))[1]
        )
    fingerprint(page("one"), SETTINGS)
    assert seen == ["parse", "build_block_tree"]


def test_the_words_of_a_page_are_hashed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is made of them: shingles, simhash, sketch, units."""
    seen: list[int] = []
    work = WordHasher.hash_texts
    monkeypatch.setattr(WordHasher, "hash_texts", lambda self, texts: (seen.append(len(texts)), work(self, texts))[1])
    fingerprint(page("one"), SETTINGS)
    assert seen == [len(pages_room.read_page(page("one")).blocks)]


def test_readability_and_the_content_model_stay_out_until_somebody_asks() -> None:
    program = (
        "import sys; from scrapy_simdedup import fingerprint_page; fingerprint_page('<p>' + 'words ' * 99);"
        "assert not {'readability', 'scrapy', 'twisted', 'scrapy_simdedup.page.content_model'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_kinds_of_items_stay_out_of_a_crawl_until_something_may_be_one() -> None:
    """Pydantic is among them: some 10,000 objects for the garbage collector. Other parts of Scrapy may bring them."""
    program = (
        "import sys, scrapy.crawler; before = set(sys.modules); import scrapy_simdedup.crawl.components;"
        "assert not {'itemadapter', 'pydantic'} & (sys.modules.keys() - before)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@on_asyncio
async def test_a_byte_identical_repeat_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    detector = NearDuplicateDetector()
    await detector.open()
    first = await detector.add(page("one"), url=URL + "1")
    monkeypatch.setattr(make, "read_page", None)
    again = await detector.judge(page("one"), url=URL + "2")
    assert (first.kind, again.kind) == ("new", "identical")


@on_asyncio
async def test_judging_a_page_takes_as_many_calls_on_a_large_site_as_on_a_small_one() -> None:
    detector = NearDuplicateDetector(secret="the same in every run")
    await detector.open()
    prints = [await detector.fingerprint(page(number), url=URL) for number in range(420)]
    counted: list[int] = []
    for number, fp in enumerate(prints):
        judging = detector.judge_page(detector.page_of(fp, url=f"{URL}{number}"))
        counted.append(calls(lambda judging=judging: finish(judging)))
    assert statistics.median(counted[-20:]) <= 1.5 * statistics.median(counted[20:40])


def finish(judging: object) -> None:
    """Run what never waits, as on the store in memory."""
    with pytest.raises(StopIteration):
        judging.send(None)  # type: ignore[attr-defined]


# ------------------------------------------------------------------ ratios


def test_the_search_costs_little_more_than_looking_at_every_number() -> None:
    numbers = np.random.default_rng(1).integers(2**64, size=100_000, dtype=np.uint64)
    asked = numbers[0] ^ np.uint64(0xFFFF)
    search = ratio(
        lambda: hamming_search(numbers[None], int(asked), 18, 512), lambda: np.bitwise_count(numbers ^ asked).min()
    )
    assert search <= 5


ARTICLE = "<article><h1>Tides</h1><p>" + "some words of an article, " * 40 + "</p></article>"
GROWING: dict[str, tuple[int, Callable[[int], str]]] = {
    "sources and images": (250, lambda n: f"{ARTICLE}<picture>{'<source>' * n}{'<img>' * n}</picture>"),
    "navigation between texts": (8_000, lambda n: f"{ARTICLE}<div>{'<nav>x</nav>text ' * n}</div>"),
    "hidden elements": (4_000, lambda n: f"{ARTICLE}<p>{'<i hidden>x</i>text and words ' * n}</p>"),
    "empty emphasis": (5_000, lambda n: f"{ARTICLE}<p>{'<b></b>text ' * n}</p>"),
    "names of boilerplate": (2_400, lambda n: f"{ARTICLE}<div>{'<span class=comment>x</span>words ' * n}</div>"),
}
"""A page that grows, and the number from which on four times as many took far longer than four times."""


@pytest.mark.parametrize("name", GROWING)
def test_four_times_the_page_takes_about_four_times_as_long(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Markdown of all of a page, which reads it in every way there is: texts that are joined, and those around."""
    monkeypatch.setattr(content_model, "main_content", lambda tree: np.ones(len(tree.texts), np.bool_))
    count, make_page = GROWING[name]
    short, long = make_page(count), make_page(4 * count)
    page_markdown(short)
    rounds = (seconds(lambda: page_markdown(long)) / seconds(lambda: page_markdown(short)) for _ in "123")
    assert any(share <= 9 for share in rounds), "also if something disturbs one of the rounds"


def test_the_compiled_walk_costs_a_fraction_of_its_twin() -> None:
    compiled = pytest.importorskip("scrapy_simdedup.page._walk", exc_type=ImportError)
    root = parse(long_page(200), with_html_methods=False).root
    assert root is not None
    assert (
        ratio(lambda: compiled.walk(root, DEFAULT_ROLE_WORDS), lambda: block_tree.python_walk(root, DEFAULT_ROLE_WORDS))
        < 0.5
    )


def test_a_repeated_body_costs_a_fraction_of_a_fingerprint() -> None:
    html = long_page(8)
    assert ratio(lambda: make.body_digest(html), lambda: fingerprint(html, SETTINGS)) <= 0.2


def test_what_a_page_calls_its_own_address_is_found_as_fast_in_a_hostile_head() -> None:
    """In the thread of the event loop: a name without end must not be tried from each of its letters."""
    links = "<link rel=stylesheet href=/style.css>"
    ordinary, hostile = links * (MAX_HEAD // len(links)), f"<link {'a' * MAX_HEAD}"[: MAX_HEAD - 1] + ">"
    assert ratio(lambda: declared_canonical_url(hostile, URL), lambda: declared_canonical_url(ordinary, URL)) <= 5
