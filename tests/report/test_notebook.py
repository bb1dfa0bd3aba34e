"""What one looks at in ``scrapy shell`` and Jupyter says what it is."""

from __future__ import annotations

from lxml import html

from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose
from scrapy_simdedup import NearDuplicateDetector, Verdict, compare_pages, fingerprint_page


def cells(table: str) -> list[list[str]]:
    return [[cell.text_content() for cell in row] for row in html.fromstring(table).iter("tr")]


def test_a_comparison_says_how_alike_the_pages_are() -> None:
    found = fingerprint_page(page("a", 1)).compare(fingerprint_page(page("a", 1)))
    assert repr(found) == "<Comparison identical, similarity 1.000, 0 bits>"
    assert cells(found._repr_html_()) == [["similarity", "1.000"], ["differing bits", "0"]]


def test_a_comparison_of_pages_shows_the_differing_lines_side_by_side() -> None:
    found = compare_pages(page("a", 1), page("a", 2), names=("before", "after"))
    assert repr(found).startswith("<PageComparison identical, similarity 0.9")
    assert repr(found).endswith("differing lines: 'before', 'after'>")
    head, *_, last = cells(found._repr_html_())
    assert head == ["Differs in", "before", "after"]
    assert last[0] == "footer"
    assert all(side.startswith("Served at ") for side in last[1:])
    assert "Served at <mark " in found._repr_html_(), "the words that differ are marked"


def test_what_a_site_calls_its_frame_weighs_less() -> None:
    with_frame = page("a", body=f'{prose("a")}<div class="kolophon"><p>Printed in Ghent, on paper.</p></div>')

    def weight(**settings: object) -> float:
        [line] = [line for line in compare_pages(with_frame, with_frame, **settings).one.lines if "Ghent" in line.text]
        return line.weight

    assert weight() == 1
    assert weight(role_words={"footer": ["kolophon"]}) == 0.02


def test_settings_count_in_a_comparison() -> None:
    assert compare_pages(page("a", 1), page("a", 2), identical=1.0).kind == "near"


@on_asyncio
async def test_a_verdict_says_what_it_repeats() -> None:
    detector = NearDuplicateDetector()
    await detector.open()
    await detector.add(page("a", 1), url="http://a.example/<1>")
    verdict = await detector.add(page("a", 2), url="http://a.example/2")
    shown = verdict._repr_html_()
    known = dict(cells(shown))
    assert "<b>identical, a duplicate</b>" in shown
    assert known["original"] == "http://a.example/<1>"
    assert known["original first seen"].endswith(" UTC")
    assert 'href="http://a.example/&lt;1&gt;"' in shown
    assert "waits for" not in known, "what is not known is left out"


def test_what_is_not_known_of_a_verdict_is_left_out() -> None:
    assert "similarity" not in Verdict("new")._repr_html_()
