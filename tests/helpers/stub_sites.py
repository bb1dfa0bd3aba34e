"""Sites that answer with pages that stand for nothing: captchas, log-in walls."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterator, Sequence

from helpers.simulated_crawl import Learner, Page, in_crawl_order, same, shuffled, token, word


def stub_in_sections(sections: int, rng: random.Random) -> list[Page]:
    """Some sections answer their first pages with a stub, whatever the parameters say; then all is well."""
    pages = []
    for number in range(10):
        section = word(rng)
        groups = []
        for item in range(40):
            url = f"https://stub.example/{section}/{item}"
            groups.append(
                [*same(url, url, f"{url}?ref={item % 9}"), *same(f"{url} 2", f"{url}?part=2", f"{url}?part=2&ref=1")]
            )
        own = shuffled(groups, rng)
        if number < sections:
            stubs = [f"https://stub.example/{section}/x{n}?part={n % 3}" for n in range(40)]
            own = [*(Page(url, "please log in", stub=True) for url in stubs), *own]
        pages += own
    return pages


def stub_in_one_section(rng: random.Random) -> list[Page]:
    return stub_in_sections(1, rng)


def stub_in_five_sections(rng: random.Random) -> list[Page]:
    return stub_in_sections(5, rng)


@in_crawl_order
def wall_over_real_pages(rng: random.Random) -> Iterator[list[Page]]:
    """After the rules are learned, a captcha answers 100 fetches of real URLs; their other URLs come later.

    The captcha depends on the time, not on the URL: see :func:`crawl_through_wall`.
    """
    for item in range(500):
        url = f"https://wall.example/view?id={item}"
        yield same(url, url, *(f"{url}&sid={token(rng)}" for _ in range(3)))


def crawl_through_wall(pages: Sequence[Page], learner: Learner, begin: int, length: int) -> tuple[set[str], set[str]]:
    """Crawl while the fetches from ``begin`` on are answered by a captcha.

    Returns the contents that were never fetched, and those of them that had a URL which the captcha did not answer.
    """
    known = {page.url: page for page in pages}
    queue = deque(known.values())
    seen: set[str] = set()
    walled: set[str] = set()
    returns: Counter[str] = Counter()
    fetched = 0
    while queue:
        page = queue.popleft()
        if returns[page.url] <= 3 and learner.decide(page.url).skip:
            continue
        fetched += 1
        behind = begin <= fetched < begin + length
        walled |= {page.url} if behind else set()
        seen |= set() if behind else {page.content}
        for url in learner.observe(page.url, "captcha" if behind else page.content):
            returns[url] += 1
            queue.append(known[url])
    lost = {page.content for page in pages} - seen
    return lost, {page.content for page in pages if page.content in lost and page.url not in walled}
