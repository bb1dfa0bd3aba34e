"""What keeps a repeat on a site that is known: a reader's comment does, another advertisement does not."""

from __future__ import annotations

import itertools

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import words
from scrapy_simdedup import NearDuplicateDetector

PLACES = {
    "<div class=q3><div class=q7>{}</div></div>": "own_text",
    "<div><div class=q3><div><h3>Replies</h3><div class=q7>{}</div></div></div></div>": "own_text",
    "<section><p>{}</p></section>": "own_text",
    "<ol class=comments><li>{}</li></ol>": "own_text",
    "<div class=ad-slot><p>{}</p></div>": None,
    "<aside><div class=x3f9><p>{}</p></div></aside>": None,
    "<div class=sidebar><p>{}</p></div>": None,
    "<div class=related-posts><p>{}</p></div>": None,
}


def said(about: object, count: int) -> str:
    return " ".join(words(about, count))


def article(number: int, around: str) -> str:
    text = "".join(f"<p>{said((number, part), 60)}</p>" for part in range(8))
    title = said((number, "title"), 4)
    return f"<title>{title}</title><div class=q1><div class=q2><h1>{title}</h1>{text}</div></div>{around}<p>Imprint</p>"


@pytest.mark.parametrize("place", PLACES)
@on_asyncio
async def test_a_text_that_only_this_page_has_keeps_it_unless_its_box_says_that_it_is_nobodys(place: str) -> None:
    """Each fetch brings another text of forty words; no names are needed to see that it may be a comment."""
    async with NearDuplicateDetector(secret="known") as detector:
        for number in range(8):
            await detector.add(article(number, place.format(said(number, 40))), url=f"https://blog.example/{number}")
        again = article(3, place.format(said("once more", 40)))
        verdict = await detector.add(again, url="https://blog.example/3?from=home")
    assert verdict.reason == PLACES[place]
    assert verdict.is_duplicate is (PLACES[place] is None)


@on_asyncio
async def test_pages_of_comments_on_one_article_are_kept_where_nothing_else_is_known_of_the_site() -> None:
    """What is called a comment is one, however little is known of the site; a text without such a name may be an ad."""
    page = "<ol class=comments>{}</ol><footer><p>{}</p></footer>"
    async with NearDuplicateDetector(secret="known") as detector:
        for number in range(4):
            comments = "".join(f"<li><p>{said(('reader', number, part), 30)}</p></li>" for part in range(3))
            html = article(3, page.format(comments, said(("quote of the day", number), 30)))
            verdict = await detector.add(html, url=f"https://blog.example/3?comments={number}")
            assert (verdict.kind, verdict.reason) == (("near", "own_text") if number else ("new", None))
        again = article(3, page.format(comments, said("another quote", 30)))
        assert (await detector.add(again, url="https://blog.example/3?from=home")).is_duplicate


@on_asyncio
async def test_of_pages_with_one_new_text_that_are_fetched_at_once_the_second_waits_for_the_first() -> None:
    """Both lack the text in what was delivered, and each has that of the other."""
    comment = f"<section><p>{said('a comment', 40)}</p></section>"
    blog = "https://blog.example"
    async with NearDuplicateDetector(secret="known") as detector:
        for number in range(8):
            await detector.add(article(number, ""), url=f"{blog}/{number}")
        first = await detector.judge(article(3, comment), url=f"{blog}/3?reply=1")
        second = await detector.judge(article(3, comment), url=f"{blog}/3?reply=2")
        assert first.reason == "own_text"
        assert (first.page, second.page) == (second.pending, None)
        assert first.page is not None
        await detector.confirm(first.page)
        again = await detector.judge(article(3, comment), url=f"{blog}/3?reply=2")
        assert again.is_duplicate
        other = f"<section><p>{said('another comment', 40)}</p></section>"
        third = await detector.judge(article(3, other), url=f"{blog}/3?reply=3")
        assert third.reason == "own_text"


@on_asyncio
async def test_a_page_whose_new_text_was_not_delivered_after_all_gives_its_own() -> None:
    comment = f"<section><p>{said('a comment', 40)}</p></section>"
    async with NearDuplicateDetector(secret="known") as detector:
        for number in range(8):
            await detector.add(article(number, ""), url=f"https://blog.example/{number}")
        first = await detector.judge(article(3, comment), url="https://blog.example/3?reply=1")
        assert first.page is not None
        await detector.release(first.page)
        again = await detector.judge(article(3, comment), url="https://blog.example/3?reply=2")
        assert again.reason == "own_text"


NAMES = {
    "a name": "<b>{name}</b>",
    "a name before a price": "<div><b>{name}</b><span>{number} EUR</span></div>",
    "a name with a number": "<p>Model {name} {number}</p>",
    "a name below the text": "<p></p><i>{name}</i>",
    "a table": "<table><tr><td>Street<td>{name} {number}<tr><td>Rooms<td>{number}</table>",
}
HEADS = {
    "one title": "<title>Shop</title>",
    "no title": "",
    "one title and one h1": "<title>Shop</title><h1>Shop</h1>",
    "titles and one h1": "<title>{name}</title><h1>Shop</h1>",
}
DESCRIPTION = f"<p>{said('description', 60)}</p>"


@pytest.mark.parametrize("place", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@on_asyncio
async def test_a_name_of_a_few_words_keeps_each_of_many_products_where_headlines_say_nothing(
    head: str, place: str
) -> None:
    """A shop gives all its products one description, and all its pages one headline."""
    async with NearDuplicateDetector(secret="shop") as detector:
        for number in range(6):
            home = head.format(name=f"Department {said(number, 2)}") + f"<p>{said(('department', number), 80)}</p>"
            await detector.add(home, url=f"https://shop.example/{number}")
        kinds = []
        for number in range(30):
            line = place.format(name=said(("name", number), 3), number=19 + number)
            page = head.format(name=said(("name", number), 3)) + line + DESCRIPTION
            kinds.append(await detector.add(page, url=f"https://shop.example/products/{number}"))
            again = await detector.add(page, url=f"https://shop.example/products/{number}?session={number}")
            assert again.is_duplicate
    assert [verdict.is_duplicate for verdict in kinds] == [False] * 30
    assert {verdict.reason for verdict in kinds[1:]} <= {"own_text", None}


@pytest.mark.parametrize("title", ["Product details | Shop", ""])
@pytest.mark.parametrize("line", ["{name}", "Tool 3.{number}"])
@on_asyncio
async def test_a_headline_that_all_products_have_and_no_other_page_vouches_for_none_of_them(
    line: str, title: str
) -> None:
    """Most of them are kept, as their links differ, and a few are alike enough to be dropped."""
    async with NearDuplicateDetector(secret="shop") as detector:
        for number in range(6):
            name, text = said((number, "department"), 3), said((number, "text"), 60 + 20 * number)
            await detector.add(f"<title>{name}</title><h1>{name}</h1><p>{text}", url=f"https://shop.example/{number}")
        verdicts = []
        for number in range(60):
            links = "".join(f"<p><a href=/{at}>{said((number, 'link', at), 4)}</a></p>" for at in range(4))
            first = line.format(name=said(("name", number), 3), number=number)
            text = f"<p>{first}</p><p>{said('all', 40)}</p>{links}"
            page = f"<title>{title}</title><h1>Product details</h1>{text}"
            verdicts.append(await detector.add(page, url=f"https://shop.example/products/{number}"))
            again = await detector.add(page, url=f"https://shop.example/products/{number}?session={number}")
            assert again.is_duplicate
    reasons = [verdict.reason for verdict in verdicts]
    assert reasons.count("own_text") > 5
    assert not any(verdict.is_duplicate for verdict in verdicts[reasons.index("own_text") :])


THREE = "<dl><dt>Height<dd>{0} cm<dt>Year<dd>around 1{1}<dt>Lot<dd>No {2}</dl>"
SHEETS = {
    "three numbers": (THREE, "Vase", "Vase"),
    "three numbers below other titles": (THREE, "Auction", "{name}"),
    "two numbers": ("<dl><dt>Height<dd>{0} cm<dt>Year<dd>around 1{1}</dl>", "Vase", "Vase"),
    "a counter": ("<p>Text</p><p>Seen {0} times</p>", "Vase", "Vase"),
}
"""The lines of an object, its h1 and its title."""


def sheet(number: int, material: int, *, kind: str) -> str:
    lines, h1, title = SHEETS[kind]
    head = f"<title>{title}</title><h1>{h1}</h1>".format(name=said(("title", number), 2))
    numbers = lines.format(*((number * step + step) % 89 + 10 for step in (7, 11, 13)))
    facts = f"<p>Made of {said(material, 2)}</p><p>Found near {said(material, 3)}</p>"
    return f"{head}<p>{said('terms', 60)}</p>{numbers}{facts}"


@pytest.mark.parametrize("kind", SHEETS)
@on_asyncio
async def test_numbers_are_facts_where_pages_of_one_headline_were_kept_with_others(kind: str) -> None:
    """A catalogue has many vases, of which most are told from another by their material, and some by numbers alone."""
    async with NearDuplicateDetector(secret="vases") as detector:
        for number in range(6):
            department = f"<title>{said(number, 3)}</title><p>{said(number, 60)}</p>"
            await detector.add(department, url=f"https://sales.example/{number}")
        are_lost = []
        for number in range(9):
            page, url = sheet(number, min(number, 5), kind=kind), f"https://sales.example/objects/{number}"
            are_lost.append((await detector.add(page, url=url)).is_duplicate)
            assert (await detector.add(page, url=f"{url}?from=list")).is_duplicate
    assert are_lost == [False] * 6 + [kind == "a counter"] * 3


@on_asyncio
async def test_counters_are_no_facts_of_a_page_whose_url_says_that_it_is_known() -> None:
    """The pages of a thread have one headline, and counters that went up whenever one of them is fetched."""
    counts = itertools.count(800)

    def part(thread: int, number: int) -> str:
        counters = "".join(f"<p>{name} {next(counts)}</p>" for name in ("Views", "Readers online", "Votes", "Shares"))
        head = f"<title>Thread {thread}</title><h1>About {said(('name', thread), 3)}</h1>{counters}"
        return f"{head}<p>{said(('first post', thread), 400)}</p><p>{said((thread, number), 40)}</p>"

    def url_of(thread: int, number: int) -> str:
        return f"https://forum.example/thread?id={thread}&page={number}"

    parts = list(itertools.product(range(6), range(4)))
    async with NearDuplicateDetector(secret="thread") as detector:
        for one in parts:
            assert not (await detector.add(part(*one), url=f"{url_of(*one)}&sid=1")).is_duplicate
        for one, more in itertools.product(parts, ("", "&from=home", "&sid=2")):
            again = await detector.add(part(*one), url=url_of(*one) + more)
            assert (again.is_duplicate, again.is_doubtful) == (True, False)


@pytest.mark.parametrize("kind", SHEETS)
@on_asyncio
async def test_numbers_are_doubtful_before_pages_of_one_headline_were_kept_with_others(kind: str) -> None:
    """The crawl judges these once more at its end; of two numbers one page alone raises no doubt, as of clocks."""
    async with NearDuplicateDetector(secret="vases") as detector:
        for number in range(6):
            department = f"<title>{said(number, 3)}</title><p>{said(number, 60)}</p>"
            await detector.add(department, url=f"https://sales.example/{number}")
        await detector.add(sheet(0, 0, kind=kind), url="https://sales.example/objects/0")
        early = await detector.add(sheet(1, 0, kind=kind), url="https://sales.example/objects/1")
        await detector.add(sheet(2, 1, kind=kind), url="https://sales.example/objects/2")
        later = await detector.add(sheet(3, 1, kind=kind), url="https://sales.example/objects/3")
    assert early.is_duplicate
    assert later.is_duplicate
    assert early.is_doubtful == kind.startswith("three")
    assert later.is_doubtful == (kind != "a counter")


NUMBERED = {
    "a number in the name": ("<div>Storm {number}</div>", False),
    "a number in a linked heading": ("<p>Pictures</p><h2><a href=/{number}>Storm {number}</a></h2>", False),
    "rooms, a floor and a price": (
        "<dl><dt>Rooms<dd>{number}<dt>Floor<dd>{number}<dt>Price<dd>{number} EUR</dl>",
        False,
    ),
    "a counter below a name": ("<h3>Pictures</h3><p>Seen {number} times</p>", True),
    "a clock in the first line": ("<p>12:{number}:00</p>", True),
    "a counter and a clock": ("<h3>Pictures</h3><p>Seen {number} times</p><p>It is 12:{number} now</p>", True),
}


@pytest.mark.parametrize("head", ["<title>Archive</title>", "<title>Archive</title><h1>Archive</h1>"])
@pytest.mark.parametrize("place", NUMBERED)
@on_asyncio
async def test_three_numbers_or_one_in_a_name_keep_a_page_where_headlines_say_nothing(place: str, head: str) -> None:
    """A counter and a clock are told from a name by their place alone; below an h1 of the site it is not the first."""
    line, is_dropped = NUMBERED[place]
    is_dropped = is_dropped or ("h1" in head and "a number in" in place)
    async with NearDuplicateDetector(secret="numbers") as detector:
        for number in range(8):
            await detector.add(head + f"<p>{said(number, 80)}</p>", url=f"https://archive.example/about/{number}")
        for number in (17, 31, 42):
            page = head + line.format(number=number) + DESCRIPTION
            verdict = await detector.add(page, url=f"https://archive.example/{number}")
            assert verdict.is_duplicate is (is_dropped and number > 17)


RELEASES = {
    "releases": ("<h2>Tools 3.{number}</h2><p>Tools 3.{number} mends a fault in 2.{number}.</p>", False),
    "a counter": ("<h2>Tools</h2><p>Seen {number} times</p>", True),
}


@pytest.mark.parametrize("release", RELEASES)
@on_asyncio
async def test_another_title_below_an_h1_of_the_site_is_one_of_three_numbers(release: str) -> None:
    """The notes of two releases that mend one fault: the h1 names the manual, and only numbers tell them apart."""
    line, is_dropped = RELEASES[release]
    async with NearDuplicateDetector(secret="releases") as detector:
        for number in range(8):
            head = f"<title>{said(('about', number), 3)}</title><h1>Tools 3.2 manual</h1>"
            await detector.add(f"{head}<p>{said(number, 80)}</p>", url=f"https://tools.example/{number}")
        for number in (17, 31, 42):
            head = f"<title>Tools 3.{number} | Tools 3.2 manual</title><h1>Tools 3.2 manual</h1>"
            page = head + line.format(number=number) + DESCRIPTION
            verdict = await detector.add(page, url=f"https://tools.example/3.{number}")
            again = await detector.add(page + "<!---->", url=f"https://tools.example/3.{number}?print")
            assert (verdict.is_duplicate, again.is_duplicate) == (is_dropped and number > 17, True)


@pytest.mark.parametrize(("names", "is_dropped"), [(1, True), (6, False)])
@pytest.mark.parametrize("title", ["Source code", "{}"])
@on_asyncio
async def test_names_in_one_long_text_keep_a_page_where_headlines_say_nothing(
    title: str, names: int, *, is_dropped: bool
) -> None:
    """Sources that a generator made of one template differ in a type here and there, and all of it is one text."""
    is_dropped = is_dropped or title == "{}"

    def source(kind: str) -> str:
        parts = [said(("source", part), 30) + (f" {kind}Function" if part < names else "") for part in range(10)]
        text = "\n".join(parts)
        return f"<title>{title.format('sources')}</title><pre>{text}</pre>"

    async with NearDuplicateDetector(secret="sources") as detector:
        for number in range(8):
            page = f"<title>{title.format(said((number, 'title'), 2))}</title><pre>{said(number, 300)}</pre>"
            await detector.add(page, url=f"https://java.example/about/{number}")
        kept = [
            await detector.add(source(kind), url=f"https://java.example/{kind}") for kind in ("Int", "Long", "Double")
        ]
        again = await detector.add(source("Long") + "<!---->", url="https://java.example/Long?print")
    assert [verdict.is_duplicate for verdict in kept] == [False, is_dropped, is_dropped]
    assert again.is_duplicate


@pytest.mark.parametrize("is_own", [True, False])
@on_asyncio
async def test_the_address_from_which_a_page_was_printed_is_no_text_of_its_own(*, is_own: bool) -> None:
    """It has as many words as the URL of the page has; that of another page is a text like any."""
    path = "/".join(f"{part}-{said(part, 5).replace(' ', '-')}" for part in range(4))
    shown = f"https://press.example/{path}" if is_own else f"https://press.example/2/{path}"
    async with NearDuplicateDetector(secret="print") as detector:
        for number in range(8):
            await detector.add(article(number, ""), url=f"https://press.example/{number}")
        await detector.add(article(9, ""), url=f"https://press.example/{path}")
        printed = article(9, f"<p>Printed from {shown} on 26 November</p>")
        verdict = await detector.add(printed, url="https://press.example/print?id=9")
    assert verdict.is_duplicate is is_own


@pytest.mark.parametrize("line", ["{} list of members", "It is 12:{} now"])
@pytest.mark.parametrize("title", ["Members", "{}"])
@on_asyncio
async def test_two_names_in_a_long_list_keep_a_page_where_headlines_say_nothing(title: str, line: str) -> None:
    """A record of so many lines does not tell which of them stands in place of which; a clock is no name."""
    is_dropped = title == "{}" or "12:" in line
    names = ["17", "31"] if "12:" in line else [" ".join(words(name, 2)) for name in ("map", "set")]

    def members(name: str, title: str = title.format("members")) -> str:
        rows = [f"<tr><td>{said(('member', row), 3)}" for row in range(300)]
        own = [f"<tr><td>{said(('maker', row), 2)} {line.format(name)}" for row in range(2)]
        return f"<title>{title}</title><table>{''.join([*rows[:150], *own, *rows[150:]])}</table>"

    async with NearDuplicateDetector(secret="members") as detector:
        for number in range(8):
            page = f"<title>{title.format(said((number, 'title'), 2))}</title><p>{said(number, 300)}</p>"
            await detector.add(page, url=f"https://docs.example/about/{number}")
        kept = [await detector.add(members(name), url=f"https://docs.example/{at}") for at, name in enumerate(names)]
        again = await detector.add(members(names[1]) + "<!---->", url="https://docs.example/again")
    assert [verdict.is_duplicate for verdict in [*kept, again]] == [False, is_dropped, True]


LINES = {
    "a clock": "<p>Seen {number} times since {number} o'clock</p>",
    "a greeting": "<p>Good {name}, dear guest</p>",
    "a form that names whom it answers": "<div><p>Leave a reply to {name}</p><p>Cancel</p></div>",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@on_asyncio
async def test_another_line_keeps_no_page_whose_headline_is_its_own(line: str) -> None:
    """The h1 vouches that it is the same article, and the title where there is no h1."""
    async with NearDuplicateDetector(secret="blog") as detector:
        for h1 in ("<h1>{}</h1>", "<p>{}</p>"):
            for number in range(8):
                name = said(("article", number), 4)
                text = f"<title>{name}</title>{h1.format(name)}<p>{said((h1, number), 400)}</p>"
                for visit in range(4):
                    page = text + line.format(name=said((h1, number, visit), 1), number=700 + 9 * number + visit)
                    verdict = await detector.add(page, url=f"https://blog.example/{len(h1)}/{number}?from={visit}")
                    assert verdict.is_duplicate is (visit > 0)


LINES = {"code": "<div class=line>{}</div>", "a poem": "{}<br>", "a glossary": "<dd>{}</dd>", "a table": "<tr><td>{}"}
NEW_LINES = {
    "ten lines": ([said(("new", line), 5) for line in range(10)], False),
    "three lines": ([said(("new", line), 5) for line in range(3)], True),
    "ten counters": ([f"{line}7 {line}.03" for line in range(10)], True),
}


@pytest.mark.parametrize("editions", [1, 3])
@on_asyncio
async def test_a_paragraph_keeps_a_chapter_of_twelve_thousand_words(editions: int) -> None:
    """The records of such pages tell of some four of its shingles, by lot, whether they are there."""
    paragraphs, kept = [f"<p>{said(number, 40)}" for number in range(300)], []

    def chapter(*own: str) -> str:
        return f"<title>Installing</title><h1>Installing</h1>{''.join([*paragraphs[:200], *own, *paragraphs[200:]])}"

    for secret in range(10):
        async with NearDuplicateDetector(secret=f"edition {secret}") as detector:
            for edition in range(editions):
                own = [f"<p>{said((edition, part), 40)}" for part in range(8 * edition)]
                await detector.add(chapter(*own), url=f"https://docs.example/{edition}/install")
            page = chapter(f"<p>{said('s390', 40)}")
            kept.append((await detector.add(page, url="https://docs.example/s390/install")).reason == "own_text")
            again = await detector.add(page, url="https://docs.example/print/s390/install")
            assert again.is_duplicate
    assert sum(kept) >= 8


@pytest.mark.parametrize("shape", LINES)
@pytest.mark.parametrize("added", NEW_LINES)
@on_asyncio
async def test_lines_that_are_blocks_of_their_own_are_one_text_together(shape: str, added: str) -> None:
    """A function that came to a file is lost with its lines, of which none is long."""
    new, is_dropped = NEW_LINES[added]
    known = [said(line, 5) for line in range(300)]

    def source(lines: list[str]) -> str:
        text = "".join(LINES[shape].format(line) for line in lines)
        return f"<title>tides.py</title><h1>tides.py</h1>{'<table>' * (shape == 'a table')}{text}"

    async with NearDuplicateDetector(secret="lines") as detector:
        await detector.add(source(known), url="https://git.example/tides?h=1")
        verdict = await detector.add(source([*known[:200], *new, *known[200:]]), url="https://git.example/tides?h=2")
        again = await detector.add(source([*known[:200], *new, *known[200:]]), url="https://git.example/tides?h=3")
    assert verdict.is_duplicate is is_dropped
    assert verdict.reason == (None if is_dropped else "own_text")
    assert again.is_duplicate


ENTRIES = {
    "a thread": "<li><div>wrote on this board, last edited</div><p>{}</p><div>Reply to this post</div></li>",
    "a table": "<tr><td>Reported from the valley<td>{}<td>Not yet closed</tr>",
}


@pytest.mark.parametrize("entry", ENTRIES)
@on_asyncio
async def test_entries_of_a_list_are_one_text_together_though_each_has_what_all_have(entry: str) -> None:
    """A forum shows a thread from the post on that was asked for; the first posts say something without being long."""
    posts = [said(("post", number), (4, 9, 14, 30)[number % 4]) for number in range(4, 30)]
    first = [said(("first", number), 12) for number in range(4)]
    missing = {"old": [], "new": first}

    def thread(posts: list[str]) -> str:
        shape = "<table>{}</table>" if entry == "a table" else "<ul>{}</ul>"
        list_ = shape.format("".join(ENTRIES[entry].format(post) for post in posts))
        return f"<title>Mist in June</title><main><h1>Mist in June</h1>{list_}</main>"

    async with NearDuplicateDetector(secret="entries") as detector:
        for number in range(8):
            await detector.add(article(number, ""), url=f"https://forum.example/{number}")
        await detector.add(thread(posts), url="https://forum.example/mist/29")
        for which, before in missing.items():
            verdict = await detector.add(thread([*before, *posts]), url=f"https://forum.example/mist?{which}")
            assert verdict.reason == ("own_text" if before else None)
            assert verdict.is_duplicate is not bool(before)


@on_asyncio
async def test_lines_that_also_stand_on_other_pages_of_the_site_are_nobodys() -> None:
    """Such as a list of the members who are here, which is another one each hour."""
    here = ["".join(f"<li>{said((hour, member), 2)}" for member in range(20)) for hour in range(2)]
    async with NearDuplicateDetector(secret="lines") as detector:
        for number in range(12):
            around = f"<div><ul>{here[number > 5]}</ul></div>"
            await detector.add(article(number, around), url=f"https://forum.example/{number}")
        again = await detector.add(
            article(1, f"<div><ul>{here[1]}</ul></div>"), url="https://forum.example/1?from=home"
        )
    assert again.is_duplicate


def picture(name: str, greeting: str) -> str:
    """A page of an album, whose title and description are those of all its pictures."""
    album = f"<title>Autumn by the sea</title><h2>{name}</h2><img src={name}><p>{said('autumn', 80)}</p>"
    return f"{album}<p>{greeting}</p><p>Taken at the old harbour</p>"


@pytest.mark.parametrize("names", [["Beach at dusk", "Storm", "An old pier"], ["IMG_0007", "IMG_0012", "IMG_0031"]])
@on_asyncio
async def test_a_title_is_that_of_an_album_where_the_content_begins_with_another_name(names: list[str]) -> None:
    """A greeting further down is no name, so the same picture under another one is a repeat."""
    async with NearDuplicateDetector(secret="known") as detector:
        for number in range(8):
            await detector.add(article(number, ""), url=f"https://photos.example/{number}")
        kept = [
            await detector.add(picture(name, "Good morning"), url=f"https://photos.example/autumn/{name}")
            for name in names
        ]
        again = await detector.add(picture(names[1], "Good evening"), url="https://photos.example/latest")
    assert [verdict.is_duplicate for verdict in kept] == [False, False, False]
    assert again.is_duplicate


@on_asyncio
async def test_the_name_of_one_page_and_the_town_of_another_are_a_page_of_their_own() -> None:
    """Small advertisements with one title: each name and each town is known, but not what is sold where."""

    def offer(name: str, town: str) -> str:
        facts = f"<table><tr><td>{name}</td></tr><tr><td>{town}</td></tr></table>"
        return f"<title>For sale</title>{facts}<p>{said('collect', 60)}</p>"

    sold = [(name, town) for name in ("Pram", "Desk", "Tent") for town in ("Marsham", "Thornby", "Dunmere")]
    async with NearDuplicateDetector(secret="offers") as detector:
        kept = [await detector.add(offer(*one), url=f"https://shop.example/{at}") for at, one in enumerate(sold)]
        again = [await detector.add(offer(*one) + "<!---->", url=f"https://shop.example/{one}") for one in sold]
    assert not any(verdict.is_duplicate for verdict in kept)
    assert all(verdict.is_duplicate for verdict in again)
