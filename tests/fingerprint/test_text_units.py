"""Text units: what a record keeps of a page's blocks, and what it can say about another page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import pages
from scrapy_simdedup import PageFingerprint, fingerprint_page
from scrapy_simdedup.detect.site_novelty import differs_unseen
from scrapy_simdedup.fingerprint.novelty import longest_own_text
from scrapy_simdedup.fingerprint.text_units import LAST_UNITS, MAX_BYTES, TextUnits, keep_units
from scrapy_simdedup.fingerprint.unit_changes import UnitChanges, compare_units
from scrapy_simdedup.fingerprint.worker import read_fingerprint, read_units, write_units
from scrapy_simdedup.page.amounts import without_age

PARAGRAPHS = [" ".join(pages.words(("paragraph", number), 30)) for number in range(12)]
OWN = " ".join(pages.words("own", 30))


def page(texts: list[str], *, around: str = "", h1: str = "Tides", wrap: str = "{}") -> PageFingerprint:
    said = wrap.format("".join(f"<p>{text}</p>" for text in texts))
    return fingerprint_page(f"<title>Tides</title>{around}<main><h1>{h1}</h1>{said}</main>")


def changes(before: PageFingerprint, now: PageFingerprint) -> UnitChanges:
    assert before.units is not None
    assert now.page_units is not None
    return compare_units(now.page_units, before.units).changes


def own(now: PageFingerprint, *kept: PageFingerprint) -> int:
    assert now.page_units is not None
    units = [other.units for other in kept if other.units is not None]
    return longest_own_text(now.page_units, units, now.page_units.of_content)


BEFORE = page(PARAGRAPHS)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (PARAGRAPHS, UnitChanges()),
        ([*PARAGRAPHS, OWN], UnitChanges(added=1)),
        (PARAGRAPHS[1:], UnitChanges(removed=1)),
        ([PARAGRAPHS[0] + " otherwise", *PARAGRAPHS[1:]], UnitChanges(edited=1)),
        ([PARAGRAPHS[1], PARAGRAPHS[0], *PARAGRAPHS[2:]], UnitChanges(reordered=2)),
    ],
    ids=["the same", "a paragraph more", "a paragraph less", "a word more", "two that changed places"],
)
def test_what_changed_is_told_by_units(texts: list[str], expected: UnitChanges) -> None:
    now = page(texts)
    found = changes(BEFORE, now)
    if expected.removed:  # those behind it are at another place now
        assert (found.removed, found.added) >= (1, 0)
        assert found
    else:
        assert found == expected


@pytest.mark.parametrize(("before", "now"), [("29 EUR", "39 EUR"), ("29 EUR", "sold out"), ("7 of 9", "8 of 9")])
def test_numbers_and_single_words_count(before: str, now: str) -> None:
    """A price that rose is a change, however long the page."""
    assert changes(page([*PARAGRAPHS, before]), page([*PARAGRAPHS, now]))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("It costs 29 $", "It costs 29 €"),
        ("-5 °C on Monday", "5 °C on Monday"),
        ("Grade: A-", "Grade: A"),
        ("if size >= 3:", "if size <= 3:"),
        ("if size == 3:", "if size != 3:"),
        ("sum = one + two", "sum = one - two"),
        ("You save 5 %", "You save 5"),
        ("Our mark: ★★★", "Our mark: ★★"),
        ("Login 🟢", "Login 🔴"),
    ],
)
@pytest.mark.parametrize("parted", [False, True])
def test_signs_that_say_something_count(before: str, now: str, parted: bool) -> None:
    """Also where they stand alone in a box; in whatever kind of sign a number has its minus."""
    texts = [f"<div>{'</div><div>'.join(text.split())}</div>" if parted else text for text in (before, now)]
    assert changes(page([*PARAGRAPHS, texts[0]]), page([*PARAGRAPHS, texts[1]]))
    assert not changes(page([*PARAGRAPHS, texts[0]]), page([*PARAGRAPHS, texts[0].replace("-5", "\u22125")]))


def test_signs_that_part_or_decorate_texts_do_not_count() -> None:
    """A new template has others."""
    before = "By Ann Lee | 3 May | 2-4 pm – “free” – Home > News", "A dash - and 10-12 of them", "Close ×"
    now = 'By Ann Lee · 3 May • 2–4 pm — "free" — Home » News →', "A dash – and 10–12 of them", "Close"
    assert not changes(page([*PARAGRAPHS, *before]), page([*PARAGRAPHS, *now]))


def test_a_number_that_a_counter_showed_as_well_is_still_there() -> None:
    """Two sold and two in stock: when one more is sold, the two in stock did not change."""
    stock = "{}<table><tr><td>2</td></tr></table>"
    before, now = (page([*PARAGRAPHS, sold], wrap=stock) for sold in "23")
    assert before.units is not None
    assert now.page_units is not None
    seen = compare_units(now.page_units, before.units)
    (sold,) = seen.edited_places
    assert seen.changes == UnitChanges(edited=1)
    assert not compare_units(now.page_units, before.units, {sold}).changes


def test_what_stands_around_the_content_does_not_count() -> None:
    """Nor do the boxes around a text, or the names of classes."""
    around = f"<nav><a href=/>Home</a></nav><div class=advertisement>{OWN}</div>"
    assert not changes(BEFORE, page(PARAGRAPHS, around=around))
    assert not changes(BEFORE, page(PARAGRAPHS, wrap="<div class=x7f><div>{}</div></div>"))


@pytest.mark.parametrize("count", [1, 60, 400])
def test_of_a_page_of_any_length_a_changed_number_is_seen(count: int) -> None:
    """In 400 bytes, for which neighbours share a row."""
    texts = [" ".join(pages.words(number, 25)) for number in range(count)]
    before, now = page([*texts, "It costs 29 crowns"]), page([*texts, "It costs 31 crowns"])
    assert before.units is not None
    assert len(bytes(before.units)) <= MAX_BYTES
    assert changes(before, now)
    assert not changes(before, page([*texts, "It costs 29 crowns"]))


def test_a_page_has_words_of_its_own_in_one_direction_alone() -> None:
    """Resemblance is symmetric, loss is not."""
    longer = page([*PARAGRAPHS, OWN])
    assert own(longer, BEFORE) == 30
    assert own(BEFORE, longer) == 0
    assert longer.compare(BEFORE).kind == "near"
    assert BEFORE.compare(longer).kind == "identical"
    assert longer.compare(BEFORE, novel_words=None).kind == "identical"


def test_a_page_with_a_text_of_its_own_is_near_wherever_the_thresholds_are() -> None:
    """Also where there is nothing between them."""
    longer = page([*PARAGRAPHS, OWN])
    for near in (0.85, 0.95):
        assert longer.compare(BEFORE, identical=0.95, near=near).kind == "near"
        assert longer.compare(BEFORE, identical=0.95, near=near).similarity < 0.95


def test_what_several_pages_have_together_is_nobodys_own() -> None:
    other = page([OWN, *PARAGRAPHS[6:]])
    assert own(page([*PARAGRAPHS, OWN]), BEFORE, other) == 0


@pytest.mark.parametrize("kept", [1, 8, 60])
def test_a_text_is_a_page_s_own_on_however_many_pages_it_is_looked_up(kept: int) -> None:
    """All their filters together seem to hold it. What one of the pages says is nobody's own, whichever it is."""
    others = [page([*PARAGRAPHS, " ".join(pages.words(number, 30))]) for number in range(kept)]
    assert own(page([*PARAGRAPHS, OWN]), *others) >= 20
    for known in (others[0], others[-1]):
        assert own(known, *others) == 0


def test_another_word_here_and_there_is_no_text_of_its_own() -> None:
    mended = [text.replace(text.split()[5], "otherwise") for text in PARAGRAPHS]
    assert own(page(mended), BEFORE) <= 20


def test_a_consent_notice_and_a_list_of_links_are_nobodys_own() -> None:
    notice = f"<div class=cookie-notice>{OWN}</div>"
    links = "<ul>" + "".join(f"<li><a href=/{word}>{word} {word}s and {word}ed</a>" for word in OWN.split()) + "</ul>"
    for around in (notice, links):
        units = page(PARAGRAPHS, around=around).page_units
        assert units is not None
        assert BEFORE.units is not None
        assert longest_own_text(units, [BEFORE.units], ~units.pass_over) == 0


@pytest.mark.parametrize("tag", ["aside", "footer", "div class=widget"])
def test_prices_that_are_links_beside_the_text_are_those_of_other_things(tag: str) -> None:
    """A list of what was viewed before is another one at each visit, though the whole page stands in one main part."""
    text = f"<h1>Chair</h1>{''.join(f'<p>{text}</p>' for text in PARAGRAPHS)}"

    def chair(price: int, *others: str) -> PageFingerprint:
        cards = "".join(f"<li><a href=/{other}>A {other} of oak</a> {10 * len(other)} EUR</li>" for other in others)
        return fingerprint_page(f"<main>{text}<{tag}><p>Price: {price} EUR</p><ul>{cards}</ul></{tag}></main>")

    assert not changes(chair(90, "lamp", "table"), chair(90, "kettle", "shelf"))
    assert changes(chair(90, "lamp", "table"), chair(95, "lamp", "table"))


@pytest.mark.parametrize("tag", ["aside", "footer", "div class=widget"])
def test_the_price_of_one_thing_that_was_viewed_before_is_not_the_page_s(tag: str) -> None:
    text = f"<h1>Chair</h1>{''.join(f'<p>{text}</p>' for text in PARAGRAPHS)}"
    before, now = (
        fingerprint_page(
            f"<main>{text}<{tag}><h3>Recently viewed</h3><ul><li><a href=/x>{said}</a></li></ul></{tag}></main>"
        )
        for said in ("A lamp 29 EUR", "A kettle 31 EUR")
    )
    assert not changes(before, now)


@pytest.mark.parametrize("tag", ["aside", "footer", "div class=widget"])
def test_the_price_of_one_link_beside_the_text_is_the_page_s(tag: str) -> None:
    text = f"<h1>Chair</h1>{''.join(f'<p>{text}</p>' for text in PARAGRAPHS)}"
    before, now = (
        fingerprint_page(f"<main>{text}<{tag}><a href=/buy>Buy it for {price} EUR</a></{tag}></main>")
        for price in (90, 95)
    )
    assert changes(before, now)


def test_a_headline_is_no_list_of_links_though_it_is_a_link() -> None:
    """In many templates it leads to its own page. A heading further down that is a link leads to another page."""

    def linked(headline: str, other: str) -> PageFingerprint:
        heading = "<h2><a href=/>{}</a></h2>"
        texts = "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
        html = f"<title>Pictures</title><main>{heading.format(headline)}{texts}{heading.format(other)}</main>"
        return fingerprint_page(html)

    before = linked("A boat at sunset", "Gulls")
    assert changes(before, linked("A boat at dawn", "Gulls"))
    assert not changes(before, linked("A boat at sunset", "Waves"))


def test_a_page_of_links_is_compared_by_them() -> None:
    """Else a list would never change."""
    items = [f"<li><a href=/{n}>{' '.join(pages.words(n, 6))}</a>" for n in range(20)]
    before, now = (fingerprint_page(f"<main><h1>News</h1><ul>{''.join(some)}</ul>") for some in (items[:-1], items))
    assert changes(before, now)


@given(st.lists(st.text("abc d1\n€$", max_size=200), max_size=20))
def test_units_survive_their_bytes(texts: list[str]) -> None:
    """In records, and between a worker process and the crawl."""
    made = fingerprint_page("".join(f"<p>{text}</p>" for text in texts), min_words=1)
    if made.units is not None:
        assert TextUnits.from_bytes(bytes(made.units)) == made.units
    if made.page_units is not None:
        again = read_units(write_units(made.page_units))
        for one, other in zip(made.page_units, again, strict=True):
            assert list(one) == list(other) if hasattr(one, "__len__") else one == other


def test_the_bytes_of_units_tell_which_of_very_many_is_the_headline() -> None:
    """It may be the last one, of a page that begins with a hundred thousand lines."""
    units = page(PARAGRAPHS).page_units
    assert units is not None
    assert read_units(write_units(units._replace(headline=100_000))).headline == 100_000
    assert [read_units(write_units(units._replace(is_unlisted=of))).is_unlisted for of in (True, False)] == [
        True,
        False,
    ]


def test_what_was_read_from_bytes_does_not_know_its_own_text() -> None:
    """Then likeness alone decides."""
    longer = PageFingerprint.from_bytes(bytes(page([*PARAGRAPHS, OWN])))
    assert longer.page_units is None
    assert longer.compare(BEFORE).own_words is None
    assert longer.compare(BEFORE).kind == "identical"


def test_a_worker_process_sends_the_units_with_the_fingerprint() -> None:
    from scrapy_simdedup.fingerprint import worker
    from scrapy_simdedup.settings import DedupSettings

    html = "".join(f"<p>{text}</p>" for text in [*PARAGRAPHS, OWN])
    made = read_fingerprint(worker._make_fingerprint(html, DedupSettings(), b"", b"", None))
    assert own(made, fingerprint_page("".join(f"<p>{text}</p>" for text in PARAGRAPHS))) == 30


@pytest.mark.parametrize("ignored", [(), ("numbers",)])
def test_what_is_ignored_changes_nothing(ignored: tuple[str, ...]) -> None:
    before, now = (
        fingerprint_page(f"<main>{''.join(f'<p>{text}</p>' for text in PARAGRAPHS)}<p>{n} in stock</p>", ignore=ignored)
        for n in (7, 9)
    )
    assert bool(changes(before, now)) is not bool(ignored)


AGES = [
    ("posted 17 seconds ago", "posted 3 days ago"),
    ("Version 1 (modified by ada, an hour ago)", "Version 1 (modified by ada, 2 hours ago)"),
    ("1 day, 3 hours ago", "2 days ago"),
    ("vor 59 Minuten", "vor 1 Stunde"),
    ("il y a 2 jours", "il y a environ 1 mois"),
    ("hace 5 días", "hace 1 semana"),
    ("2 giorni fa", "3 giorni fa"),
    ("3 dagen geleden", "4 dagen geleden"),
    ("3 дня назад", "5 дней назад"),
    ("2小时前", "1天前"),
    ("Posted today", "Posted 9 days ago"),
    ("Yesterday", "2 days ago"),
    ("Gepostet gestern", "Gepostet vor 3 Tagen"),
    ("just now", "5 minutes ago"),
]


@pytest.mark.parametrize(("before", "now"), AGES)
def test_how_long_ago_something_was_is_no_edit(before: str, now: str) -> None:
    assert not changes(page([*PARAGRAPHS, before]), page([*PARAGRAPHS, now]))


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize(("before", "now"), AGES)
def test_a_line_is_as_long_as_a_browser_shows_it(before: str, now: str, edited: bool) -> None:
    """A template indents its lines as far as it likes, and another version of it squeezes them."""
    indent = "\n" + 60 * " "
    lines = f"{before}{indent}<b>3 May 2026</b>{indent}", f"{now} <b>{4 if edited else 3} May 2026</b>"
    if not before.endswith(("today", "Yesterday", "gestern", "just now")):  # a day is an age at the end of a line alone
        assert bool(changes(*(page([*PARAGRAPHS, line]) for line in lines))) is edited


@pytest.mark.parametrize("part", ["1d ", "1 day ", "1 day x ", "an an ", "1 d,", "vor 1 h ", "il y a 1 an ", "1.1."])
def test_a_line_of_many_times_is_read_at_once(part: str) -> None:
    """Else it would take longer than anybody waits."""
    line = part * 300 + "x"
    assert without_age(line).endswith("x")


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Version 1 (modified by ada, 3 days ago)", "Version 2 (modified by ada, 3 days ago)"),
        ("posted 3 days ago by ada", "posted 3 days ago by bob"),
        ("takes 3 days", "takes 4 days"),
        ("Posted today", "Moved today"),
        ("Open today until noon", "Open until noon"),
        ("for 2 hours", "for 3 hours"),
        ("29 EUR", "31 EUR"),
    ],
)
def test_what_stands_beside_an_age_is(before: str, now: str) -> None:
    assert changes(page([*PARAGRAPHS, before]), page([*PARAGRAPHS, now]))


def test_a_box_in_the_text_is_content_and_a_column_beside_it_is_not() -> None:
    """Both are called a sidebar; what stands in the text goes with the text."""
    box = "<div class=sidebar><p>{}</p></div>"

    def inset(said: str) -> PageFingerprint:
        return page([*PARAGRAPHS[:6], box.format(said), *PARAGRAPHS[6:]])

    def column(said: str) -> PageFingerprint:
        said_in = "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
        html = (
            f"<title>Tides</title><div><h1>Tides</h1>{said_in}</div>{box.format(said)}<footer><p>Imprint</p></footer>"
        )
        return fingerprint_page(html)

    assert changes(inset("A word in a box"), inset("Another word in a box"))
    assert own(inset(OWN), inset("A word in a box")) == 30
    assert not changes(column("A word beside it"), column("Another word beside it"))
    assert own(column(OWN), column("A word beside it")) == 0


@pytest.mark.parametrize(
    ("beside", "counts"),
    [
        *(("<aside><p>{}</p></aside>", True), ("<div class=sidebar><p>{}</p></div>", True)),
        *(("<aside><p>{}</p><a href=/more>More</a></aside>", False), ("</main><aside><p>{}</p></aside><main>", False)),
    ],
)
def test_a_note_beside_a_short_text_of_the_main_part_is_content(beside: str, *, counts: bool) -> None:
    """As a warning in a manual; what leads to other pages is a column of links, and so may be what stands elsewhere."""
    html = f"<title>oak()</title><main><h1>oak()</h1><p>Returns a tree.</p>{beside}<p>{{}}</p></main>"
    rest = " ".join(pages.words("oak", 25))
    said, says = (fingerprint_page(html.format(text, rest)) for text in ("It is fast.", "It is deprecated now."))
    assert bool(changes(said, says)) is counts


PRICE_PLACES = {
    "<div>{}</div>": True,
    "<form action=/cart><div>{}</div><button>Buy</button></form>": True,
    "<div class=product-meta><span>{}</span></div>": True,
    "<aside class=buybox><p>{}</p></aside>": True,
    "<footer class=card-footer>{}</footer>": True,
    "<div class=price-widget>{}</div>": True,
    "<a class=button href=/buy>Buy for {}</a>": True,
    "<div class=related-products><a href=/other>Another kettle</a> <b>{}</b></div>": False,
    "<div class=advertisement>Kettles from {}</div>": False,
    "<nav>Up to {}</nav>": False,
    "<div class=comment>I paid {}</div>": False,
}


@pytest.mark.parametrize("place", PRICE_PLACES)
def test_a_price_of_the_page_counts_whatever_its_box_is_called(place: str) -> None:
    """A shop puts it into the form of its cart as often as into a paragraph; others' prices change by themselves."""
    before, now = (page([place.format(price), *PARAGRAPHS]) for price in ("29 EUR", "35 EUR"))
    assert bool(changes(before, now)) is PRICE_PLACES[place]


def test_what_a_form_of_the_page_says_in_a_few_words_counts() -> None:
    form = "<form action=/cart><p>{}</p><button>Buy</button></form>"
    assert changes(page([form.format("In stock"), *PARAGRAPHS]), page([form.format("Sold out"), *PARAGRAPHS]))


@pytest.mark.parametrize("headline", ["<h1>Tides</h1>", "<div><h1>Tides</h1></div>", "<div><h2>Tides</h2></div>"])
@pytest.mark.parametrize(
    ("place", "counts"),
    [
        ("<div><form action=/cart><span>{}</span><button>Buy</button></form></div>", True),
        ("<div><p>Order</p><form><table><tr><th>State<td>{}</table></form></div>", True),
        ("<div class=stats><form><dl><dt>State<dd>{}</dl></form></div>", True),
        ("<ul class=meta><li>State: {}</ul>", True),
        ("<div class=meta>by {}</div>", False),
        ("<div class=sidebar><form><dl><dt>State<dd>{}</dl></form></div>", False),
    ],
)
def test_a_form_or_a_data_sheet_in_the_box_of_the_headline_counts(headline: str, place: str, *, counts: bool) -> None:
    """As old shops and trackers have no main part, and put the text into a box of its own."""
    text = "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
    menu = "<ul class=menu><li><a href=/>Home</a><li><a href=/all>All</a></ul>"
    html = f"<title>Tides</title>{menu}<div>{headline}<div>{text}</div>{place}</div><div class=footer>Imprint</div>"
    before, now = (fingerprint_page(html.format(said)) for said in ("open", "sold"))
    assert bool(changes(before, now)) is counts


def test_a_price_is_short_however_far_it_is_indented() -> None:
    """In the form of a cart nothing counts but what is short."""
    form = "<form action=/cart><div>Your price{0}{{}}{0}with tax</div></form>".format("\n" + 60 * " ")
    assert changes(page([form.format("29 EUR"), *PARAGRAPHS]), page([form.format("35 EUR"), *PARAGRAPHS]))


def test_a_price_in_a_column_beside_the_text_is_not_the_page_s() -> None:
    def column(price: str) -> PageFingerprint:
        said = "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
        return fingerprint_page(
            f"<div><div><h1>Tides</h1>{said}</div><div class=sidebar><p>A kettle</p><p>{price}</p></div></div>"
        )

    assert not changes(column("29 EUR"), column("35 EUR"))


def test_a_box_at_the_end_of_the_text_is_content() -> None:
    box = "<div class=sidebar><p>{}</p></div>"
    assert changes(page([*PARAGRAPHS, box.format("A word at last")]), page([*PARAGRAPHS, box.format("A last word")]))


@pytest.mark.parametrize(("count", "is_seen"), [(2, True), (12, False)])
def test_a_long_text_at_the_place_of_a_clock_is_compared_where_it_is_a_good_part_of_the_page(
    count: int, is_seen: bool
) -> None:
    """The place of a quote of the day on one page may be that of the whole post on another."""
    said = "<div class=text><blockquote>{}</blockquote></div>"
    before, now = (page([*PARAGRAPHS[:count], said.format(text)]) for text in (PARAGRAPHS[0] + " end", OWN))
    assert before.units is not None
    assert now.page_units is not None
    found = compare_units(now.page_units, before.units)
    assert bool(compare_units(now.page_units, before.units, set(found.edited_places)).changes) is is_seen


def test_a_line_with_a_number_in_place_of_another_is_known_by_what_stands_around_it() -> None:
    """Of the title of a page that others read most no word is left an hour later; a line more is no other line."""
    list_ = "<h3>Most read today</h3><ul>{}</ul><p>Our editors choose each of them.</p>"
    hours = ["Storm on the coast, 91 readers"], ["Cup won, 8 readers"], ["Cup won, 8 readers", "Fog, 3 readers"]
    one, two, three = (
        page([*PARAGRAPHS, list_.format("".join(f"<li>{item}</li>" for item in items))]) for items in hours
    )
    assert one.units is not None
    assert two.page_units is not None
    assert three.page_units is not None
    found = compare_units(two.page_units, one.units)
    assert (found.changes, found.edited_places) == (UnitChanges(added=1, removed=1), {})
    assert not compare_units(two.page_units, one.units, set(found.edited_spots)).changes
    assert set(found.edited_spots) <= compare_units(one.page_units, one.units).equal_places
    assert compare_units(three.page_units, one.units, set(found.edited_spots)).changes


def test_what_a_page_is_tagged_with_is_its_own() -> None:
    tags = "<div class=tags><span>Garden</span> <span>{}</span></div>"
    assert changes(page([*PARAGRAPHS, tags.format("Lift")]), page([*PARAGRAPHS, tags.format("Guest toilet")]))


LINES = [" ".join(pages.words(("line", number), 20)) for number in range(150)]
CLOCKS = {
    "a counter": ("In stock: 7 of them", "In stock: 8 of them", True),
    "a quote": ("Better late than never. " * 6, "Waste not, want not. " * 6, False),
}
"""What a clock says at two times, and whether it has a row for itself on a long page."""


@pytest.mark.parametrize("at", [20, 140, 149])
@pytest.mark.parametrize("name", CLOCKS)
def test_a_long_page_that_is_the_same_is_unchanged_whenever_its_clock_was_learned(name: str, at: int) -> None:
    """Its record may have been made before: then a long clock is a part of a row, but for the last units."""
    *texts, is_alone = CLOCKS[name]
    is_alone |= len(LINES) - at < LAST_UNITS
    before, now = (page([*LINES[:at], text, *LINES[at:]]) for text in texts)
    assert before.units is not None
    assert before.units.joined_by > 0
    assert before.page_units is not None
    assert now.page_units is not None
    start = texts[0][:20]
    clock = next(
        place
        for place, sample in zip(before.page_units.places.tolist(), before.page_units.samples, strict=True)
        if sample.startswith(start)
    )
    assert not compare_units(before.page_units, before.units, {clock}).changes
    found = compare_units(now.page_units, before.units, {clock})
    assert (not found.changes, clock in found.edited_places) == (is_alone, is_alone)
    known = keep_units(before.page_units, {clock})
    assert not compare_units(now.page_units, known, {clock}).changes


@pytest.mark.parametrize("at", range(20, 32))
def test_of_a_long_page_two_texts_that_changed_places_are_seen(at: int) -> None:
    """Where they share a row, its sum is what it was."""
    before = page(LINES)
    assert before.units is not None
    assert before.units.joined_by > 0
    assert changes(before, page([*LINES[:at], LINES[at + 1], LINES[at], *LINES[at + 2 :]]))


def test_of_a_long_page_whose_counter_changed_an_edit_is_seen_and_told_from_it() -> None:
    price, counted = "Price: {} EUR", "Read {} times by all of us"
    before, counter, both = (
        page([*LINES, price.format(now[0]), LINES[0], counted.format(now[1])]) for now in ((7, 1), (7, 2), (8, 2))
    )
    assert before.units is not None
    assert before.units.joined_by > 0
    assert counter.page_units is not None
    assert both.page_units is not None
    first = compare_units(counter.page_units, before.units)
    assert [edited.text for edited in first.edited_places.values()] == [counted.format(2)]
    clocks = set(first.edited_places)
    assert not compare_units(counter.page_units, before.units, clocks).changes
    assert compare_units(both.page_units, before.units, clocks).changes == UnitChanges(edited=1)


SEEN = {
    "the same lines": LINES[:8],
    "another line": [*LINES[:4], LINES[8], *LINES[5:8]],
    "a line less": LINES[:7],
    "a line more": LINES[:9],
    "other lines": [*LINES[:4], "Oslo at noon", "Turin at noon", *LINES[6:8]],
}


@pytest.mark.parametrize("lines", SEEN.values(), ids=SEEN)
def test_what_differs_in_lines_that_are_seen_differs_in_no_others(lines: list[str]) -> None:
    """Nor does it where two lines differ, as then nobody can tell."""
    now, before = page(lines).page_units, page(LINES[:8]).units
    assert now is not None
    assert before is not None
    assert not differs_unseen(now, before)
