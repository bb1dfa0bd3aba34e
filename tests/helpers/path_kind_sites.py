"""Sites that show a page under several paths: as AMP, for printing, in a locale, within a session."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

from helpers.simulated_crawl import Page, Site, in_crawl_order, same, token, word


def session(rng: random.Random, length: int = 22) -> str:
    """A session id of letters and digits."""
    return "".join(rng.choices(string.ascii_letters + string.digits, k=length))


@in_crawl_order
def amp_and_print_at_the_end(rng: random.Random) -> Iterator[list[Page]]:
    """``/amp/`` and ``/print/`` change nothing, ``/comments/`` does."""
    for number in range(500):
        url = f"https://end.example/{rng.choice(('news', 'sport', 'arts'))}/{word(rng)}-{number}/"
        story = f"story {number}"
        yield [*same(story, url, f"{url}amp/", f"{url}print/"), Page(f"{url}comments/", f"{story} comments")]


@in_crawl_order
def amp_and_print_at_the_beginning(rng: random.Random) -> Iterator[list[Page]]:
    """``/amp/`` and ``/print/`` stand before the path."""
    root = "https://begin.example"
    for number in range(500):
        path = f"{rng.choice(('news', 'sport', 'arts'))}/{word(rng)}-{number}"
        story = f"story {number}"
        yield [*same(story, f"{root}/{path}", f"{root}/amp/{path}", f"{root}/print/{path}")]


@in_crawl_order
def amp_in_the_middle(rng: random.Random) -> Iterator[list[Page]]:
    """``/amp/`` stands between section and article."""
    root = "https://middle.example"
    for number in range(500):
        section, name = rng.choice(("news", "sport", "arts")), f"{word(rng)}-{number}"
        yield same(
            f"story {number}",
            f"{root}/{section}/{name}",
            f"{root}/{section}/amp/{name}",
            f"{root}/{section}/{name}?ref=1",
        )


@in_crawl_order
def locales(rng: random.Random) -> Iterator[list[Page]]:
    """``/en-gb/`` and ``/en-us/`` show what no locale shows, ``/de-de/`` is a translation."""
    root = "https://locale.example"
    for number in range(500):
        path = f"{rng.choice(('shop', 'help', 'about'))}/{word(rng)}-{number}"
        page = f"page {number}"
        english = same(page, f"{root}/{path}", f"{root}/en-gb/{path}", f"{root}/en-us/{path}")
        yield [*english, Page(f"{root}/de-de/{path}", f"{page} in German")]


@in_crawl_order
def views_of_locales(rng: random.Random) -> Iterator[list[Page]]:
    """``/amp/`` and ``/print/`` stand before the locale, which each page has, and which matters."""
    root = "https://views.example"
    for number in range(250):
        path = f"{rng.choice(('shop', 'help', 'about'))}/{word(rng)}-{number}"
        for locale in ("en", "de"):
            shown = (f"{root}/{view}{locale}/{path}" for view in ("", "amp/", "print/"))
            yield same(f"page {number} in {locale}", *shown)


@in_crawl_order
def with_and_without_the_program(rng: random.Random) -> Iterator[list[Page]]:
    """Some links name the program that shows the page: ``/index.php/shop/tool``."""
    root = "https://program.example"
    for number in range(500):
        path = f"{rng.choice(('shop', 'help', 'about'))}/{word(rng)}-{number}"
        yield same(f"page {number}", *(f"{root}/{program}{path}" for program in ("", "index.php/")))


@in_crawl_order
def below_a_prefix(rng: random.Random) -> Iterator[list[Page]]:
    """Each page is below ``/old/`` and ``/www/``, too; ``/archive/`` has its own pages under names that others have."""
    root = "https://prefix.example"
    for number in range(500):
        path = f"{rng.choice(('shop', 'help', 'about'))}/{word(rng)}-{number}"
        page = f"page {number}"
        shown = same(page, *(f"{root}/{prefix}{path}" for prefix in ("", "old/", "www/")))
        yield [*shown, Page(f"{root}/archive/{path}", f"{page} then")]


@in_crawl_order
def locales_on_every_page(rng: random.Random) -> Iterator[list[Page]]:
    """Each page is in a locale, and English is the same in three of them."""
    root = "https://locales.example"
    for number in range(500):
        path = f"{rng.choice(('shop', 'help', 'about'))}/{word(rng)}-{number}"
        page = f"page {number}"
        english = same(page, *(f"{root}/{locale}/{path}" for locale in ("en-gb", "en-us", "en-au")))
        yield [*english, Page(f"{root}/de-de/{path}", f"{page} in German")]


@in_crawl_order
def sessions_in_the_path(rng: random.Random) -> Iterator[list[Page]]:
    """A segment is the session, of letters and digits, another one for each link."""
    root = "https://session.example"
    for number in range(500):
        path = f"view/{word(rng)}-{number}"
        yield same(f"page {number}", *(f"{root}/s/{session(rng)}/{path}" for _ in range(3)))


@in_crawl_order
def jsessionids(rng: random.Random) -> Iterator[list[Page]]:
    """``;jsessionid=`` at the end of the path, also of paths in a folder."""
    root = "https://java.example"
    for number in range(500):
        url = f"{root}/app/{rng.choice(('list', 'show'))}.do"
        query = f"?id={number}"
        links = (f";jsessionid={token(rng, 32).upper()}" for _ in range(2))
        yield same(f"{url} {number}", url + query, *(url + link + query for link in links))


SITES: dict[str, Site] = {
    site.__name__: site
    for site in (
        amp_and_print_at_the_end,
        amp_and_print_at_the_beginning,
        amp_in_the_middle,
        locales,
        locales_on_every_page,
        views_of_locales,
        with_and_without_the_program,
        below_a_prefix,
        sessions_in_the_path,
        jsessionids,
    )
}
