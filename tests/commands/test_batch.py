"""``dedupe(things)`` takes the repeats out of what is there already, without a crawl, a store or a loop."""

from __future__ import annotations

import asyncio
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from scrapy import Field, Item

from helpers.command_line import in_a_thread
from helpers.pages import page, prose, words
from scrapy_simdedup import (
    CopyFacts,
    DedupSettings,
    NearDuplicateDetector,
    SettingError,
    SimdedupError,
    compare_pages,
    dedupe,
    fingerprint_page,
)
from scrapy_simdedup.signals import Redesign, Wall
from scrapy_simdedup.stores import Notes, PageRef, Record, Tail
from scrapy_simdedup.urls import Rule, UrlLearner

ONE, OTHER = " ".join(words("one", 60)), " ".join(words("other", 60))
Row = namedtuple("Row", "id text")


@dataclass
class Article:
    id: int
    text: str


class ArticleItem(Item):
    id = Field()
    text = Field()


class TestThings:
    def test_texts(self) -> None:
        assert list(dedupe([ONE, OTHER, ONE, ONE.upper()])) == [ONE, OTHER]

    def test_short_texts(self) -> None:
        assert list(dedupe(["yes", "no", "yes"])) == ["yes", "no"]

    def test_pages_without_a_url(self) -> None:
        pages = [page("one", 1), page("two", 2), "\n" + page("one", 3)]
        assert list(dedupe(pages)) == pages[:2]

    def test_pages_with_their_urls(self) -> None:
        pages = [("http://a.example/", page("one", 1)), ("http://a.example/?x", page("one", 2))]
        of_another_site = ("http://b.example/", page("one", 1))
        assert list(dedupe([*pages, of_another_site])) == [pages[0], of_another_site]
        assert list(dedupe([*pages, of_another_site], scope="all")) == pages[:1]

    @pytest.mark.parametrize("charset", ["utf-8", "iso-8859-5", "shift_jis"])
    def test_bytes_are_decoded_as_pages_are(self, charset: str) -> None:
        text = {"utf-8": "größer ", "iso-8859-5": "больше ", "shift_jis": "もっと "}[charset]
        html = page("one", body=f"<p>{text}" + prose("one")).replace("utf-8", charset)
        assert list(dedupe([html, html.encode(charset), ("http://a.example/", html.encode(charset))])) == [
            html,
            ("http://a.example/", html.encode(charset)),
        ]

    @pytest.mark.parametrize("make", [lambda **fields: fields, Article, ArticleItem, Row])
    def test_items_of_all_kinds(self, make: Callable[..., Any]) -> None:
        things = [make(id=number, text=text) for number, text in enumerate([ONE, OTHER, ONE])]
        assert list(dedupe(things, fields=["text"])) == things[:2]
        assert list(dedupe(things, fields="text")) == things[:2]

    def test_items_with_a_page(self) -> None:
        things = [{"url": f"http://a.example/{number}", "html": page("one", number)} for number in range(3)]
        assert list(dedupe(things)) == things[:1]

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_rows_of_data_frames(self, library: str) -> None:
        frames = pytest.importorskip(library)
        rows = [{"id": number, "text": text} for number, text in enumerate([ONE, OTHER, ONE, None, None])]
        kept = [rows[0], rows[1], rows[3], rows[4]]
        found = [
            {**row, "text": row["text"] if isinstance(row["text"], str) else None} for row in self._dedupe(frames, rows)
        ]
        assert found == kept
        assert list(dedupe(frames.DataFrame(rows)["text"].to_list()[:3])) == [ONE, OTHER]

    @staticmethod
    def _dedupe(frames: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return list(dedupe(frames.DataFrame(rows), fields=["text"]))

    def test_rows_of_pandas_one_by_one(self) -> None:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame([{"id": number, "text": text} for number, text in enumerate([ONE, OTHER, ONE])])
        assert [index for index, _ in dedupe(frame.iterrows(), fields="text")] == [0, 1]
        assert [row.id for row in dedupe(frame.itertuples(), fields="text")] == [0, 1]

    def test_what_has_no_text_is_kept(self) -> None:
        things = [None, "", " ", None, "", {"text": ""}, {"text": ""}, b""]
        assert list(dedupe(things)) == things

    @pytest.mark.parametrize("thing", [5, ("a", "b", "c"), ["a"], object()])
    def test_what_is_nothing_that_can_be_compared_is_said(self, thing: Any) -> None:
        with pytest.raises(TypeError, match="cannot be compared: give texts, bytes"):
            list(dedupe([thing]))


class TestIterator:
    def test_one_thing_is_read_at_a_time(self) -> None:
        read = []

        def things() -> Iterator[str]:
            for text in (ONE, ONE, OTHER):
                read.append(text)
                yield text

        found = dedupe(things())
        assert not read
        assert next(found) == ONE
        assert len(read) == 1
        assert next(found) == OTHER

    def test_it_runs_inside_of_a_loop(self) -> None:
        """As in a notebook."""

        async def work() -> list[str]:
            return list(dedupe([ONE, ONE]))

        assert in_a_thread(lambda: asyncio.run(work())) == [ONE]

    def test_the_same_things_always_give_the_same(self) -> None:
        near = [" ".join(words("a", 200 + number) + words(number, 10)) for number in range(20)]
        found = {tuple(dedupe(near)) for _ in range(5)}
        assert len(found) == 1

    def test_settings_are_keywords(self) -> None:
        near = [page("a"), page("a", body=prose("a", 215) + prose("other", 25))]
        assert list(dedupe(near)) == near
        assert list(dedupe(near, drop="near")) == near[:1]
        with pytest.raises(SettingError, match="did you mean SIMDEDUP_DROP"):
            dedupe(near, dropp="near")

    def test_a_store_is_refused_at_once(self) -> None:
        with pytest.raises(SettingError, match="a NearDuplicateDetector has a store"):
            dedupe([], store="sqlite:///pages.sqlite")

    def test_a_field_that_no_item_has_is_an_error(self) -> None:
        with pytest.raises(SimdedupError, match="no item has a field 'txet'; did you mean text"):
            list(dedupe([{"text": ONE}], fields=["txet"]))

    def test_what_comes_a_hundred_times_is_given_once(self) -> None:
        """It is no captcha that a site shows under many URLs."""
        assert list(dedupe([ONE, OTHER] * 100)) == [ONE, OTHER]
        assert len(list(dedupe([page("one", number) for number in range(60)]))) == 1

    def test_a_thousand_texts(self) -> None:
        texts = [" ".join(words(number % 100, 80)) for number in range(1_000)]
        assert list(dedupe(texts)) == texts[:100]


LONG = "http://a.example/" + "long/" * 100


async def _public_values() -> list[object]:
    detector = NearDuplicateDetector(identical=0.9, role_words={"footer": [f"a{'b' * i}" for i in range(100)]})
    await detector.open()
    verdicts = [await detector.add(page("a", number), url=f"{LONG}{number}") for number in range(2)]
    tail = await detector.store.read("a.example")
    await detector.close()
    return [*verdicts, tail, *tail.records, verdicts[0].page, detector.settings]


def test_every_public_value_is_shown_in_a_line() -> None:
    fp = fingerprint_page(page("a"))
    rule = Rule("a.example", "a.example", "**", ("query:sid",), None, True, False, 9, 0, 9, 1, 7, (LONG,) * 3)
    values = [
        *in_a_thread(lambda: asyncio.run(_public_values())),
        *(fp, fingerprint_page("<p>short"), fp.compare(fp), rule, Wall("a.example", 0.9, (LONG, LONG))),
        *(CopyFacts(is_canonical=True, length=65_535), Redesign("a.example", 10, 0.5), UrlLearner(seed=1).decide(LONG)),
        *(compare_pages(page("a"), page("b"), names=(LONG, LONG)), Notes((b"x" * 500,), 1), DedupSettings()),
    ]
    for value in values:
        assert "\n" not in repr(value)
        assert len(repr(value)) <= 300 if "PageComparison" in repr(value) else len(repr(value)) <= 160, repr(value)
    assert repr(DedupSettings.from_keywords(identical=0.9, secret="hush")) == "DedupSettings(identical=0.9)"
    assert {type(value) for value in values} >= {Record, Tail, PageRef}
