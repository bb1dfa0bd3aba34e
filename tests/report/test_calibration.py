"""Thresholds follow what is seen: raised above what looks wrong, lowered to what looks right, else left alone."""

from __future__ import annotations

import ast

import pytest

from scrapy_simdedup.detect.names import PageSettings
from scrapy_simdedup.report.calibration import Calibration, LabelledPair, calibrate
from scrapy_simdedup.report.neighbours import ClosePair
from scrapy_simdedup.settings import DedupSettings

COPIES = [(0.985, False)] * 40


def pairs(*found: tuple[float, bool], site: str = "a.example", path: str = "") -> list[ClosePair]:
    return [
        ClosePair(site, f"http://a.example/{path}{n}", f"http://a.example/{path}{n}?", similarity, headline_differs)
        for n, (similarity, headline_differs) in enumerate(found)
    ]


def labels(*found: tuple[float, bool]) -> list[LabelledPair]:
    return [
        LabelledPair("a.example", f"one{n}", f"other{n}", similarity, same)
        for n, (similarity, same) in enumerate(found)
    ]


def made(found: list[ClosePair], looked_at: list[LabelledPair] | None = None, **settings: object) -> Calibration:
    checked = DedupSettings.from_keywords(**settings)
    return calibrate(found, looked_at or [], checked, store="memory:", pages=100)


class TestChoice:
    @pytest.mark.parametrize(
        ("others", "identical"),
        [
            ([], 0.95),
            ([(0.5, True)] * 50, 0.95),
            ([(0.925, False)] * 5, 0.92),
            ([(0.925, False)] * 5 + [(0.905, True)], 0.92),
            ([(0.925, False)] * 5 + [(0.925, True)], 0.95),
            ([(0.965, True)], 0.97),
            ([(0.965, False)] * 200 + [(0.965, True)], 0.95),
            ([(0.85, False)] * 50, 0.95),
        ],
    )
    def test_is_raised_above_what_looks_wrong_and_lowered_to_what_looks_right(
        self, others: list[tuple[float, bool]], identical: float
    ) -> None:
        (choice,) = made(pairs(*COPIES, *others)).choices
        assert choice.identical == identical
        assert choice.changed == (identical != 0.95)

    @pytest.mark.parametrize("looked_at", [[], [(0.995, False)] * 40])
    def test_is_never_as_good_as_off(self, looked_at: list[tuple[float, bool]]) -> None:
        """Where pages that are the same have other headlines, such as translated ones, headlines tell nothing."""
        (choice,) = made(pairs(*COPIES, *[(0.995, True)] * 40), labels(*looked_at)).choices
        assert (choice.identical, choice.near, choice.changed) == (0.95, 0.85, False)
        assert choice.because.startswith("no threshold fits, as ")

    def test_is_left_alone_where_few_pages_are_alike(self) -> None:
        (choice,) = made(pairs(*COPIES[:20], *[(0.965, True)] * 5)).choices
        assert (choice.identical, choice.changed) == (0.95, False)
        assert "too few" in choice.because

    def test_goes_by_labels_where_there_are_enough(self) -> None:
        found = pairs(*COPIES, (0.965, True))
        (choice,) = made(found, labels(*[(0.965, True)] * 40, (0.955, False))).choices
        assert choice.identical == 0.96
        assert choice.because == "by labels"

    def test_leaves_near_alone_unless_near_pages_are_dropped(self) -> None:
        found = pairs(*COPIES, (0.875, True))
        assert made(found).choices[0].near == 0.85
        assert made(found, drop="near").choices[0].near == 0.88

    def test_starts_from_the_site_s_own_thresholds(self) -> None:
        assert not made(pairs(*COPIES), site_settings={"a.example": {"identical": 0.97}}).choices[0].changed

    def test_can_be_pasted_into_the_settings(self) -> None:
        setting = made(pairs(*COPIES, (0.965, True))).setting
        name, _, value = setting.partition(" = ")
        sites = ast.literal_eval(value)
        assert name == "SIMDEDUP_SITE_SETTINGS"
        assert PageSettings(DedupSettings.from_keywords(site_settings=sites)).of("http://a.example/").identical == 0.97
        assert made(pairs(*COPIES)).setting == ""

    def test_is_made_by_itself_for_each_kind_of_page_that_has_settings(self) -> None:
        """From the thresholds that it has, and by its own labels."""
        found = pairs(*COPIES, (0.965, True)) + pairs(*COPIES, (0.975, True), path="product/")
        keys: dict[str, dict[str, float]] = {"a.example/product/": {"identical": 0.96}}
        assert [(choice.site, choice.identical) for choice in made(found, site_settings=keys).choices] == [
            ("a.example", 0.97),
            ("a.example/product/", 0.98),
        ]
        looked_at = [
            LabelledPair("a.example", f"http://a.example/product/{n}", "other", similarity, same)
            for n, (similarity, same) in enumerate([*[(0.965, True)] * 40, (0.955, False)])
        ]
        choices = made(found, looked_at, site_settings=keys).choices
        assert [choice.because for choice in choices] == ["by headlines", "by labels"]

    def test_of_one_scope_for_all_is_for_the_whole_crawl(self) -> None:
        setting = made(pairs(*COPIES, (0.965, True), site="*"), scope="all").setting
        assert setting == "SIMDEDUP_IDENTICAL = 0.97\nSIMDEDUP_NEAR = 0.85"

    def test_of_items_is_no_setting(self) -> None:
        """They have the settings of the page that they came from."""
        found = made(pairs(*COPIES, (0.965, True), site="items of shop from a.example"))
        assert (found.choices[0].changed, found.setting) == (True, "")


def test_each_threshold_says_what_it_drops_and_misses() -> None:
    found = made(
        pairs((0.99, False), (0.96, True), (0.9, False), (0.1, True)),
        labels((0.99, True), (0.96, False), (0.9, True)),
    )
    line = next(line for line in found.thresholds if line.at == 0.95)
    assert (line.dropped, line.suspicious) == (0.5, 0.5)
    assert (line.wrong, line.missed) == (0.5, 0.5)


def test_a_threshold_that_drops_nothing_is_not_wrong() -> None:
    line = made(pairs((0.1, True))).thresholds[-1]
    assert (line.dropped, line.suspicious, line.wrong, line.missed) == (0, None, None, None)


def test_borderline_pairs_are_those_next_to_a_threshold_each_once() -> None:
    found = pairs((0.94, False), (0.99, False), (0.5, True), (0.83, True))
    mirrored = [ClosePair(p.site, p.other, p.one, p.similarity, p.headline_differs) for p in found]
    assert sorted(pair.similarity for pair in made(found + mirrored).borderline) == [0.83, 0.94]
