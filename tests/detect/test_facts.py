"""Facts: short lines in which pages of one headline and one text differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from scrapy_simdedup import fingerprint_page
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.store.memory import MemoryStore


async def judged(
    site: str, pages: Mapping[str, str], others: Sequence[str] = tuple(map(page, range(8))), **settings: Any
) -> list[bool]:
    """Whether each page is dropped, by its path, on a site that has eight other pages."""
    async with NearDuplicateDetector(**settings) as detector:
        for number, html in enumerate(others):
            await detector.add(html, url=f"https://{site}/{number}")
        return [(await detector.add(html, url=f"https://{site}/{path}")).is_duplicate for path, html in pages.items()]


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


MENUS = {
    "links": "<li><a href=/{0}>{1} {1}</a></li>",
    "links without addresses": "<li><a>{1} {1}</a></li>",
    "choices": "<div><label><input type=checkbox>{1} ({0})</label></div>",
    "numbered rows": "<tr><td>{0}.</td><td><a href=/{0}>{1} {1}</a></td></tr>",
}


@pytest.mark.parametrize("lines", [0, 60, 150, 400])
@pytest.mark.parametrize("menu", MENUS)
@on_asyncio
async def test_facts_below_a_menu_make_another_page_however_long_it_is(menu: str, lines: int) -> None:
    """What no name calls a menu is content: more than the text, and more than a record has room for."""
    entries = "".join(MENUS[menu].format(number, name) for number, name in enumerate(words("menu", lines)))
    below = "".join(f"<p>{name} {name}</p>" for name in words("below", 12))

    def job(place: str, writer: str) -> str:
        body = f"<div><h1>A job</h1>{JOB.format(place, '56 000', writer)}{below}</div><p>Served in {len(place)} ms</p>"
        return f"<title>A job</title><div><h3>Filter by</h3><table>{entries}</table></div>{body}"

    adverts = {
        "jobs/1": job("Erfurt", "Felix Winter"),
        "jobs/2": job("Bremen", "Klara Sommer"),
        "jobs/3": job("Leipzig", "Anton Herbst"),
        "jobs/1?from=home": job("Erfurt", "Felix Winter").replace("in 6 ms", "in 12 ms"),
    }
    assert await judged("jobs.example", adverts) == [False, False, False, True]


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
    "of a section": ("<h1>Job</h1><section><header><h2>Driver</h2><p>{}</p><p>{}</p></header>{}</section>", False),
    "in a section around the page": ("<section><header><p>{}</p><p>{}</p></header><h1>Driver</h1>{}</section>", True),
    "beside a section": ("<h1>Job</h1><header><p>{}</p><p>{}</p></header><section>{}</section>", True),
}
"""A page with two lines in its header, and whether it is dropped for one with other lines there."""


@pytest.mark.parametrize("name", HEADERS)
@on_asyncio
async def test_what_stands_beside_the_headline_in_a_header_without_links_says_something_of_the_page(name: str) -> None:
    """The header of the site has links, or another headline; what it says may change by the day.

    The header of a section below the headline is not that of the site.
    """
    template, is_dropped = HEADERS[name]
    lines = {"jobs/0": ("Erfurt", "Ask Felix Winter"), "jobs/1": ("Bremen", "Ask Klara Sommer")}
    jobs = {path: template.format(*said, prose("job", 120)) for path, said in lines.items()}
    assert await judged("jobs.example", jobs) == [False, is_dropped]


MENU = "<ul class=nav><li><a href=/>Home</a><li><a href=/talks>Talks</a></ul>"
HEADLINES = {
    "an h1 in the header of the site": f"<header>{MENU}<h1>{{}}</h1></header><div>{{}}</div>",
    "an h1 in a second header": f"<header>{MENU}</header><div><header><h1>{{}}</h1></header>{{}}</div>",
    "an h1 in a masthead": f"<nav>{MENU}</nav><div class=masthead><h1>{{}}</h1><p>Welcome</p></div><div>{{}}</div>",
    "an h1 in a sidebar": "<div class=sidebar><h1>{}</h1></div><div>{}</div>",
    "a linked heading in the header of a section": "<section><header><h2><a href=.>{}</a></h2></header>{}</section>",
    "a heading in a header above others": "<header><h2>{}</h2></header><div><h3>Description</h3>{}</div>",
    "the last of the breadcrumbs": "<ol class=breadcrumb><li><a href=/>Home</a><li>{}</ol><div>{}</div>",
    "a link that is no heading": "<div class=title><a href=.>{}</a></div><div>{}</div>",
    "a line in a header": "<header class=page-head><div>{}</div></header><div>{}</div>",
}
"""A page whose headline is boilerplate or a link, with a text that other talks share."""


@pytest.mark.parametrize("name", HEADLINES)
@on_asyncio
async def test_a_headline_makes_another_page_wherever_the_template_has_it(name: str) -> None:
    talks = {
        "talks/0": "Tales of a server",
        "talks/1": "Ninety years of tea",
        "talks/1?ref=home": "Ninety years of tea",
    }
    html = "<title>Talks · {}</title>" + HEADLINES[name] + "<footer>All rights reserved</footer>"
    pages = {path: html.format(said, said, prose("held in the large hall", 60)) for path, said in talks.items()}
    assert await judged("talks.example", pages) == [False, False, True]


BESIDE_HEADLINES = {
    "the section, where the content has the headline": ("<h2>Tea</h2>", "<title>Tea | {}</title><header>{}</header>"),
    "the section, below a headline of its own": ("<h1>Tea</h1>", "<title>Tea | {}</title><header><h2>{}</h2></header>"),
    "a link to the section": ("", "<title>{}</title><nav><ul><li><a href=/>Home</a><li><a href=/s>{}</a></ul></nav>"),
    "a line in the footer": ("", "<title>{}</title><footer><h2>{}</h2></footer>"),
}
"""What the content begins with, and the rest of a page that is in two sections of its site."""


@pytest.mark.parametrize("name", BESIDE_HEADLINES)
@on_asyncio
async def test_no_other_name_outside_of_the_content_makes_another_page(name: str) -> None:
    begins, around = BESIDE_HEADLINES[name]
    text = f"<main>{begins}{prose('tea', 120)}</main>"
    pages = {section: around.format(section, section) + text for section in ("Harvest", "Offers")}
    assert await judged("tea.example", pages) == [False, True]


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


@pytest.mark.parametrize("rows", [0, 120])
@pytest.mark.parametrize("name", NAMED)
@on_asyncio
async def test_one_other_line_that_the_end_of_the_url_names_makes_another_page(name: str, rows: int) -> None:
    """Under one headline an article comes in two colours; but a page may say in which section it was found.

    Below a data sheet of so many rows the line shares one with others.
    """
    *ends, line, names, is_dropped = NAMED[name]
    sheet = "".join(f"<tr><td>{' '.join(words(row, 4))}</td></tr>" for row in range(rows))
    said = (f"<table>{sheet}</table><p>{line.format(word)}</p>{prose('text', 120)}" for word in names)
    items = {end: page("item", body=body) for end, body in zip(ends, said, strict=True)}
    assert await judged("shop.example", items) == [False, is_dropped]


@on_asyncio
async def test_another_price_makes_another_page_where_all_pages_have_one_headline() -> None:
    prams = [page("shop", body=f"<p>Pram {number}</p>{prose(number, 120)}") for number in range(8)]
    both = [page("shop", body=f"<p>Lamp</p><p>{price} EUR</p>{prose('lamp', 120)}") for price in (29, 31)]
    assert await judged("shop.example", {"20": both[0], "21": both[1]}, prams) == [False, False]


@pytest.mark.parametrize(("cells", "is_dropped"), [(5, True), (6, False)])
@on_asyncio
async def test_a_table_of_other_figures_makes_another_page_under_one_headline(cells: int, is_dropped: bool) -> None:
    """The league after each round has one text; a page has a few counters, too."""
    rounds = {}
    for at in range(2):
        rows = "".join(f"<tr><td>{words(cell, 2)[0]}</td><td>{7 * cell + at}</td></tr>" for cell in range(cells))
        rounds[f"table/{at}"] = page("table", body=f"<table>{rows}</table>{prose('table', 120)}")
    assert await judged("league.example", rounds) == [False, is_dropped]


@pytest.mark.parametrize(("rent", "is_dropped"), [("538 €", False), ("538 euros", False), ("on request", True)])
@on_asyncio
async def test_a_rent_in_place_of_words_makes_another_flat_under_one_headline(rent: str, is_dropped: bool) -> None:
    """A house has many flats, and one text tells of all."""
    flats = {}
    for flat, shown in enumerate(("on request", rent), 1):
        rows = "".join(f"<tr><td>{cell}</td></tr>" for cell in ("2 rooms", "54 m²", shown))
        flats[f"lime-street/{flat}"] = page("flat", body=f"<table>{rows}</table>{prose('flat', 120)}")
    assert await judged("homes.example", flats) == [False, is_dropped]


SHEETS = {
    "a list of terms": ('<dl class="job-meta"><dt>Place</dt><dd>{}</dd><dt>Write to</dt><dd>{}</dd></dl>', False),
    "a table": ('<table class="job-meta"><tr><td>{}</td><td>{}</td></tr></table>', False),
    "lines with labels": ('<ul class="job-meta"><li>Place: {}</li><li>Write to: {}</li></ul>', False),
    "a list in a column": ("</article></main><aside><dl><dt>Place</dt><dd>{}</dd><dd>{}</dd></dl></aside>", False),
    "labels in a widget": ('</article></main><div class="widget"><p>Place: {}</p><p>Write to: {}</p></div>', False),
    "lines without labels": ('<ul class="job-meta"><li>{}</li><li>By {}</li></ul>', False),
    "a dateline": ('<ul class="post-meta"><li>{}</li><li>By {}</li></ul>', True),
    "a widget": ('</article></main><div class="widget"><p>{}</p><p>{} is here</p></div>', True),
}
"""Two lines in a box that is called a dateline or a column, and whether a page with two others is dropped."""


@pytest.mark.parametrize("name", SHEETS)
@on_asyncio
async def test_a_data_sheet_is_of_the_page_whatever_it_is_called(name: str) -> None:
    sheet, is_dropped = SHEETS[name]
    facts = {"jobs/12": ("Erfurt", "Ada Moor"), "jobs/13": ("Bremen", "Ben Rill")}
    jobs = {path: page("job", body=prose("job", 120) + sheet.format(*said)) for path, said in facts.items()}
    assert await judged("jobs.example", jobs) == [False, is_dropped]


@on_asyncio
async def test_an_event_at_a_time_and_place_of_others_is_one_of_its_own() -> None:
    """Each original lacks two of its lines, and all of them one. Lines that were all seen may be greetings and tips."""
    events = [
        ("1 May", "Erfurt", "Hall"),
        ("2 June", "Bremen", "Barn"),
        ("3 July", "Celle", "Yard"),
        ("4 May", "Erfurt", "Barn"),
        ("3 July", "Bremen", "Hall"),
    ]
    pages = {}
    for at, event in enumerate(events, 12):
        rows = "".join(f"<tr><td>{cell}</td></tr>" for cell in event)
        pages[f"events/{at}"] = page("event", body=f"<table>{rows}</table>{prose('event', 120)}")
    assert await judged("choir.example", pages) == [False, False, False, False, True]


@on_asyncio
async def test_a_short_thread_that_marks_another_post_at_each_url_is_not_kept_for_each_of_them() -> None:
    posts = {}
    for post in range(6):
        marks = ("" if at == post else " link" for at in range(6))
        body = "".join(f"<p>Post {words(at, 3)}{mark}</p>{prose(at, 30)}" for at, mark in enumerate(marks))
        posts[f"post/{post}"] = page("thread", body=body)
    assert (await judged("forum.example", posts)).count(False) <= 2


COUNTERS = "<p>Guests: {}</p><p>Today: {}</p><p>In all: 1,{}</p>"


@pytest.mark.parametrize("box", ['<div class="meta">{}</div>', '<div class="widget">{}</div>'])
@on_asyncio
async def test_counters_are_no_data_sheet(box: str) -> None:
    """Not even where each page of the site has the same headline."""
    others = [page("shop", body=prose(number, 120)) for number in range(8)]
    counted = {f"lamp?sid={at}": box.format(COUNTERS.format(at, at + 7, at)) for at in (211, 387)}
    lamps = {path: page("shop", body=prose("lamp", 120) + counters) for path, counters in counted.items()}
    assert await judged("shop.example", lamps, others) == [False, True]


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
    polls = {}
    for at, given in enumerate(["ynynyn", answers, answers]):
        rows = "".join(
            f"<tr><td>{' '.join(words(number, 3))}?</td><td>{'Yes' if answer == 'y' else 'No'}</td></tr>"
            for number, answer in enumerate(given)
        )
        polls[f"poll/{at}"] = page("poll", body=f"<table>{rows}</table>{prose('poll', text)}")
    assert await judged("polls.example", polls) == [False, False, True]


@on_asyncio
async def test_a_teaser_that_went_to_the_end_of_its_list_makes_no_other_page() -> None:
    """Two things in the list have one description, so that one of these stands behind whatever came before them."""
    teasers = [f"<p>{prose(text, 12)}</p>" for text in (1, 2, 2, 3)]
    kettles = {
        f"kettles?by={at}": page("kettles", body=f"<h1>Kettles</h1>{''.join(order)}<p>04:42:{at + 10}</p>")
        for at, order in enumerate((teasers, teasers[1:] + teasers[:1]))
    }
    assert await judged("shop.example", kettles) == [False, True]


@on_asyncio
async def test_the_rows_of_a_table_in_another_order_make_no_other_page() -> None:
    """Many have one answer, and each stands beside what it is about."""
    rows = [
        f"<tr><td>{' '.join(words(number, 3))}</td><td>{('Yes', 'No')[number % 2]}</td></tr>" for number in range(8)
    ]
    polls = {
        f"poll?by={at}": page("poll", body=f"<table>{''.join(rows[at:] + rows[:at])}</table>{prose('poll', 120)}")
        for at in (0, 3)
    }
    assert await judged("polls.example", polls) == [False, True]


TITLED = {
    "a colour in the title": ("shirt?no={}", "Shirt, {} | Acme", "Colour: {}", ("red", "blue"), False),
    "a greeting that the title has, too": ("shirt?no={}", "Shirt | Acme", "Good {}!", ("morning", "evening"), True),
    "a view at another path": ("{}/shirt", "Shirt, {}", "{} version", ("print", "screen"), True),
    "a number in the title": ("shirt?no={}", "({}) Shirt", "{} people look at this", ("41", "42"), True),
}
"""A URL, a title, a line, what each says of two pages, and whether the second page is dropped."""


@pytest.mark.parametrize("rows", [0, 120])
@pytest.mark.parametrize("name", TITLED)
@on_asyncio
async def test_one_other_line_that_the_title_names_makes_another_page(name: str, rows: int) -> None:
    """The h1 is that of the article, which comes in two colours; but a title may count messages as well.

    Below a data sheet of so many rows the line shares one with others.
    """
    url, title, line, names, is_dropped = TITLED[name]
    sheet = "".join(f"<tr><td>{' '.join(words(row, 4))}</td></tr>" for row in range(rows))
    items = {}
    for number, word in enumerate(names):
        html = page("item", body=f"<table>{sheet}</table><p>{line.format(word)}</p>{prose('text', 120)}")
        named = re.sub("<title>.*?</title>", f"<title>{title.format(word)}</title>", html)
        items[url.format(number if "no=" in url else word)] = named
    assert await judged("shop.example", items) == [False, is_dropped]


@on_asyncio
async def test_names_that_a_record_cannot_tell_apart_make_another_page_all_the_same() -> None:
    """Of each line 16 bits are kept, and those of two names in some hundred are equal."""
    names = [" ".join(words(("name", number), 3)) for number in range(600)]
    blocks = [fingerprint_page(f"<p>{name}</p>{prose('lamp', 40)}", secret="lamp").page_units for name in names]
    by_row: dict[int, list[str]] = {}
    for name, units in zip(names, blocks, strict=True):
        assert units is not None
        by_row.setdefault(int(units.digests[0]) & 0xFFFF, []).append(name)
    alike = next(found for found in by_row.values() if len(found) > 1)
    sheets = {
        f"lamp?no={at}": page("lamp", body=f"<p>{name}</p>{prose('lamp', 240)}<p>Fits {fits}</p>")
        for at, (name, fits) in enumerate(zip((alike[0], alike[1], alike[1]), ("Oslo", "Turin", "Turin"), strict=True))
    }
    assert await judged("lamps.example", sheets, secret="lamp") == [False, False, True]


FILES = """<ul><li><a href="/files/minutes-{0}.pdf">Minutes of {0} (PDF)</a></li>
<li><a href="/files/{0}.zip?v=2">Plans of {0}</a></li></ul>"""
PAGES = '<ul><li><a href="/minutes/{0}">Minutes of {0}</a></li><li><a href="/plans/{0}">Plans of {0}</a></li></ul>'
ADDRESS = '<p>Ask <a href="mailto:{0}@town.example">{0}@town.example</a> or call <a href="tel:+44{1}">+44 {1}</a>.</p>'


@pytest.mark.parametrize(
    ("shown", "another", "kind"),
    [
        (FILES.format("May"), FILES.format("June"), "changed"),
        (FILES.format("May"), FILES.format("June") + FILES.format("May"), "changed"),
        (ADDRESS.format("ada", "20"), ADDRESS.format("ada", "21"), "changed"),
        (PAGES.format("May"), PAGES.format("June"), "unchanged"),
    ],
)
@on_asyncio
async def test_another_file_or_another_number_is_an_edit(shown: str, another: str, kind: str) -> None:
    """No other page says it, while a link to a page says what that page says."""
    store = MemoryStore()
    for run, body in enumerate((shown, another)):
        async with NearDuplicateDetector(store=store, run=str(run)) as detector:
            verdict = await detector.judge(
                page("town", body=prose("town", 120) + body), url="https://town.example/council"
            )
            assert verdict.page is not None
            await detector.confirm(verdict.page)
    assert verdict.kind == kind
