"""The report as people meet it: in a browser, by eye, by keyboard, by ear, on paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from helpers.browser import Seen, with_chromium
from helpers.report_records import Reported

Open = Callable[..., Seen]
WAYS = [
    {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    for width in (1280, 390)
    for scheme in ("light", "dark")
]
CONTRAST = """
(selector) => {
  const parse = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (color) => {
    const [r, g, b] = parse(color).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const page = light(getComputedStyle(document.body).backgroundColor);
  return Math.min(...[...document.querySelectorAll(selector)].map((element) => {
    const own = light(getComputedStyle(element).fill);
    return (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05);
  }));
}
"""
"""WCAG 2's contrast ratio of fills to the page behind them: the lowest."""


@pytest.mark.parametrize("way", WAYS)
@with_chromium
def test_it_opens_without_a_word_and_without_a_request(
    reported: Reported, way: dict[str, Any], open_page: Open
) -> None:
    seen = open_page(reported.html.as_uri(), **way)
    assert seen.complaints == []
    assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= way["viewport"]["width"]


@with_chromium
def test_charts_are_drawn(reported: Reported, open_page: Open) -> None:
    page = open_page(reported.html.as_uri()).page
    for chart in ("#similarity-chart", "#verdicts-chart"):
        bars = [bar.bounding_box() for bar in page.query_selector_all(f"{chart} rect")]
        assert bars
        assert all(box["width"] > 1 and box["height"] >= 1 for box in bars)
    assert {line.text_content() for line in page.query_selector_all("text.threshold")} == {"near", "identical"}


@pytest.mark.parametrize("way", WAYS)
@with_chromium
def test_axe_finds_nothing_to_object_to(reported: Reported, way: dict[str, Any], open_page: Open) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # The policy of the page keeps out scripts that are not its own, and so axe.
    page = open_page(reported.html.as_uri(), bypass_csp=True, **way).page
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    found = axe.run(page).response
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found["violations"]] == []
    assert len(found["passes"]) > 20


@pytest.mark.parametrize("scheme", ["light", "dark"])
@with_chromium
def test_letters_and_bars_of_charts_stand_out(reported: Reported, scheme: str, open_page: Open) -> None:
    """What axe cannot judge in pictures: 4.5 to 1 for letters, 3 to 1 for shapes."""
    page = open_page(reported.html.as_uri(), color_scheme=scheme).page
    assert page.evaluate(CONTRAST, ".chart text") >= 4.5
    assert page.evaluate(CONTRAST, ".chart rect") >= 3


@with_chromium
def test_tables_sort_by_each_column(reported: Reported, open_page: Open) -> None:
    page = open_page(reported.html.as_uri()).page
    page.evaluate(
        """() => {
          const body = document.querySelector("#sites-table tbody");
          for (const [name, pages] of [["b.example", 9], ["c.example", 100], ["a.example", 30]]) {
            const row = body.rows[0].cloneNode(true);
            row.cells[0].textContent = name;
            row.cells[1].dataset.value = pages;
            body.append(row);
          }
          body.rows[0].remove();
        }"""
    )
    names = "[...document.querySelectorAll('#sites-table tbody tr')].map((row) => row.cells[0].textContent[0]).join('')"
    for column, down, up in (("Pages", "cab", "bac"), ("Site", "cba", "abc")):
        button = page.get_by_role("button", name=column, exact=True)
        button.click()
        assert page.evaluate(names) == down
        assert page.locator("th[aria-sort=descending]").text_content() == column
        button.press("Enter")
        assert page.evaluate(names) == up
        assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"


@with_chromium
def test_tables_filter_and_say_how_much_is_shown(reported: Reported, open_page: Open) -> None:
    page = open_page(reported.html.as_uri()).page
    field = page.get_by_label("Only where the site contains")
    field.fill("nowhere")
    assert page.locator("#sites-table tbody tr:visible").count() == 0
    assert page.get_by_role("status").text_content() == "0 of 1 shown"
    field.fill("127.0")
    assert page.locator("#sites-table tbody tr:visible").count() == 1


@with_chromium
def test_the_keyboard_reaches_everything_that_can_be_used(reported: Reported, open_page: Open) -> None:
    page = open_page(reported.html.as_uri()).page
    usable = "a[href], button, input, summary, [tabindex='0']"
    # What is folded away is reached once it is unfolded.
    visible = page.evaluate(
        f"[...document.querySelectorAll({usable!r})].filter((element) => element.checkVisibility()).length"
    )
    reached = set()
    for _ in range(visible):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(f"[...document.querySelectorAll({usable!r})].indexOf(document.activeElement)"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", "where the focus is can be seen"
    assert len(reached - {-1}) == visible


@with_chromium
def test_summaries_unfold_by_keyboard(reported: Reported, open_page: Open) -> None:
    page = open_page(reported.html.as_uri()).page
    numbers = page.locator("#similarity-chart details")
    numbers.locator("summary").focus()
    page.keyboard.press("Enter")
    assert numbers.locator("tbody tr").first.is_visible()


@with_chromium
def test_on_paper_everything_is_unfolded(reported: Reported, open_page: Open) -> None:
    page = open_page(reported.html.as_uri()).page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0
    assert page.pdf(format="A4").startswith(b"%PDF")
