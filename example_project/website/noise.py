"""What surrounds the content and is different in every response: menus, ads, related boxes, comments, stamps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

from website.noise_texts import ADS, COMMENTS, MENUS, NAMES
from website.pages import all_pages

if TYPE_CHECKING:
    from website.pages import Page

FIRST_VISIT = datetime.fromisoformat("2024-06-01T08:00:00")


@dataclass(frozen=True, slots=True)
class Noise:
    """What one response adds to its page."""

    menu: tuple[tuple[str, str], ...]
    """Label and address of every entry; which of two menus is drawn, as in an A/B test."""
    ads: tuple[str, ...]
    comments: tuple[tuple[str, str], ...]
    """Who, and what they say."""
    related: tuple[Page, ...]
    stamp: str
    """When the page was made."""
    token: str
    """A form's secret against forgery."""


def noise_of_response(number: int, page: Page) -> Noise:
    """The noise of the site's n-th response: another one each time, the same for the same number."""
    random = Random(number)
    own = [other for other in all_pages().values() if other.language == page.language and other.kind != "listing"]
    comments = random.sample(COMMENTS[page.language], random.randint(0, 3 if page.kind == "article" else 1))
    return Noise(
        menu=random.choice(MENUS[page.language]),
        ads=tuple(random.sample(ADS[page.language], 2)),
        comments=tuple((random.choice(NAMES), text) for text in comments),
        related=tuple(random.sample(own, 3)),
        stamp=str(FIRST_VISIT + timedelta(seconds=number * 137 + random.randint(0, 99))),
        token=f"{random.getrandbits(64):016x}",
    )
