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


FLATS = {
    "a rent in place of words": ("on request", "538 €", 2, ("/lime-street", "/lime-street/2"), False),
    "another area, of an article with a number": ("540 €", "540 €", 114, ("/flats/503", "/flats/508"), False),
    "another area, of an article with a number in its query": ("", "", 114, ("/flat?no=503", "/flat?no=508"), False),
    "another area, on another day": ("540 €", "540 €", 114, ("/flats?day=20270504", "/flats?day=20270511"), True),
    "another area, at another view": ("540 €", "540 €", 114, ("/flats/503", "/flats/503/508"), True),
    "the number of an article alone": ("540 €", "540 €", 2, ("/flats/503", "/flats/508"), True),
}
"""The rents of two flats, the area of the second, the ends of their URLs, and whether the second page is dropped."""


@pytest.mark.parametrize("name", FLATS)
@on_asyncio
async def test_three_other_numbers_or_a_rent_make_another_flat_under_one_headline(name: str) -> None:
    """A house has many flats, and one text tells of all; a counter and a clock are two numbers at most."""
    *rents, area, ends, is_dropped = FLATS[name]
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://homes.example/{number}")
        found = []
        for rent, size, end in zip(rents, (2, area), ends, strict=True):
            table = "".join(
                f"<tr><td>{cell}</td></tr>" for cell in (f"{size} rooms", f"{size} m²", f"Floor {size}", rent)
            )
            html = page("flat", body=f"<table>{table}</table>{prose('flat', 120)}")
            found.append(await detector.add(html, url=f"https://homes.example{end}"))
    assert [verdict.is_duplicate for verdict in found] == [False, is_dropped]
