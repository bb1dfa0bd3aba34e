"""When a page counts as delivered."""

from __future__ import annotations

import gc

from scrapy import Request
from scrapy.http import HtmlResponse

from scrapy_simdedup.crawl.delivery import DeliveryTracker
from scrapy_simdedup.detect.verdict import PageRef

PAGE = PageRef(site="site.example", id=1, key=b"k", url="http://site.example/")


class Book:
    """A delivery tracker with one open page, and what was settled."""

    def __init__(self, *, items_count: bool = True) -> None:
        self.settled: list[str | None] = []
        self.gave_item: list[bool] = []
        self.tracker = DeliveryTracker(self._ended, items_count=items_count)
        self.request: Request | None = Request(PAGE.url)
        self.tracker.track(self.request, PAGE)
        self.delivery = self.tracker.delivery_of(HtmlResponse(PAGE.url, request=self.request))
        assert self.delivery is not None

    def _ended(self, _page: PageRef, failure: str | None, gave_item: bool) -> None:
        self.settled.append(failure)
        self.gave_item.append(gave_item)


def test_a_page_is_delivered_when_its_callback_ended_and_its_items_are_through() -> None:
    book = Book()
    book.tracker.callback_started(book.delivery)
    book.delivery.pending_items = 2
    book.tracker.output_ended(book.delivery)
    book.tracker.item_finished(book.delivery, None)
    assert book.settled == []
    book.tracker.item_finished(book.delivery, None)
    assert book.settled == [None]
    assert book.tracker.in_work == 0


def test_an_item_that_fails_releases_the_page() -> None:
    book = Book()
    book.tracker.callback_started(book.delivery)
    book.delivery.pending_items = 1
    book.tracker.output_ended(book.delivery)
    book.tracker.item_finished(book.delivery, "item_error")
    assert book.settled == ["item_error"]


def test_items_do_not_matter_where_the_callback_alone_confirms() -> None:
    book = Book(items_count=False)
    book.tracker.callback_started(book.delivery)
    book.delivery.pending_items = 1
    book.tracker.output_ended(book.delivery)
    assert book.settled == [None]


def test_output_of_an_errback_is_no_delivery() -> None:
    book = Book()
    book.tracker.output_ended(book.delivery)
    assert book.settled == ["never_reached"]


def test_the_first_failure_is_the_reason() -> None:
    book = Book()
    book.delivery.fail("callback_error")
    book.delivery.fail("item_error")
    book.tracker.output_ended(book.delivery)
    assert book.settled == ["callback_error"]


def test_a_request_that_dies_on_its_way_releases_its_page() -> None:
    book = Book()
    book.delivery = book.request = None
    gc.collect()
    book.tracker.release_dead()
    assert book.settled == ["request_died"]


def test_what_is_open_when_the_spider_closes_is_released() -> None:
    book = Book()
    book.tracker.close()
    assert book.settled == ["closed"]


def test_a_page_is_settled_once() -> None:
    book = Book()
    book.tracker.callback_started(book.delivery)
    book.tracker.output_ended(book.delivery)
    book.tracker.output_ended(book.delivery)
    book.tracker.close()
    assert book.settled == [None]


def test_fetching_the_same_request_again_releases_the_first_reservation() -> None:
    book = Book()
    book.tracker.track(book.request, PageRef(site=PAGE.site, id=2, key=PAGE.key, url=PAGE.url))
    assert book.settled == ["refetched"]
