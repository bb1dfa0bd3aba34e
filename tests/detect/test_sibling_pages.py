"""Pages of one series: each lists all of it, so that the name in its heading is all that tells it from another."""

from __future__ import annotations

from helpers.on_asyncio import on_asyncio
from helpers.pages import words
from scrapy_simdedup import NearDuplicateDetector

NAMES = "Yoga in the morning", "Singing for beginners"
SERIES = "".join(f"<li><a href=/{number}>{name}</a></li>" for number, name in enumerate(NAMES))
TEXT = f"<p>{' '.join(words('for everybody', 60))}</p>"


def page(name: str, title: str) -> str:
    return f"<title>{title}</title><main><h3>{name}</h3>{TEXT}<p>See also:</p><ul>{SERIES}</ul></main>"


@on_asyncio
async def test_pages_that_name_each_other_are_told_apart_by_title_and_heading_together() -> None:
    async with NearDuplicateDetector(secret="series") as detector:
        await detector.add(page(NAMES[0], NAMES[0]), url="https://events.example/0")
        other = await detector.add(page(NAMES[1], NAMES[1]), url="https://events.example/1")
        retitled = await detector.add(page(NAMES[0], "Print view"), url="https://events.example/0?print")
    assert (other.kind, other.is_duplicate) == ("near", False)
    assert (retitled.kind, retitled.is_duplicate) == ("identical", True)
