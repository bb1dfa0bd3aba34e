"""Facts: short lines in which pages of one headline and one text differ."""

from __future__ import annotations

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from scrapy_simdedup.detect.detector import NearDuplicateDetector

JOB = "<dl><dt>Place</dt><dd>{}</dd><dt>Salary</dt><dd>{} EUR a year</dd></dl><p>Write to {}.</p>" + prose("job", 120)
FACTS = {
    "other place and contact": (JOB.format("Bremen", 56_000, "Klara Sommer"), "near", None),
    "other place and salary": (JOB.format("Bremen", 51_000, "Felix Winter"), "near", None),
    "another place": (JOB.format("Bremen", 56_000, "Felix Winter"), "identical", True),
    "another salary": (JOB.format("Erfurt", 51_000, "Felix Winter"), "near", None),
    "a counter": ("<p>Read 41 times</p>" + JOB.format("Erfurt", 56_000, "Felix Winter"), "identical", True),
    "a share": ("<p>Yes: 41 %</p>" + JOB.format("Erfurt", 56_000, "Felix Winter"), "identical", True),
    "none": (JOB.format("Erfurt", 56_000, "Felix Winter"), "identical", False),
}
"""What differs, the page, its kind, and whether the text of a duplicate differs."""


@pytest.mark.parametrize(("above", "below"), [(0, 0), (0, 60), (60, 0), (30, 30)])
@pytest.mark.parametrize("name", FACTS)
@on_asyncio
async def test_two_other_texts_or_a_price_make_another_page_under_one_headline(
    name: str, above: int, below: int
) -> None:
    """One line of other words may be the quote of the day, and one of other numbers how often the page was read.

    In a record of so many paragraphs most of them share rows with others.
    """
    body, kind, other_text = FACTS[name]
    head, text = ("".join(prose((many, number), 30) for number in range(many)) for many in (above, below))
    async with NearDuplicateDetector() as detector:
        before = {"a counter": "<p>Read 40 times</p>", "a share": "<p>Yes: 40 %</p>"}
        first = head + before.get(name, "") + JOB.format("Erfurt", 56_000, "Felix Winter") + text
        for number, html in enumerate((page("job", body=first), *map(page, range(8)))):
            verdict = await detector.judge(html, url=f"https://jobs.example/{number}")
            assert verdict.page is not None
            await detector.confirm(verdict.page)
        verdict = await detector.judge(page("job", body=head + body + text), url="https://jobs.example/jobs/12")
        assert (verdict.kind, verdict.other_text) == (kind, other_text)
        assert verdict.is_duplicate == (kind == "identical")


HEADERS = {
    "above the text": ("<header><h1>Driver</h1><p>{}</p><p>{}</p></header><main>{}</main>", False),
    "with a menu": ("<header><a href=/>Jobs</a><h1>Driver</h1><p>{}</p><p>{}</p></header><main>{}</main>", True),
    "of the site": ("<header><h1>Jobs</h1><p>{}</p><p>{}</p></header><main><h1>Driver</h1>{}</main>", True),
}
"""A page with two lines in its header, and whether it is dropped for one with other lines there."""


@pytest.mark.parametrize("name", HEADERS)
@on_asyncio
async def test_what_stands_beside_the_headline_in_a_header_without_links_says_something_of_the_page(name: str) -> None:
    """The header of the site has links, or another headline; what it says may change by the day."""
    template, is_dropped = HEADERS[name]
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://jobs.example/{number}")
        first, second = [
            await detector.add(template.format(*lines, prose("job", 120)), url=f"https://jobs.example/jobs/{number}")
            for number, lines in enumerate([("Erfurt", "Ask Felix Winter"), ("Bremen", "Ask Klara Sommer")])
        ]
    assert (first.is_duplicate, second.is_duplicate) == (False, is_dropped)


NAMED = {
    "a colour in the last segment": ("shirt-red", "shirt-blue", "Colour: {}", ("red", "blue"), False),
    "a town in the last segment": ("nurse/erfurt", "nurse/bremen", "Place: {}", ("Erfurt", "Bremen"), False),
    "a colour in the query": ("shirt?c=dark%20red", "shirt?c=dark+blue", "{}", ("Dark red", "Dark blue"), False),
    "a section before the article": ("sports/final", "news/final", "You are in {}", ("sports", "news"), True),
    "a view below the article": ("final", "final/print", "{}", ("Read aloud", "Print version"), True),
    "what the other URL has no word for": ("final", "final?view=print", "{}", ("Final", "Print version"), True),
    "a number of the article": ("lamp?no=41073", "lamp?no=41074", "Order no. {}", ("41073", "41074"), False),
    "a day in the query": ("oil?on=2026-05-03", "oil?on=2026-05-10", "Begins on {}", ("3 May", "10 May"), False),
    "a day in the path": ("oil/2026/05/03", "oil/2026/05/10", "{}", ("03.05.2026", "10.05.2026"), False),
    "another number than the day": ("oil?on=2026-05-03", "oil?on=2026-05-10", "Read {} times", ("41", "42"), True),
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


@pytest.mark.parametrize(("cells", "is_dropped"), [(5, True), (6, False)])
@on_asyncio
async def test_a_table_of_other_figures_makes_another_page_under_one_headline(cells: int, is_dropped: bool) -> None:
    """The league after each round has one text; a page has a few counters, too."""
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://league.example/{number}")
        found = []
        for at in range(2):
            rows = "".join(f"<tr><td>{words(cell, 2)[0]}</td><td>{7 * cell + at}</td></tr>" for cell in range(cells))
            html = page("table", body=f"<table>{rows}</table>{prose('table', 120)}")
            found.append(await detector.add(html, url=f"https://league.example/table/{at}"))
    assert [verdict.is_duplicate for verdict in found] == [False, is_dropped]


@pytest.mark.parametrize(("rent", "is_dropped"), [("538 €", False), ("538 euros", False), ("on request", True)])
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


SHEETS = {
    "a list of terms": ('<dl class="job-meta"><dt>Place</dt><dd>{}</dd><dt>Write to</dt><dd>{}</dd></dl>', False),
    "a table": ('<table class="job-meta"><tr><td>{}</td><td>{}</td></tr></table>', False),
    "lines with labels": ('<ul class="job-meta"><li>Place: {}</li><li>Write to: {}</li></ul>', False),
    "a list in a column": ("</article></main><aside><dl><dt>Place</dt><dd>{}</dd><dd>{}</dd></dl></aside>", False),
    "labels in a widget": ('</article></main><div class="widget"><p>Place: {}</p><p>Write to: {}</p></div>', False),
    "a dateline": ('<ul class="job-meta"><li>{}</li><li>By {}</li></ul>', True),
    "a widget": ('</article></main><div class="widget"><p>{}</p><p>{} is here</p></div>', True),
}
"""Two lines in a box that is called a dateline or a column, and whether a page with two others is dropped."""


@pytest.mark.parametrize("name", SHEETS)
@on_asyncio
async def test_a_data_sheet_is_of_the_page_whatever_it_is_called(name: str) -> None:
    sheet, is_dropped = SHEETS[name]
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://jobs.example/{number}")
        both = [prose("job", 120) + sheet.format(*facts) for facts in (("Erfurt", "Ada Moor"), ("Bremen", "Ben Rill"))]
        found = [
            await detector.add(page("job", body=body), url=f"https://jobs.example/jobs/{at}")
            for at, body in enumerate(both, 12)
        ]
    assert [verdict.is_duplicate for verdict in found] == [False, is_dropped]


@on_asyncio
async def test_an_event_at_a_time_and_place_of_others_is_one_of_its_own() -> None:
    """Each original lacks two of its lines, and all of them one. Lines that were all seen may be greetings and tips."""
    events = [
        ("1 May", "Erfurt", "Hall"),
        ("2 June", "Bremen", "Barn"),
        ("3 July", "Celle", "Yard"),
        ("4 May", "Erfurt", "Barn"),
    ]
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://choir.example/{number}")
        found = []
        for at, event in enumerate([*events, ("3 July", "Bremen", "Hall")], 12):
            rows = "".join(f"<tr><td>{cell}</td></tr>" for cell in event)
            html = page("event", body=f"<table>{rows}</table>{prose('event', 120)}")
            found.append(await detector.add(html, url=f"https://choir.example/events/{at}"))
    assert [verdict.is_duplicate for verdict in found] == [False, False, False, False, True]


@on_asyncio
async def test_a_short_thread_that_marks_another_post_at_each_url_is_not_kept_for_each_of_them() -> None:
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://forum.example/{number}")
        found = []
        for post in range(6):
            marks = ("" if at == post else " link" for at in range(6))
            body = "".join(f"<p>Post {words(at, 3)}{mark}</p>{prose(at, 30)}" for at, mark in enumerate(marks))
            found.append(await detector.add(page("thread", body=body), url=f"https://forum.example/post/{post}"))
    assert sum(not verdict.is_duplicate for verdict in found) <= 2


COUNTERS = "<p>Guests: {}</p><p>Today: {}</p><p>In all: 1,{}</p>"


@pytest.mark.parametrize("box", ['<div class="meta">{}</div>', '<div class="widget">{}</div>'])
@on_asyncio
async def test_counters_are_no_data_sheet(box: str) -> None:
    """Not even where each page of the site has the same headline."""
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page("shop", body=prose(number, 120)), url=f"https://shop.example/{number}")
        found = []
        for at in (211, 387):
            html = page("shop", body=prose("lamp", 120) + box.format(COUNTERS.format(at, at + 7, at)))
            found.append(await detector.add(html, url=f"https://shop.example/lamp?sid={at}"))
    assert [verdict.is_duplicate for verdict in found] == [False, True]


@on_asyncio
async def test_of_the_pages_of_a_family_a_repeat_is_dropped_for_the_one_with_its_lines() -> None:
    """Similarity is an estimate, and of two lines in a long text it tells nothing."""
    text = "".join(prose(("terms", number), 36) for number in range(40))
    urls = [f"https://shop.example/lamps/{number}" for number in range(20)]
    async with NearDuplicateDetector(secret="family") as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://shop.example/{number}")
        facts = (f"<p>Colour: {' '.join(words(url, 2))}</p><p>{7 + at}.50 EUR</p>" for at, url in enumerate(urls))
        bodies = [of_page + text for of_page in facts]
        kept = [await detector.add(page("lamp", body=body), url=url) for url, body in zip(urls, bodies, strict=True)]
        repeats = [
            await detector.add(page("lamp", 1, body=body), url=f"{url}?from=mail")
            for url, body in zip(urls, bodies, strict=True)
        ]
    assert not any(verdict.is_duplicate for verdict in kept)
    assert [verdict.original for verdict in repeats if verdict.is_duplicate] == urls


@pytest.mark.parametrize("answers", ["nynyny", "nyynyn", "yynyyn"])
@pytest.mark.parametrize("text", [0, 120])
@on_asyncio
async def test_other_answers_to_the_same_questions_make_another_page(answers: str, text: int) -> None:
    """Each answer stands on the other page, too: as often, so that both have one set of texts, or not."""
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://polls.example/{number}")
        found = []
        for at, given in enumerate(["ynynyn", answers, answers]):
            rows = "".join(
                f"<tr><td>{' '.join(words(number, 3))}?</td><td>{'Yes' if answer == 'y' else 'No'}</td></tr>"
                for number, answer in enumerate(given)
            )
            html = page("poll", body=f"<table>{rows}</table>{prose('poll', text)}")
            found.append(await detector.add(html, url=f"https://polls.example/poll/{at}"))
    assert [verdict.is_duplicate for verdict in found] == [False, False, True]


@on_asyncio
async def test_a_teaser_that_went_to_the_end_of_its_list_makes_no_other_page() -> None:
    """Two things in the list have one description, so that one of these stands behind whatever came before them."""
    teasers = [f"<p>{prose(text, 12)}</p>" for text in (1, 2, 2, 3)]
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://shop.example/{number}")
        found = [
            await detector.add(
                page("kettles", body=f"<h1>Kettles</h1>{''.join(order)}<p>04:42:{at + 10}</p>"),
                url=f"https://shop.example/kettles?by={at}",
            )
            for at, order in enumerate((teasers, teasers[1:] + teasers[:1]))
        ]
    assert [verdict.is_duplicate for verdict in found] == [False, True]


@on_asyncio
async def test_the_rows_of_a_table_in_another_order_make_no_other_page() -> None:
    """Many have one answer, and each stands beside what it is about."""
    rows = [
        f"<tr><td>{' '.join(words(number, 3))}</td><td>{('Yes', 'No')[number % 2]}</td></tr>" for number in range(8)
    ]
    async with NearDuplicateDetector() as detector:
        for number in range(8):
            await detector.add(page(number), url=f"https://polls.example/{number}")
        found = [
            await detector.add(
                page("poll", body=f"<table>{''.join(rows[at:] + rows[:at])}</table>{prose('poll', 120)}"),
                url=f"https://polls.example/poll?by={at}",
            )
            for at in (0, 3)
        ]
    assert [verdict.is_duplicate for verdict in found] == [False, True]
