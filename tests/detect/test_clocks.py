"""Clocks: the places of a site whose text changes by itself are learned, and pass for nothing; prices never do."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.changing_site import product, sentence
from helpers.on_asyncio import on_asyncio
from helpers.pages import prose, words
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.detect.clocks import MAX_PLACES, ClockEvidence, SiteClocks, is_amount, is_counter
from scrapy_simdedup.detect.verdict import VerdictKind
from scrapy_simdedup.fingerprint.unit_changes import EditedText

COUNTER = "In stock: 7"
NAMES = "Ann Ben Cleo Dan Eve Finn Gus Hal Ida Jon".split()
QUOTE = "A rolling stone gathers no moss, said the other one."


def edited_text(text: str) -> EditedText:
    return EditedText(text, crc32(text.encode()))


def learn(clocks: SiteClocks, text: str, share: float, *, pages: int, run: str, edited_share: float = 0.01) -> None:
    """Show so many pages of a run, of which a share differs in one place."""
    for number in range(pages):
        differs = int((number + 1) * share) > int(number * share)
        edited = {77: edited_text(text)} if differs else {}
        clocks.observe(ClockEvidence(edited, frozenset() if differs else frozenset({77}), edited_share), run)


def known(text: str, *shares: float, pages: int = 20, edited_share: float = 0.01) -> bool:
    """Whether a place is a clock after runs in which these shares of the pages differed there."""
    clocks = SiteClocks()
    for run, share in enumerate(shares):
        learn(clocks, text, share, pages=pages, run=str(run), edited_share=edited_share)
    return bool(clocks.clocks)


@pytest.mark.parametrize(
    ("text", "shares", "expected"),
    [
        (COUNTER, [1.0], True),
        (QUOTE, [1.0], True),
        (COUNTER, [0.03] * 10, False),
        (QUOTE, [0.1] * 10, False),
        ("29.90 EUR", [1.0], False),
        ("29.90 EUR", [0.03] * 30, False),
        ("1,299", [1.0, 1.0], False),
        ("1,299", [1.0, 1.0, 1.0], True),
        (COUNTER, [1.0, 0.0, 0.0, 0.0], False),
    ],
)
def test_a_place_is_a_clock_if_it_differs_on_most_pages(text: str, shares: list[float], expected: bool) -> None:
    """An amount needs three runs for that, since all prices of a shop may rise on one day."""
    assert known(text, *shares) is expected


def test_a_handful_of_pages_is_enough() -> None:
    assert not known(COUNTER, 1.0, pages=4)
    assert known(COUNTER, 1.0, pages=5)


def test_pages_that_were_rewritten_say_nothing_about_texts() -> None:
    """Else the second paragraph of a handbook would be a clock after its new edition."""
    assert not known(QUOTE, 1.0, edited_share=0.5)
    assert known(COUNTER, 1.0, edited_share=0.5)


@pytest.mark.parametrize("text", ["29 EUR", "$5", "1 299,00 Kč", "5 %", "19.99", "CHF 12.-", "3.000円"])
def test_a_number_alone_or_with_a_currency_is_an_amount(text: str) -> None:
    assert is_amount(text)
    assert not is_counter(text)


@pytest.mark.parametrize("text", ["In stock: 7", "3 hours ago", "1,204 views", "Просмотров: 12"])
def test_a_number_among_words_is_a_counter(text: str) -> None:
    assert is_counter(text)
    assert not is_amount(text)


@given(st.lists(st.tuples(st.integers(2, 500), st.text(max_size=120), st.booleans()), max_size=200))
def test_clocks_survive_their_bytes_and_are_bounded(seen: list[tuple[int, str, bool]]) -> None:
    clocks = SiteClocks()
    for place, text, differs in seen:
        edited = {place: edited_text(text)} if differs else {}
        clocks.observe(ClockEvidence(edited, frozenset() if differs else frozenset({place})), "monday")
    assert len(clocks.places) <= MAX_PLACES
    assert SiteClocks(bytes(clocks)).places == clocks.places
    assert len(bytes(clocks)) < 6_000


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b"\xff", b"[[1,2]]x", b"[7]"])
def test_clocks_that_cannot_be_read_are_learned_again(raw: bytes) -> None:
    assert not SiteClocks(raw).places


async def kinds_of(store: str, run: int, pages: Mapping[str, str], **settings: object) -> list[VerdictKind]:
    """The kinds of the pages of a run."""
    async with NearDuplicateDetector(store, run=str(run), unchanged="drop", **settings) as detector:
        return [(await detector.add(html, url=url)).kind for url, html in pages.items()]


async def changed(store: str, run: int, pages: Mapping[str, str], **settings: object) -> set[str]:
    """The URLs of the pages that a run finds changed."""
    kinds = await kinds_of(store, run, pages, **settings)
    return {url for url, kind in zip(pages, kinds, strict=True) if kind == "changed"}


async def changed_numbers(store: str, run: int, pages: Mapping[int, str], **settings: object) -> set[int]:
    """Which of numbered pages a run finds changed."""
    urls = {f"https://site.example/{number}": html for number, html in pages.items()}
    return {int(url.rpartition("/")[2]) for url in await changed(store, run, urls, **settings)}


@on_asyncio
async def test_in_a_shop_every_price_is_seen_and_no_stock(sqlite_store: str) -> None:
    """120 products over six runs, of which some change in price or text, and all in stock and visitors."""
    chance = random.Random(3)
    prices, texts = dict.fromkeys(range(120), 29), {number: f"text {number}" for number in range(120)}
    for run in range(6):
        edited = set(chance.sample(range(120), 6)) if run else set()
        for number in edited:
            if number % 4:
                prices[number] += chance.choice([-3, 4, 10])
            else:
                texts[number] += "!"
        pages = {n: product(n, run, price=prices[n], text=texts[n]) for n in range(120)}
        found = await changed_numbers(sqlite_store, run, pages)
        assert edited <= found
        if run >= 2:
            assert found == edited
        elif run == 1:
            assert len(found - edited) <= 5


@pytest.mark.parametrize(("clocks", "expected"), [(True, 0), (False, 30)])
@on_asyncio
async def test_clocks_can_be_switched_off(sqlite_store: str, clocks: bool, expected: int) -> None:
    for run in range(3):
        pages = {n: product(n, run, price=5, text=f"text {n}") for n in range(30)}
        found = await changed_numbers(sqlite_store, run, pages, clocks=clocks)
    assert len(found) == expected


@on_asyncio
async def test_a_comment_is_a_pages_own_and_a_clock_is_not(sqlite_store: str) -> None:
    """What is learned from revisits holds for repeats as well."""

    def post(number: int, teaser: object) -> str:
        said = sentence(("teaser", teaser), 30)
        return f"<title>{number}</title><main><h1>Post {number}</h1><div><p>{said}</p></div>{prose(number, 900)}</main>"

    for run in range(2):
        await changed_numbers(sqlite_store, run, {n: post(n, (n, run)) for n in range(12)})
    async with NearDuplicateDetector(sqlite_store, run="last") as detector:
        for number in range(6):  # the site is known in this run
            await detector.add(post(number, "again"), url=f"https://site.example/{number}")
        await detector.add(post(50, "one"), url="https://site.example/50")
        assert (await detector.add(post(50, "two"), url="https://site.example/50?ref=mail")).kind == "identical"
        comment = f"<section class=comments><p>{sentence('a comment', 40)}</p></section>"
        longer = await detector.add(post(50, "three") + comment, url="https://site.example/50?comments")
        assert (longer.kind, longer.reason) == ("near", "own_text")


def test_a_place_that_is_met_late_can_still_be_a_clock() -> None:
    """Twelve places that differ now and then do not keep the seats for good."""
    clocks = SiteClocks()
    rarely = frozenset(range(1, 1 + MAX_PLACES))
    for number in range(20):
        edited = {} if number % 3 else dict.fromkeys(rarely, edited_text(QUOTE))
        clocks.observe(ClockEvidence(edited, frozenset() if edited else rarely), "monday")
    for number in range(30):
        places = (99,) if number % 5 else (99, 1000 + number)  # and some that come once
        edited = dict.fromkeys(places, edited_text(QUOTE))
        clocks.observe(ClockEvidence(edited, rarely), "tuesday")
    assert clocks.clocks == {99}


def test_a_content_under_many_urls_is_one_witness() -> None:
    """A thread that got a reply has the URL of each of its posts, and what stands there is no clock for that."""
    clocks = SiteClocks()
    for number in range(40):
        clocks.observe(ClockEvidence({77: edited_text(QUOTE)}, frozenset(), content=1 + number // 20), "monday")
    assert not clocks.clocks
    for number in range(40):
        clocks.observe(ClockEvidence({77: edited_text(QUOTE)}, frozenset(), content=100 + number), "monday")
    assert clocks.clocks == {77}


def test_a_line_that_is_another_under_each_url_of_a_content_makes_no_clock_of_an_edit_beside_it() -> None:
    """Where each URL has a session, the page is compared with itself under another post: "Reply to Ann" differs."""
    clocks = SiteClocks()
    for number in range(40):
        edited = {77: edited_text(QUOTE), 88: edited_text(f"Reply to {NAMES[number % 10]} {number}")}
        clocks.observe(ClockEvidence(edited, frozenset(), content=1), "monday")
    assert clocks.clocks == {88}


@on_asyncio
async def test_an_edit_under_many_urls_hides_no_edit_of_another_page(sqlite_store: str) -> None:
    """A review stands under each of its reply links, and each says whom the reply is to; its mark was corrected."""

    def review(number: int, mark: int, name: str = "") -> str:
        table = f"<table><tr><td>Mark</td><td>{mark} of 5</td></tr></table>"
        reply = f"<h3>Reply {name}</h3>"
        return f"<title>{number}</title><main><h1>Review {number}</h1>{table}{prose(number, 900)}{reply}</main>"

    for run, mark in enumerate((3, 4)):
        pages = {f"https://r.example/0?reply={n}": review(0, mark, f"to {word}") for n, word in enumerate(NAMES)}
        pages |= {f"https://r.example/{n}": review(n, mark if n == 9 else 3) for n in range(1, 10)}
        found = await changed(sqlite_store, run, pages)
    assert "https://r.example/9" in found
    assert not {f"https://r.example/{n}" for n in range(1, 9)} & found


@pytest.mark.parametrize("session", ["", "in each URL"])
@pytest.mark.parametrize("clock", ["Seen {seen} times", "In stock: {stock}", "Today is the {day}th of May"])
@on_asyncio
async def test_products_of_one_description_without_a_headline_tell_of_a_clock_each(
    sqlite_store: str, clock: str, session: str
) -> None:
    """Each has a print view beside it. Of five runs with new prices, from the third on all others are unchanged."""
    prices = dict.fromkeys(range(30), 29)
    for run in range(5):
        edited = set(random.Random(run).sample(range(30), 3)) if run else set()
        exported = set()
        async with NearDuplicateDetector(sqlite_store, run=str(run), unchanged="drop") as detector:
            for number in range(30):
                prices[number] += number in edited
                facts = f"<td>Clock {NAMES[number % 10]}<td>{7 * number + prices[number]}.90 EUR<td>{number % 4} cm"
                stock = random.Random(f"{number} {run}").randint(0, 5)
                told = clock.format(seen=17 * number + 3 * run, stock=stock, day=4 + run)
                html = f"<table><tr>{facts}</table>{prose('of all', 160)}<p>{told}</p>"
                url = f"https://shop.example/product?id={number}{session and f'&sid={run}'}"
                for view, menu in (("", "<div><a href='/'>Shop</a></div>"), ("&print=1", "")):
                    page = f"<title>Clock {number}</title><body>{menu}<div>{html}</div>"
                    if not (await detector.add(page, url=url + view)).is_duplicate:
                        exported.add(number)
        assert edited <= exported
        if run >= 2:
            assert exported == edited


def short_page(number: int, beside: str, *, text: str = "") -> str:
    """A page of three short lines, with a longer text beside them in a box without a name."""
    own = " ".join(words(("own", number), 12))
    return f"<title>Lamp {number}</title><h1>Lamp {number}</h1><p>{own} {text}</p><div>{beside}</div>"


@pytest.mark.parametrize("length", [16, 32])
@on_asyncio
async def test_advertisements_that_take_turns_are_clocks_though_they_are_half_of_a_short_page(
    sqlite_store: str, length: int
) -> None:
    """Each stands on other pages, too; so it is no part of the page, and nobody wrote the page anew.

    What pages of earlier runs said counts: in whichever order pages come, the first ones of a run have no others yet.
    """
    chance = random.Random(5)
    advertisements, texts = [" ".join(words(("advertisement", number), length)) for number in range(6)], [""] * 30
    for run in range(7):
        edited = set(chance.sample(range(30), 3)) if run > 3 else set()
        for number in edited:
            texts[number] += f" edited {run}"
        order = chance.sample(range(30), 30)
        pages = {n: short_page(n, chance.choice(advertisements), text=texts[n]) for n in order}
        found = await changed_numbers(sqlite_store, run, pages)
        assert edited <= found
        assert run in {1, 2} or len(found - edited) <= (3 if run == 3 else 0)


@pytest.mark.parametrize("with_counters", [False, True])
@on_asyncio
async def test_an_advertisement_that_comes_and_goes_is_a_clock_after_three_runs(
    sqlite_store: str, *, with_counters: bool
) -> None:
    """Half of the answers have none. A page may be edited in the run in which it loses one.

    With counters a third of a page differs at each visit; once they are clocks it was not rewritten for that. The
    weather has other words each time, and is known by what stands around it, whether an advertisement does or not.
    """

    def counters() -> str:
        weather = f"{chance.choice(['Sun', 'Rain', 'Snow', 'Fog'])}, {chance.randint(-5, 30)} degrees"
        order = f"Order within {chance.randint(1, 23)} hours and {chance.randint(1, 59)} minutes to have it tomorrow"
        return f"<p>{weather}</p><p>Only {chance.randint(1, 9)} left in stock</p><p>{order}</p>"

    chance = random.Random(7)
    advertisements = ["", *(f"<div><p>{' '.join(words(('advertisement', number), 16))}</p></div>" for number in "ab")]
    texts = [""] * 30
    for run in range(7):
        edited = set(chance.sample(range(30), 3)) if run > 3 else set()
        for number in edited:
            texts[number] += f" edited {run}"
        shown = chance.choices(advertisements, [2, 1, 1], k=30)
        above = [counters() if with_counters else "" for _ in texts]
        beside = [
            of + advertisement + prose(n, 50) for n, (of, advertisement) in enumerate(zip(above, shown, strict=True))
        ]
        pages = {n: short_page(n, beside[n], text=text) for n, text in enumerate(texts)}
        found = await changed_numbers(sqlite_store, run, pages)
        assert edited <= found
        assert run in {1, 2} or len(found - edited) <= (3 if run == 3 else 1)


@on_asyncio
async def test_a_notice_that_some_products_get_or_lose_in_each_run_is_seen(sqlite_store: str) -> None:
    """It says the same on all of them; in a shop of 60 three get it each week, and three lose it."""
    notice = "<div><p>Sold out for now; the next ones are made in autumn, and can be ordered from May on.</p></div>"
    chance, are_sold = random.Random(11), set(range(8))
    for run in range(7):
        gone = set(chance.sample(sorted(are_sold), 3)) if run else set()
        come = set(chance.sample(sorted(set(range(60)) - are_sold), 3)) if run else set()
        are_sold = are_sold - gone | come
        pages = {n: short_page(n, (notice if n in are_sold else "") + prose(n, 90)) for n in range(60)}
        assert await changed_numbers(sqlite_store, run, pages) == gone | come


@on_asyncio
async def test_a_notice_that_a_shop_writes_anew_on_all_its_pages_is_seen_on_each(sqlite_store: str) -> None:
    """Also on the long ones, of which it is no good part: what stands at its place is believed later everywhere."""
    for run in range(3):
        notice = " ".join(words(("notice", run), 16))
        texts = [" ".join(words(("long", number), 200)) if number % 3 == 2 else "" for number in range(30)]
        pages = {number: short_page(number, notice, text=text) for number, text in enumerate(texts)}
        found = await changed_numbers(sqlite_store, run, pages)
        assert found == (set(range(30)) if run else set())


@on_asyncio
async def test_a_site_that_gives_all_its_pages_better_titles_has_edited_each(sqlite_store: str) -> None:
    """One of them gets another one in the next run; a title with a number of its own is a clock after three runs."""

    def guide(number: int, title: str) -> str:
        return f"<title>{title}</title><h1>The pot of {NAMES[number]}</h1>{prose(number, 900)}"

    for run, title in enumerate(["Pots, {}", "All you need for {}", "All you need for {}"]):
        pages = {n: guide(n, "Best of pots" if (n, run) == (4, 2) else title.format(NAMES[n])) for n in range(10)}
        found = await changed_numbers(sqlite_store, run, pages)
        assert found == (set(), set(range(10)), {4})[run]
    for run in range(3, 7):
        pages = {n: guide(n, f"({10 * run + n}) Pots | {NAMES[n]}") for n in range(10)}
        found = await changed_numbers(sqlite_store, run, pages)
    assert not found


@on_asyncio
async def test_prices_that_stand_in_the_data_alone_may_all_rise_on_one_day(sqlite_store: str) -> None:
    def offered(number: int, price: int) -> str:
        data = {"@type": "Product", "name": NAMES[number], "offers": {"price": price, "availability": "InStock"}}
        said = f'<script type="application/ld+json">{json.dumps(data)}</script>'
        return f"<title>{NAMES[number]}</title>{said}<h1>The pot of {NAMES[number]}</h1>{prose(number, 900)}"

    for run in range(4):
        pages = {n: offered(n, 30 + (run > 0) + (run == 3 and n == 7)) for n in range(10)}
        found = await changed_numbers(sqlite_store, run, pages)
        assert found == (set(), set(range(10)), set(), {7})[run]


@on_asyncio
async def test_the_date_of_today_on_each_page_is_a_clock_and_the_date_of_a_meeting_is_none(sqlite_store: str) -> None:
    """No word of a date need be left on the day after, so it is known by what stands around it."""

    def meeting(number: int, today: str, when: str) -> str:
        facts = f"<table><tr><td>When</td><td>{when}</td></tr><tr><td>Where</td><td>Village hall</td></tr></table>"
        top = f"<title>{number}</title><div class=nav>Home</div><div id=today><span>{today}</span></div>"
        return f"{top}<div><h1>Meeting of {NAMES[number]}</h1>{facts}{prose(number, 900)}</div>"

    for run, today in enumerate(("Thursday, 30 April 2026", "Friday, 1 May 2026", "Saturday, 2 May 2026")):
        moved = {3: "Sunday, 7 June"} if run == 2 else {}
        pages = {n: meeting(n, today, moved.get(n, "Monday, 4 May")) for n in range(10)}
        found = await changed_numbers(sqlite_store, run, pages)
    assert found == {3}


@pytest.mark.parametrize("is_sent", [True, False])
@pytest.mark.parametrize("line", ["{number}.{edition} cm", "Found {edition} days after {said}", "{said}"])
@pytest.mark.parametrize("edited", [{0, 1, 3, *range(5, 60, 5)}, {*range(40, 60)}], ids=["here and there", "in a row"])
@on_asyncio
async def test_edits_on_a_few_of_many_static_pages_make_no_clock(
    sqlite_store: str, line: str, is_sent: bool, edited: set[int]
) -> None:
    """What is served from files comes to the byte as it was, or not at all: its places do not change by themselves."""

    def item(number: int, edition: int) -> str:
        told = line.format(number=number, edition=edition, said=sentence((number, edition), 6))
        return f"<title>Vase {number}</title><main><h1>Vase {number}</h1><p>{told}</p>{prose(number, 90)}</main>"

    await changed_numbers(sqlite_store, 0, {n: item(n, 0) for n in range(60)})
    async with NearDuplicateDetector(sqlite_store, run="1", unchanged="drop") as detector:
        for number in range(60):
            url = f"https://site.example/{number}"
            if number in edited:
                assert (await detector.add(item(number, 1), url=url)).kind == "changed"
            elif is_sent:
                assert (await detector.add(item(number, 0), url=url)).kind == "unchanged"
            else:
                await detector.refresh(url=url)


@on_asyncio
async def test_the_first_comment_of_a_page_is_seen_below_its_views(sqlite_store: str) -> None:
    """Before there is a comment, the content alone tells that the template is the same; its counter is another one."""
    for run in range(3):
        pages = {}
        for number in range(9):
            comment = "<div class=comments><p>I was there as well.</p></div>" if (run, number) == (2, 8) else ""
            article = f"<article>{prose(number, 100)}<p>{number * 9 + run} views</p></article>"
            pages[f"https://log.example/{number}"] = article + comment
        kinds = await kinds_of(sqlite_store, run, pages)
    assert kinds == ["unchanged"] * 8 + ["changed"]


@pytest.mark.parametrize("above", [0, 3000])
@on_asyncio
async def test_a_counter_beside_the_name_of_the_author_is_a_clock_and_the_author_is_none(
    sqlite_store: str, above: int
) -> None:
    """The line has other words on each page, so it is known by what stands around it. A price is never known so.

    On a page of so many paragraphs these share rows, and the lines do not.
    """
    kinds = []
    for run in range(3):
        pages = {}
        for number in range(12):
            name = "Zoe" if (run, number) == (2, 10) else f"{NAMES[number % 10]} {sentence(number, 1)[:-1]}"
            price = 900 + number + ((run, number) == (2, 11))
            html = f"<article><h1>{sentence(('day', number), 4)}</h1>{prose((number, 'above'), above)}"
            html += f"<p>By {name}, {number * 9 + run} views</p>"
            html += f"{prose(number, 100)}<p>{name} paid {price} EUR</p></article>"
            pages[f"https://log.example/{number}"] = html
        kinds += await kinds_of(sqlite_store, run, pages)
    assert kinds[12:] == ["changed"] * 5 + ["unchanged"] * 7 + ["unchanged"] * 10 + ["changed"] * 2


@on_asyncio
async def test_a_line_whose_words_change_by_themselves_may_keep_them_and_have_another_number(sqlite_store: str) -> None:
    """A doctor who is recommended at random is the same one as before now and then."""
    for run in range(4):
        pages = {}
        for number in range(40):
            phone = 5500 + number + (run == 3 and number == 9)
            name = sentence((number, 0 if (run, number) == (3, 8) else run), 2)[:-1]
            near = f"<div>Recommended: <b>Dr {name}</b>, {number + run} km away</div>"
            html = f"<title>{number}</title><h3>Dr {sentence(number, 2)}</h3><p>Phone: 030 {phone}</p>"
            pages[number] = f"<div>{html}{prose(number, 60)}{near}</div>"
        found = await changed_numbers(sqlite_store, run, pages)
        if run >= 2:
            assert found == ({9} if run == 3 else set())


@on_asyncio
async def test_the_points_of_those_who_answer_are_clocks_and_an_answer_is_none(sqlite_store: str) -> None:
    """The line below each answer has the words of one of many people, who all get points: what stands around tells."""
    found = []
    for run in range(4):
        pages = {}
        for number in random.Random(run).sample(range(60), 60):
            texts = ""
            for answer in range(1 + number % 3 + (run == 3 and number in {7, 8})):
                by = f"{NAMES[(number + answer) % 10]} {sentence((number, answer), 1)[:-1]}"
                texts += f"<p>{sentence((number, answer), 30)}</p><div>{by} {90 * answer + 7 * run} points</div>"
            html = f"<h1>{sentence(number, 5)}</h1>{prose(number, 90)}<p>Viewed {9 * number + run} times</p>{texts}"
            pages[number] = f"<main>{html}</main>"
        found.append(await changed_numbers(sqlite_store, run, pages))
    assert found[3] == {7, 8}
    assert len(found[2]) <= 1


@on_asyncio
async def test_a_line_that_changes_by_itself_may_have_a_number_now_and_then(sqlite_store: str) -> None:
    """Then it is known by other words, and no word of it is left on the next visit; what is another line is seen."""
    towns = ["Leith", "Perth", "Oban", "Wick"]
    for run in range(4):
        pages = {}
        for number in range(40):
            chance = random.Random(number * 99 + run)
            notice = f"{sentence((number, run), 3)[:-1]}{chance.choice(['', '', '', '', ' of the 1970s'])}"
            room = "Room 7" if (run, number) == (3, 8) else f"Room {100 + number}"
            bell = "" if (run, number) == (3, 9) else "<div>Ring 22 times</div>"
            html = f"<title>{number}</title><div><h1>{sentence(number, 3)}</h1>{prose(number, 90)}"
            html += f"<div>{room}</div>{bell}<div><b>Spotlight</b><div>{notice}</div>"
            html += f"<div>{chance.randint(5, 90)} GBP</div><div>{chance.choice(towns)}</div></div></div>"
            pages[number] = html
        found = await changed_numbers(sqlite_store, run, pages)
    assert found == {0, 8, 9}  # the first page is the last that tells of the amount


@pytest.mark.parametrize("sent", [60, 9])
@on_asyncio
async def test_boxes_in_an_order_of_chance_are_clocks_and_steps_that_changed_places_are_none(
    sqlite_store: str, sent: int
) -> None:
    """No name tells of the column that they stand in. Most pages may come to the byte as they were."""
    boxes = [
        f"<div><h4>{sentence(n, 2)}</h4><p>{sentence((n, 'said'), 9)}</p><p>{n} km away</p></div>" for n in range(6)
    ]
    found = []
    for run in range(4):
        pages = {}
        for number in range(60):
            steps = [f"<li>{sentence((number, step), 6)}</li>" for step in range(5)]
            if run and (run, number) in {(1, 30), (1, 40), (3, 7)}:
                steps[1:3] = reversed(steps[1:3])
            chance = random.Random(number * 9 + (run if number < sent else 0))
            column = "".join(chance.sample(boxes, 6))
            html = f"<div><h1>{sentence(number, 4)}</h1>{prose(number, 900)}<ol>{''.join(steps)}</ol></div>"
            pages[number] = f"<title>{number}</title><div>{html}<div>{column}</div></div>"
        found.append(await changed_numbers(sqlite_store, run, pages))
    assert {30, 40} <= found[1]
    if sent == 60:
        assert len(found[1]) < 12
        assert found[2:] == [{30, 40}, {7}]
    else:
        assert found[3] == {7, *range(sent)}


@on_asyncio
async def test_a_clock_among_nothing_but_lines_with_numbers_is_known_by_how_many_stand_before_it(
    sqlite_store: str,
) -> None:
    """A list of prices, under a headline with a number, and who had a look at it."""
    for run in range(4):
        pages = {}
        for number in range(40):
            names = sentence((number, run), 2)[:-1]
            rows = [f"{sentence((number, row), 2)[:-1]} {100 * row + number} EUR" for row in range(12)]
            rows[4] += " and more" * ((run, number) == (3, 8))
            lines = "".join(
                f"<div>{line}</div>" for line in (f"List {number}", f"Seen by {names} on day {run + 4}", *rows)
            )
            pages[number] = f"<title>List {number}</title><main>{lines}</main>"
        found = await changed_numbers(sqlite_store, run, pages)
    assert found == {8}


@on_asyncio
async def test_a_comment_is_seen_in_the_run_after_a_redesign(sqlite_store: str) -> None:
    """In the run of the redesign nobody can tell a new comment from a line that is parted otherwise."""
    for run in range(4):
        pages = {}
        for number in range(12):
            comments = "".join(
                f"<div class=comment><b>{name}</b><p>{sentence((number, name), 7)}</p></div>"
                for name in NAMES[: number % 3 + ((run, number) in {(3, 3), (3, 4)})]
            )
            html = f"<h1>{sentence(number, 4)}</h1>{prose(number, 300)}<div class=comments>{comments}</div>"
            box = "<main>{}</main>" if run < 2 else "<div><section><article>{}</article></section></div>"
            pages[number] = f"<title>{number}</title>{box.format(html)}"
        assert await changed_numbers(sqlite_store, run, pages) == ({3, 4} if run == 3 else set())


@on_asyncio
async def test_what_a_redesign_puts_beside_the_text_is_still_compared_with_what_it_was(sqlite_store: str) -> None:
    """There it would count no more on a page that had never been seen."""
    kinds = []
    for run, beside in enumerate(("Doors open at noon", "Doors open at noon", "Doors open at one")):
        html = f"<main><h1>The fair</h1>{prose('fair', 900)}<p>{beside}</p></main>"
        if run:
            html = f"<div><section><h1>The fair</h1>{prose('fair', 900)}</section></div>"
            html += f"<aside class=sidebar><p>{beside}</p></aside>"
        kinds += await kinds_of(sqlite_store, run, {"https://fair.example/": f"<title>Fair</title>{html}"})
    assert kinds == ["new", "unchanged", "changed"]


@on_asyncio
async def test_a_page_that_a_notice_alone_makes_long_enough_is_compared_with_itself(sqlite_store: str) -> None:
    """Some answers have the notice and some have not; what the page says is seen in either."""
    kinds = []
    notice = f"<div class=cookie-banner><p>{sentence('cookie', 14)}</p></div>"
    for run, (before, rate) in enumerate([("", 7), (notice, 7), ("", 7), (notice, 8), ("", 9), ("", 9)]):
        async with NearDuplicateDetector(sqlite_store, run=str(run), unchanged="drop") as detector:
            html = f"<title>Rates</title>{before}<main><h1>Rates</h1><p>{sentence('rate', 12)} {rate} cents</p></main>"
            verdict = await detector.add(html, url="https://bank.example/")
            kinds.append((verdict.kind, verdict.is_duplicate))
    kept, dropped = [("changed", False), ("unjudged", False)], ("unchanged", True)
    assert kinds == [("unjudged", False), dropped, dropped, *kept, dropped]
