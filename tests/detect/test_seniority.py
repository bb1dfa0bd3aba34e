"""Where the pages of all sites are compared, the site that was there first is safe from those that come later."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.prints import Clock, print_of, record
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.detect.copy_check import DomainFirstSeen
from scrapy_simdedup.store.base import FingerprintStore
from scrapy_simdedup.store.memory import MemoryStore

OLD, YOUNG = "https://www.old.co.uk/{}", "https://young.co.uk/{}"


def seen(**first_seen: float) -> DomainFirstSeen:
    made = DomainFirstSeen()
    for number, (name, when) in enumerate(first_seen.items(), 1):
        made.observe(record(print_of(number), b"a", url=f"https://{name}.co.uk/", first_seen=when, id=number))
    return made


@pytest.mark.parametrize(
    ("original", "page", "may"),
    [
        ("old", "young", True),
        ("young", "old", False),
        ("young", "never-seen", True),
        ("www.young", "blog.young", True),
        ("old", "same-time", True),
        ("same-time", "old", False),
    ],
)
def test_only_an_older_domain_displaces_pages_of_another(original: str, page: str, may: bool) -> None:
    """Hosts of one domain may displace each other's; of domains seen in one instant the first in the log is older."""
    known = seen(**{"old": 1.0, "young": 2.0, "same-time": 1.0})
    assert known.may_displace(f"https://{original}.co.uk/a", f"https://{page}.co.uk/b") is may


def test_a_domain_is_as_old_as_its_oldest_page() -> None:
    """In whatever order the log tells of them."""
    known = seen(one=5.0, other=4.0)
    known.observe(record(print_of(9), b"b", url="https://one.co.uk/b", first_seen=3.0, id=9, state="released"))
    assert known.may_displace("https://one.co.uk/", "https://other.co.uk/")
    assert not known.may_displace("https://other.co.uk/", "https://one.co.uk/")


async def kinds(store: FingerprintStore, clock: Clock, *visits: tuple[str, str], **settings: Any) -> list[str]:
    """What becomes of pages of (URL, seed), one a second."""
    settings = {"scope": "all", "secret": "of the tests", **settings}
    detector = NearDuplicateDetector(store, now=clock, **settings)
    await detector.open()
    found = []
    for number, (url, seed) in enumerate(visits):
        clock.seconds += 1
        verdict = await detector.add(page(seed, f"{url} {number}"), url=url)
        found.append(verdict.kind + (" dropped" if verdict.is_duplicate else ""))
    await detector.close()
    return found


@on_asyncio
async def test_a_thief_who_is_crawled_first_displaces_nothing() -> None:
    """The old site's page is kept though its copy was there before; the young site's copies are dropped."""
    visits = [
        (OLD.format("home"), "home"),
        (YOUNG.format("stolen"), "tides"),
        (OLD.format("tides"), "tides"),
        (OLD.format("tides-again"), "tides"),
        (YOUNG.format("stolen-again"), "tides"),
        (YOUNG.format("home"), "home"),
    ]
    expected = ["new", "new", "new", "identical dropped", "identical dropped", "identical dropped"]
    assert await kinds(MemoryStore(), Clock(), *visits) == expected


@on_asyncio
async def test_what_is_old_is_known_to_the_next_run() -> None:
    """The store remembers who came first, also where only pages of the run itself displace others."""
    store, clock = MemoryStore(), Clock()
    await kinds(store, clock, (OLD.format("home"), "home"), run="monday")
    visits = [(YOUNG.format("stolen"), "tides"), (OLD.format("tides"), "tides")]
    assert await kinds(store, clock, *visits, run="tuesday", against="run") == ["new", "new"]
