"""Simulated crawls: which URLs a site has, in which order they are met, what each serves, what a learner saves."""

from __future__ import annotations

import random
import string
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, Protocol

if TYPE_CHECKING:
    from scrapy_simdedup.urls import UrlLearner

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    content: str
    """What the site serves under the URL; equal content is a duplicate."""
    told: str | None = None
    """What the learner is told, where it is not the content itself: a fingerprint can err, a page can be unusable."""
    stub: bool = False
    """A page without content of its own: nothing is lost if it is never fetched."""

    @property
    def content_id(self) -> str:
        return self.told or self.content


class Advice(Protocol):
    @property
    def skip(self) -> bool: ...


class Learner(Protocol):
    def decide(self, url: str) -> Advice: ...

    def observe(self, url: str, content_id: str | None) -> Iterable[str]: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    urls: int
    fetched: int
    lost: frozenset[str]
    """Contents that were never fetched."""
    first_skip: int | None
    """Fetches before the first skipped URL."""
    readmitted: int

    @property
    def saved(self) -> float:
        """Share of the URLs, 0..1."""
        return 1 - self.fetched / self.urls


def crawl(pages: Sequence[Page], learner: Learner, patience: int = 3) -> Outcome:
    """Crawl the pages in order; a URL re-admitted more than ``patience`` times is fetched unasked."""
    known = {page.url: page for page in pages}
    queue = deque(known.values())
    returns: Counter[str] = Counter()
    seen: set[str] = set()
    fetched = 0
    first_skip = None
    while queue:
        page = queue.popleft()
        if returns[page.url] <= patience and learner.decide(page.url).skip:
            first_skip = fetched if first_skip is None else first_skip
            continue
        fetched += 1
        seen.add(page.content)
        for url in learner.observe(page.url, page.content_id):
            returns[url] += 1
            queue.append(known[url])
    lost = {page.content for page in known.values() if not page.stub} - seen
    return Outcome(len(known), fetched, frozenset(lost), first_skip, returns.total())


def crawl_and_ask(
    pages: Sequence[Page], learner: UrlLearner, rate: float, rng: random.Random, *, errors_hide: bool = False
) -> tuple[Outcome, int]:
    """Crawl the pages in order and answer what the learner asks; of each answer, a share of ``rate`` errs.

    If ``errors_hide`` the page, an answer that errs shows nothing of it, and what no first answer shows is not counted.

    Returns:
        What came of it, and how many questions were asked.
    """
    known = {page.url: page for page in pages}
    queue = deque(known.values())
    seen: set[str] = set()
    fetched = asked = readmitted = 0
    first_skip = None

    def observe(page: Page, content: str) -> None:
        nonlocal fetched, readmitted
        fetched += 1
        if content == page.content or not errors_hide:
            seen.add(page.content)
        again = learner.observe(page.url, content)
        readmitted += len(again)
        queue.extend(known[url] for url in again)

    def answer() -> bool:
        nonlocal asked
        questions = learner.questions()
        for question in questions:
            asked += 1
            erred = rng.random() < rate
            observe(known[question.url], f"noise {asked} again" if erred else known[question.url].content)
        return bool(questions)

    while True:
        while queue:
            page = queue.popleft()
            if learner.decide(page.url).skip:
                first_skip = fetched if first_skip is None else first_skip
            else:
                observe(page, page.content_id)
            if fetched % 16 == 0:
                answer()
        if answer() or queue:
            continue
        queue.extend(known[url] for url in learner.remaining())
        if not queue:
            sample = learner.sample()
            for url in sample:
                observe(known[url], known[url].content_id)
            if not sample:
                break
    shown = (page for page in known.values() if not page.stub and not (errors_hide and page.told))
    lost = {page.content for page in shown} - seen
    return Outcome(len(known), fetched, frozenset(lost), first_skip, readmitted), asked


# ------------------------------------------------------------------ building blocks


def shuffled(groups: Iterable[list[Page]], rng: random.Random) -> list[Page]:
    """The pages in crawl order: those of one group link to each other, so they are met at about the same time."""
    placed = []
    for group in groups:
        start = rng.random()
        placed += [(start + rng.random() / 2, number, page) for number, page in enumerate(group)]
    return [page for _, _, page in sorted(placed, key=lambda entry: entry[:2])]


def in_crawl_order(make: Callable[P, Iterable[list[Page]]]) -> Callable[P, list[Page]]:
    """For a site that is made group by group, with one of its arguments as the random generator."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> list[Page]:
        (rng,) = (argument for argument in args if isinstance(argument, random.Random))
        return shuffled(list(make(*args, **kwargs)), rng)

    return made


def noisy(pages: Iterable[Page], rate: float, rng: random.Random) -> list[Page]:
    """The same pages, of which a share gets a content id of its own: the fingerprint does not see the duplicate."""
    return [
        replace(page, told=f"noise {number} {page.content}") if rng.random() < rate else page
        for number, page in enumerate(pages)
    ]


def token(rng: random.Random, length: int = 16) -> str:
    return "".join(rng.choices("0123456789abcdef", k=length))


def word(rng: random.Random, length: int = 7) -> str:
    return "".join(rng.choices(string.ascii_lowercase, k=length))


def same(content: str, *urls: str) -> list[Page]:
    return [Page(url, content) for url in urls]


Site = Callable[[random.Random], list[Page]]
"""Makes the pages of a site in crawl order from a seeded generator."""
