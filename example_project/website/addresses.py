"""Which URLs lead to which page: every content has several, as on any real site."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from zlib import crc32

from website.pages import all_pages

if TYPE_CHECKING:
    from website.pages import Page

ALIASES = {
    "article": {
        "share": "{path}?sid={token}",
        "send": "{path}?utm_source=letter&utm_medium=email",
        "print": "/print{path}",
        "small screen": "/amp{path}",
    },
    # /www and /http stand for the other host names and schemes under which a site is often reachable.
    "product": {
        "share": "{path}?sid={token}",
        "recommend": "{path}?ref=friend",
        "our other shop": "/www{path}",
        "old address": "/http{path}",
    },
    "listing": {"share": "{path}?sid={token}", "by title": "{path}?sort=title"},
    "notice": {},
    "variant": {"share": "{path}?sid={token}"},
    "workshop": {"share": "{path}?sid={token}"},
    "post": {"share": "{path}?sid={token}"},
    # Nothing on the small view says what it is, so that the spider makes no item of it.
    "recipe": {"small screen": "/amp{path}"},
    "guestbook": {"share": "{path}?sid={token}"},
}
"""The other addresses of a page of each kind, with the label of the link."""

VIEWS = ("print", "amp", "www", "http")
"""What can stand in front of a path."""


def labelled_addresses(page: Page) -> dict[str, str]:
    """Every address of a page by the label of the link, its proper one first."""
    path = f"/{page.id}"
    token = f"{crc32(path.encode()):08x}"
    aliases = {label: alias.format(path=path, token=token) for label, alias in ALIASES[page.kind].items()}
    return {"permanent link": path, **aliases}


def addresses(page: Page) -> list[str]:
    return list(labelled_addresses(page).values())


def some_address(page: Page, linked_from: Page) -> str:
    """The address that one page uses for another: always the same one there, elsewhere perhaps another."""
    choices = addresses(page)
    if page.kind == "recipe":
        return choices[-1]  # the small view comes first, as on sites that are made for phones
    return choices[crc32(f"{linked_from.id} {page.id}".encode()) % len(choices)]


@cache
def all_addresses() -> dict[str, str]:
    """The id of the page behind every address."""
    return {address: page.id for page in all_pages().values() for address in addresses(page)}
