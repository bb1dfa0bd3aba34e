"""One content under many unrelated URLs is a stub; an article under many URLs is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrapy_simdedup.detect.stubs import MAX_CONTENTS, MIN_PLACES, RECENT_PAGES, StubDetector

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


@pytest.mark.parametrize(
    "url", ["", "http://[broken", "http://site.example/?" + "&".join(f"a{n}=1" for n in range(999))]
)
def test_strange_urls_do_no_harm(url: str) -> None:
    assert StubDetector("site.example").observe(url, STUB) is False
