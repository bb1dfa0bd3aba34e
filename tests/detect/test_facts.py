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
    "another salary": (JOB.format("Erfurt", 51_000, "Felix Winter"), "identical", "numbers"),
    "none": (JOB.format("Erfurt", 56_000, "Felix Winter"), "identical", None),
}
"""What differs, the page, its kind, and in what the line of a duplicate differs."""


@pytest.mark.parametrize("name", FACTS)
@on_asyncio
async def test_two_other_lines_make_another_page_under_one_headline_and_one_alone_makes_none(name: str) -> None:
    """One may be the quote of the day, or how often the page was read."""
    body, kind, other_line = FACTS[name]
    async with NearDuplicateDetector() as detector:
        first = JOB.format("Erfurt", 56_000, "Felix Winter")
        for number, html in enumerate((page("job", body=first), *map(page, range(8)))):
            verdict = await detector.judge(html, url=f"https://jobs.example/{number}")
            assert verdict.page is not None
            await detector.confirm(verdict.page)
        verdict = await detector.judge(page("job", body=body), url="https://jobs.example/jobs/12")
        assert (verdict.kind, verdict.other_line) == (kind, other_line)
        assert verdict.is_duplicate == (kind == "identical")
