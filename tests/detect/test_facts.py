"""Facts: short lines in which pages of one headline and one text differ."""

from __future__ import annotations

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from scrapy_simdedup.detect.detector import NearDuplicateDetector

JOB = "<dl><dt>Place</dt><dd>{}</dd><dt>Salary</dt><dd>{} EUR a year</dd></dl><p>Write to {}.</p>" + prose("job", 120)
FACTS = {
    "other place and contact": (JOB.format("Bremen", 56_000, "Klara Sommer"), "near", None),
    "other place and salary": (JOB.format("Bremen", 51_000, "Felix Winter"), "near", None),
    "another place": (JOB.format("Bremen", 56_000, "Felix Winter"), "identical", "words"),
    "another salary": (JOB.format("Erfurt", 51_000, "Felix Winter"), "near", None),
    "a counter": (JOB.format("Erfurt", 56_000, "Felix Winter") + "<p>Read 41 times</p>", "identical", "numbers"),
    "a share": (JOB.format("Erfurt", 56_000, "Felix Winter") + "<p>Yes: 41 %</p>", "identical", "numbers"),
    "none": (JOB.format("Erfurt", 56_000, "Felix Winter"), "identical", None),
}
"""What differs, the page, its kind, and in what the line of a duplicate differs."""


@pytest.mark.parametrize("name", FACTS)
@on_asyncio
async def test_two_other_lines_or_a_price_make_another_page_under_one_headline(name: str) -> None:
    """One line of other words may be the quote of the day, and one of other numbers how often the page was read."""
    body, kind, other_line = FACTS[name]
    async with NearDuplicateDetector() as detector:
        before = {"a counter": "<p>Read 40 times</p>", "a share": "<p>Yes: 40 %</p>"}
        first = JOB.format("Erfurt", 56_000, "Felix Winter") + before.get(name, "")
        for number, html in enumerate((page("job", body=first), *map(page, range(8)))):
            verdict = await detector.judge(html, url=f"https://jobs.example/{number}")
            assert verdict.page is not None
            await detector.confirm(verdict.page)
        verdict = await detector.judge(page("job", body=body), url="https://jobs.example/jobs/12")
        assert (verdict.kind, verdict.other_line) == (kind, other_line)
        assert verdict.is_duplicate == (kind == "identical")


NAMED = {
    "a colour in the last segment": ("shirt-red", "shirt-blue", "Colour: {}", ("red", "blue"), False),
    "a town in the last segment": ("nurse/erfurt", "nurse/bremen", "Place: {}", ("Erfurt", "Bremen"), False),
    "a colour in the query": ("shirt?c=dark%20red", "shirt?c=dark+blue", "{}", ("Dark red", "Dark blue"), False),
    "a section before the article": ("sports/final", "news/final", "You are in {}", ("sports", "news"), True),
    "a view below the article": ("final", "final/print", "{}", ("Read aloud", "Print version"), True),
    "what the other URL has no word for": ("final", "final?view=print", "{}", ("Final", "Print version"), True),
    "a number of the article": ("lamp?no=41073", "lamp?no=41074", "Order no. {}", ("41073", "41074"), False),
    "a number of a page": ("shirt?size=41", "shirt?size=42", "Size {}", ("41", "42"), True),
    "no word of a URL": ("shirt?sid=ad5e", "shirt?sid=bd7a", "Good {}!", ("morning", "evening"), True),
}
"""The ends of two URLs, a line, what it says at each, and whether the second page is dropped."""


@pytest.mark.parametrize("name", NAMED)
@on_asyncio
async def test_one_other_line_that_the_end_of_the_url_names_makes_another_page(name: str) -> None:
    """Under one headline an article comes in two colours; but a page may say in which section it was found."""
    *ends, line, words, is_dropped = NAMED[name]
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://shop.example/{number}")
        both = [f"<p>{line.format(word)}</p>{prose('text', 120)}" for word in words]
        first, second = [
            await detector.add(page("item", body=body), url=f"https://shop.example/{end}")
            for end, body in zip(ends, both, strict=True)
        ]
    assert (first.is_duplicate, second.is_duplicate) == (False, is_dropped)


@on_asyncio
async def test_another_price_makes_another_page_where_all_pages_have_one_headline() -> None:
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            html = page("shop", body=f"<p>Pram {number}</p>{prose(number, 120)}")
            await detector.add(html, url=f"https://shop.example/{number}")
        both = [page("shop", body=f"<p>Lamp</p><p>{price} EUR</p>{prose('lamp', 120)}") for price in (29, 31)]
        found = [await detector.add(html, url=f"https://shop.example/{at}") for at, html in enumerate(both, 20)]
    assert [verdict.is_duplicate for verdict in found] == [False, False]


@pytest.mark.parametrize(("rent", "is_dropped"), [("538 €", False), ("on request", True)])
@on_asyncio
async def test_a_rent_in_place_of_words_makes_another_flat_under_one_headline(rent: str, is_dropped: bool) -> None:
    """A house has many flats, and one text tells of all."""
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://homes.example/{number}")
        found = []
        for flat, shown in enumerate(("on request", rent), 1):
            rows = "".join(f"<tr><td>{cell}</td></tr>" for cell in ("2 rooms", "54 m²", shown))
            html = page("flat", body=f"<table>{rows}</table>{prose('flat', 120)}")
            found.append(await detector.add(html, url=f"https://homes.example/lime-street/{flat}"))
    assert [verdict.is_duplicate for verdict in found] == [False, is_dropped]
