"""Sites of many path patterns: what holds for one may hold for all, or not for the next."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from helpers.simulated_crawl import Page, in_crawl_order, same, shuffled, token, word


@in_crawl_order
def many_patterns(items: int, variants: Sequence[str], rng: random.Random) -> Iterator[list[Page]]:
    """200 path patterns of a few pages each; what does not matter does not matter anywhere."""
    for _ in range(200):
        name = word(rng)
        for item in range(items):
            url = f"https://many.example/{name}/{item}"
            yield same(url, url, *(f"{url}?{v}={rng.randrange(100)}" for v in variants))


def five_urls_per_pattern(rng: random.Random) -> list[Page]:
    return many_patterns(1, ("ref", "ref2", "view", "hl"), rng)


def five_items_of_three(rng: random.Random) -> list[Page]:
    return many_patterns(5, ("ref", "view"), rng)


@in_crawl_order
def grid_in_every_eighth(rng: random.Random) -> Iterator[list[Page]]:
    """200 patterns of 24 URLs; ``grid`` matters in every eighth of them."""
    for number in range(200):
        name = word(rng)
        for item in range(6):
            url = f"https://grid.example/{name}/{item}"
            grid = url + " as grid" if number % 8 == 0 else url
            yield [*same(url, url, f"{url}?ref={rng.randrange(99)}"), *same(grid, f"{url}?grid=1", f"{url}?grid=2")]


@in_crawl_order
def sections_and_templates(rng: random.Random) -> Iterator[list[Page]]:
    """40 sections with two templates each, parameters that are irrelevant everywhere."""
    for _ in range(40):
        section = word(rng)
        for kind in ("list", "item"):
            for number in range(12):
                url = f"https://sections.example/{section}/{kind}/{number}"
                yield same(url, url, f"{url}?grid=1", f"{url}?highlight={word(rng)}", f"{url}?ref={rng.randrange(30)}")


@in_crawl_order
def true_in_nine_of_ten(rng: random.Random) -> Iterator[list[Page]]:
    """``mode`` matters in one section of ten, and there always."""
    for number in range(40):
        section = word(rng)
        for item in range(15):
            url = f"https://nine.example/{section}/{item}"
            full = url + " full" if number % 10 == 9 else url
            yield [
                *same(url, url, f"{url}?ref={rng.randrange(30)}"),
                *same(full, f"{url}?mode=full", f"{url}?mode=full&ref=1"),
            ]


@in_crawl_order
def pages_in_sections(rng: random.Random) -> Iterator[list[Page]]:
    """Pages with names of their own, eight in each of twelve sections; ``print`` matters in two of the sections."""
    for number in range(96):
        url = f"https://pages.example/shop/{'abcdefghijkl'[number % 12] * 4}/{word(rng)}"
        printed = url + " printed" if number % 12 < 2 else url
        yield [*same(url, url, f"{url}?ref=a", f"{url}?ref=b", f"{url}?view=m"), Page(f"{url}?print=1", printed)]


@in_crawl_order
def literal_paths(rng: random.Random) -> Iterator[list[Page]]:
    """Every page has a name of its own, none looks like another."""
    for _ in range(1000):
        url = f"https://wiki.example/wiki/{word(rng, 9).capitalize()}"
        yield same(
            url,
            url,
            f"{url}?ref={rng.randrange(40)}",
            f"{url}?printable={rng.choice('yn')}",
            f"{url}?sid={token(rng)}",
        )


@in_crawl_order
def host_alias_for_half(rng: random.Random) -> Iterator[list[Page]]:
    """``m.`` serves the same pages in half of the sections, other pages in the rest."""
    for number in range(20):
        section = word(rng)
        for item in range(30):
            url = f"https://www.alias.example/{section}/{item}"
            mobile = url.replace("www", "m")
            yield [*same(url, url, f"{url}?ref={item % 7}"), Page(mobile, url if number % 2 else mobile)]


def host_alias_bad_ones_last(rng: random.Random) -> list[Page]:
    """``m.`` serves the same pages in eight sections of ten; the others come at the end of the crawl."""
    pages = []
    for number in range(10):
        groups = []
        for item in range(60):
            url = f"https://www.alias.example/{'abcdefghij'[number] * 4}/{item}"
            mobile = url.replace("www", "m")
            groups.append([*same(url, url, f"{url}?ref={item % 7}"), Page(mobile, url if number < 8 else mobile)])
        pages += shuffled(groups, rng)
    return pages
