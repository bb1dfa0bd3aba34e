"""What one looks at in ``scrapy shell`` and Jupyter says what it is."""

from __future__ import annotations

from on_asyncio import on_asyncio
from pages import page, prose
from scrapy_simdedup import NearDuplicateDetector, Verdict, compare_pages, fingerprint_page


def test_a_comparison_says_how_alike_the_pages_are() -> None:
    found = fingerprint_page(page("a", 1)).compare(fingerprint_page(page("a", 1)))
    assert repr(found) == "<Comparison identical, similarity 1.000, 0 bits>"
    assert "<td>1.000</td>" in found._repr_html_()


def test_a_comparison_of_pages_shows_the_differing_lines_side_by_side() -> None:
    found = compare_pages(page("a", 1), page("a", 2), names=("before", "after"))
    assert repr(found).startswith("<PageComparison identical, similarity 0.9")
    assert repr(found).endswith("differing lines: 'before', 'after'>")
    shown = found._repr_html_()
    assert "<th>before</th><th>after</th>" in shown
    assert "<td>footer</td><td>Served at " in shown


def test_what_a_site_calls_its_frame_is_not_in_the_markdown() -> None:
    html = page("a", body=f'{prose("a")}<div class="kolophon"><p>Printed in Ghent, on paper.</p></div>')
    assert "Ghent" in compare_pages(html, html).one.markdown
    assert "Ghent" not in compare_pages(html, html, role_words={"footer": ["kolophon"]}).one.markdown


def test_settings_count_in_a_comparison() -> None:
    assert compare_pages(page("a", 1), page("a", 2), identical=1.0).kind == "near"


@on_asyncio
async def test_a_verdict_says_what_it_repeats() -> None:
    detector = NearDuplicateDetector()
    await detector.open()
    await detector.add(page("a", 1), url="http://a.example/<1>")
    verdict = await detector.add(page("a", 2), url="http://a.example/2")
    shown = verdict._repr_html_()
    assert "Verdict identical, duplicate" in shown
    assert "<td>original</td><td>http://a.example/&lt;1&gt;</td>" in shown
    assert "pending" not in shown, "what is not known is left out"


def test_what_is_not_known_of_a_verdict_is_left_out() -> None:
    assert "similarity" not in Verdict("new")._repr_html_()
