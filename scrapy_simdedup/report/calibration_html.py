"""A calibration as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.report.charts import Mark, Series, bar_chart
from scrapy_simdedup.report.elements import h, link, number
from scrapy_simdedup.report.html import document
from scrapy_simdedup.report.tables import data_table
from scrapy_simdedup.wording import plural

if TYPE_CHECKING:
    from scrapy_simdedup.report.calibration import Calibration
    from scrapy_simdedup.report.elements import Element
    from scrapy_simdedup.settings import DedupSettings

FIRST = 50
"""Hundredths from which the chart begins."""


def render_calibration(found: Calibration, settings: DedupSettings) -> str:
    """The document.

    Args:
        found: what it shows.
        settings: the thresholds in force.
    """
    about = f"{found.store}; {number(found.sampled)} of {number(found.pages)} pages were sampled"
    return document(
        "Thresholds",
        about,
        {
            "choice": ("Thresholds per site", _choices(found)),
            "distribution": ("Similarity to the closest page", _distribution(found, settings)),
            "thresholds": ("What each threshold would do", [_thresholds(found)]),
            "borderline": ("Borderline pairs to judge by eye", _borderline(found)),
        },
    )


def _distribution(found: Calibration, settings: DedupSettings) -> list[Element]:
    less = sum(found.same_headline[:FIRST]) + sum(found.other_headline[:FIRST])
    chart = bar_chart(
        "distribution-chart",
        "Pages by similarity to the closest page of their site",
        [
            Series("same headline", found.same_headline[FIRST:], "identical"),
            Series("another headline", found.other_headline[FIRST:], "stub"),
        ],
        [f"{step / 100:.2f} to {(step + 1) / 100:.2f}" for step in range(FIRST, 100)],
        ticks=[_mark(step / 10, f"{step / 10:.1f}") for step in range(FIRST // 10, 11)],
        lines=[_mark(settings.near, "near"), _mark(settings.identical, "identical")],
    )
    return [
        h("p", f"Less than {FIRST / 100:g} similar to any other of their site: {plural(less, 'more page')}."),
        chart,
    ]


def _mark(value: float, label: str) -> Mark:
    return Mark((value * 100 - FIRST) / (100 - FIRST), label)


def _thresholds(found: Calibration) -> Element:
    rows = [(f"{line.at:.2f}", line.dropped, line.suspicious, line.wrong, line.missed) for line in found.thresholds]
    head = ("Threshold", "#%drops", "#%with another headline", "#%wrong by labels", "#%copies missed by labels")
    kept = len(head) if found.labelled else 3
    return data_table(
        "Shares of the sampled pages, of those dropped, and of labelled pairs",
        head[:kept],
        [row[:kept] for row in rows],
    )


def _choices(found: Calibration) -> list[Element]:
    rows = [(choice.site, choice.sampled, choice.identical, choice.near, choice.because) for choice in found.choices]
    setting = found.setting
    return [
        data_table("Chosen for each site", ("Site", "#sampled", "#identical", "#near", "Because"), rows),
        h("p", "Ready to paste into settings.py:" if setting else "The thresholds in force fit every site."),
        *([h("pre", setting, tabindex="0")] if setting else []),
    ]


def _borderline(found: Calibration) -> list[Element]:
    if not found.borderline:
        return [h("p", "No sampled page is near a threshold.")]
    rows = [
        (link(pair.one), link(pair.other), pair.similarity, "another" if pair.renamed else "the same")
        for pair in found.borderline
    ]
    return [
        data_table("A random sample of pairs next to a threshold", ("One", "Other", "#similarity", "Headline"), rows)
    ]
