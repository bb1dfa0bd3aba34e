"""A thread that is shown at the URL of each of its posts is no stub, and what only looks like one is kept as before."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import words
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.detect.stubs import MIN_PLACES, MIN_PLACES_OF_FAMILY, StubDetector
from scrapy_simdedup.detect.threads import OtherRows

HOST = "http://forum.example"
POSTS = 30


def said(about: object, count: int) -> str:
    return " ".join(words(about, count))


def whole(lines: str) -> str:
    """A page of a content, whose title and h1 are the same at all of its URLs."""
    title = said("title", 4)
    return f"<title>{title}</title><main><h1>{title}</h1><p>{said('first', 60)}</p>{lines}</main>"


def thread(own: int) -> str:
    """Each post but the one that was asked for has a link to itself."""
    heads = (f"{said(n, 6)} wrote in reply to {said(n - 1, 3)}{'' if n == own else ' link'}" for n in range(POSTS))
    return whole("".join(f"<div><p>{head}</p><p>{said((n, 'post'), 30)}</p></div>" for n, head in enumerate(heads)))


def dates(own: int) -> str:
    lines = (f"{said((n, 'date'), 5)}{' your choice' if n == own else ''}" for n in range(POSTS))
    return whole("".join(f"<p>{line}</p>" for line in lines))


def offers(own: int) -> str:
    """Each offer is in the list, and what it costs only on its own page."""
    lines = (f"{said((n, 'offer'), 14)} {said((n, 'costs'), 8) if n == own else 'more'}" for n in range(POSTS))
    return whole("".join(f"<p>{line}</p>" for line in lines))


def models(own: int) -> str:
    """Each model is in the list, and its price only on its own page."""
    lines = (f"{said((n, 'model'), 10)} {f'{n + 100} EUR' if n == own else 'more'}" for n in range(POSTS))
    return whole("".join(f"<p>{line}</p>" for line in lines))


def log_in(own: int) -> str:
    return whole(f"<p>Log in to read {said(own, 3)}</p><p>{said('last', 60)}</p>")


def captcha(own: int) -> str:
    return whole(f"<p>{said('last', 60)}</p>")


async def kinds_of(content: Callable[[int], str]) -> Counter[str]:
    """The verdicts about the pages of one content among others of its site."""
    kinds = Counter[str]()
    async with NearDuplicateDetector(secret="known") as detector:
        for number in range(30):
            other = f"<title>{said(number, 3)}</title><main><h1>{said(number, 3)}</h1><p>{said(number, 150)}</p></main>"
            await detector.add(other, url=f"{HOST}/post/about-{number}")
        for number in range(POSTS):
            for length in (8, 16):
                url = f"{HOST}/post/{hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()[:length]}"
                verdict = await detector.add(content(number), url=url)
                kinds[verdict.kind] += 1
    return kinds


@on_asyncio
async def test_a_thread_that_is_shown_at_the_url_of_each_post_is_kept_once() -> None:
    """And where the second post is marked, as this page has two other lines in place of the first one's."""
    assert await kinds_of(thread) == {"new": 1, "near": 1, "identical": 2 * POSTS - 2}


@on_asyncio
async def test_each_model_of_a_list_is_kept_for_its_price() -> None:
    """The price stands in place of a word."""
    assert await kinds_of(models) == {"new": 1, "near": POSTS - 1, "identical": POSTS}


@pytest.mark.parametrize("content", [dates, offers, log_in, captcha])
@on_asyncio
async def test_what_may_be_a_family_or_a_wall_is_kept(content: Callable[[int], str]) -> None:
    kinds = await kinds_of(content)
    assert kinds["stub"] + kinds["near"] >= 2 * POSTS - MIN_PLACES


def marked(post: int) -> OtherRows:
    return OtherRows((1, 1000 + post), (2, 2000 + post), 2.0, 80, 4)


@pytest.mark.parametrize(
    "rows",
    [
        lambda number: OtherRows((1,), (2000 + number,), 2.0, 80, 4),
        lambda number: OtherRows((1, 3), (2, 2000 + number), 2.0, 80, 4),
        lambda number: OtherRows((1, 1000 + number), (2, 3), 2.0, 80, 4),
        lambda number: OtherRows((1000 + number,), (2000 + number,), 2.0, 80, 4),
        lambda number: marked(number % 2),
        lambda number: marked(number) if number % 2 else OtherRows((1,), (2,), 2.0, 80, 4),
        lambda number: marked(number)._replace(has_amount=True),
        lambda number: OtherRows(tuple(range(number, number + 9)), (2, 2000 + number), 2.0, 80, 4),
        lambda number: None,
    ],
    ids=[
        *("one line", "the same two", "one of two", "no common line", "two posts", "half mark none", "prices"),
        *("suggestions", "unknown"),
    ],
)
def test_other_lines_make_no_thread(rows: Callable[[int], OtherRows | None]) -> None:
    watch = StubDetector("site.example")
    for number in range(30):
        watch.observe(f"{HOST}/about/{number}", str(number))
    posts = range(1, 60)
    found = (n for n in posts if watch.observe(f"{HOST}/post/{n}", "thread", other_text=n > 1, other_rows=rows(n)))
    assert next(found) == MIN_PLACES_OF_FAMILY


def test_a_few_pages_that_mark_a_post_among_many_that_do_not_make_no_thread() -> None:
    watch = StubDetector("site.example")
    for number in range(30):
        watch.observe(f"{HOST}/about/{number}", str(number))
    rows = {1: None} | {number: marked(number) for number in (2, 3, 4)}
    found = (
        n
        for n in range(1, 60)
        if watch.observe(f"{HOST}/post/{n}", "thread", other_text=n > 1, other_rows=rows.get(n, OtherRows()))
    )
    assert next(found) == 12, "three of eleven are less than three in ten"


@pytest.mark.parametrize("is_thread", [False, True])
def test_of_a_long_content_the_places_where_pages_differ_tell_a_thread(is_thread: bool) -> None:
    """Several posts share a row, and each page lacks that of its own post. Those of a family lack the same rows."""
    watch = StubDetector("site.example")
    for number in range(30):
        watch.observe(f"{HOST}/about/{number}", str(number))
    for n in range(1, 40):
        lost = (1, 1000 + n // 4) if is_thread else (1, 2)
        rows = OtherRows(lost, (3000 + n, 2000 + n), 8.0, 80, 8, are_joined=True) if n > 1 else None
        watch.observe(f"{HOST}/show?id={n}", "content", other_text=n > 1, text=n, other_rows=rows)
    assert watch.to_ask("content") == (0 if is_thread else 1)


def test_the_counts_of_a_thread_go_on_in_another_process() -> None:
    watch = StubDetector("site.example")
    for number in range(30):
        watch.observe(f"{HOST}/about/{number}", str(number))
    for number in range(100):
        rows = marked(number) if number else None
        assert not watch.observe(f"{HOST}/post/{number}", "thread", other_text=number > 0, other_rows=rows)
        assert watch.wall() is None
        again = StubDetector.from_note("site.example", watch.to_note("monday"), "monday")
        assert again is not None
        assert again.to_note("monday") == watch.to_note("monday")
        watch = again
