"""A parameter that matters on some pages of a script, and on others does not: the other parameters tell which."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from helpers.simulated_crawl import Page, crawl_and_ask, in_crawl_order, noisy, same
from scrapy_simdedup.urls import LearnerThresholds, UrlLearner, export_obstacle

SURE = LearnerThresholds(verify=0.0, verify_low_risk=0.0, verify_floor=0.0)
URL = "https://shop.example/catalog.php"


@in_crawl_order
def shop(rng: random.Random, wrong: float = 0.0) -> Iterator[list[Page]]:
    """One script shows categories and products; a product is the same from whichever category one comes, nearly."""
    for category in range(40):
        own = [Page(f"{URL}?cat={category}", f"category {category}")]
        own += [Page(f"{URL}?cat={category}&sort={sort}", f"category {category} by {sort}") for sort in ("name", "age")]
        yield own
    for number in range(300):
        url, product = f"{URL}?item={number}", f"product {number}"
        own = same(product, url)
        for category in rng.sample(range(40), 3):
            shown = f"{product} in category {category}" if rng.random() < wrong else product
            own.append(Page(f"{url}&cat={category}", shown))
        yield own


def teach_categories(learner: UrlLearner) -> None:
    for category in range(30):
        learner.observe(f"{URL}?cat={category}", f"category {category}", checked=True)
    learner.observe(URL, "start page", checked=True)


def teach_products(learner: UrlLearner, more: str = "") -> None:
    """Thirty products, each found under two categories."""
    for number in range(30):
        for category in (number % 7, number % 5 + 10):
            learner.observe(f"{URL}?item={number}&cat={category}{more}", f"product {number}", checked=True)


def taught() -> UrlLearner:
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    teach_categories(learner)
    teach_products(learner)
    learner.observe(f"{URL}?item=100&cat=1", "product 100")
    return learner


def test_a_product_is_skipped_whatever_its_category() -> None:
    learner = taught()
    decision = learner.decide(f"{URL}?item=100&cat=2")
    assert decision.skip
    assert decision.pattern == "catalog.php?item"
    assert learner.known_url(decision) == f"{URL}?item=100&cat=1"


def test_categories_themselves_are_fetched() -> None:
    learner = taught()
    assert not any(learner.decide(f"{URL}?cat={category}").skip for category in range(30, 60))


def test_products_of_another_script_are_fetched() -> None:
    learner = taught()
    learner.observe("https://shop.example/other.php?item=100&cat=1", "other 100")
    assert not learner.decide("https://shop.example/other.php?item=100&cat=2").skip


@in_crawl_order
def notebooks(rng: random.Random) -> Iterator[list[Page]]:
    """A folder is the same from whichever note it is opened; without a name it is the folder of the note itself."""
    for note in range(200):
        url = f"{URL}?note={note}"
        views = [(folder, view) for folder in rng.sample(range(12), 4) for view in ("list", "tiles")]
        own = [Page(f"{url}&folder={folder}&view={view}", f"folder {folder} as {view}") for folder, view in views]
        own += [Page(f"{url}&folder=&view={view}", f"folder of note {note} as {view}") for view in ("list", "tiles")]
        yield [Page(url, f"note {note}"), *own]


def test_an_empty_parameter_is_no_condition_of_what_holds_beside_it() -> None:
    for seed in (1, 2):
        rng = random.Random(seed)
        outcome, _ = crawl_and_ask(notebooks(rng), UrlLearner(seed=seed, checks=0.05), 0.0, rng)
        assert not outcome.lost
        assert outcome.saved > 0.5


def test_what_fell_beside_one_parameter_holds_beside_another() -> None:
    """All views of a folder seemed the same from any note, until one without a folder came, which is the note's own."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    for note in range(30):
        learner.observe(f"{URL}?note={note}", f"note {note}", checked=True)
    for number in range(30):
        learner.observe(f"{URL}?note={number}&folder={number % 10}&view=list", f"folder {number % 10}", checked=True)
    same_folder = f"{URL}?note=99&folder=5&view=list"
    assert learner.decide(same_folder).skip
    for note in range(5):
        learner.observe(f"{URL}?note={note}&folder=&view=list", f"folder of note {note}", checked=True)
    decision = learner.decide(same_folder)
    assert decision.skip
    assert decision.pattern == "catalog.php?folder"
    assert not learner.decide(f"{URL}?note=99&folder=&view=list").skip


def test_the_value_of_a_parameter_can_tell_pages_apart() -> None:
    """A print view is the same from all categories, a review is not."""
    learner = UrlLearner(thresholds=SURE, checks=1.0)
    teach_categories(learner)
    teach_products(learner, "&do=print")
    for number in range(30):
        for category in (1, 2):
            url = f"{URL}?item={number}&cat={category}&do=review"
            learner.observe(url, f"review {number} {category}", checked=True)
    for do in ("print", "review"):
        learner.observe(f"{URL}?item=100&cat=1&do={do}", f"{do} of product 100")
    assert learner.decide(f"{URL}?item=100&cat=2&do=print").skip
    assert not learner.decide(f"{URL}?item=100&cat=2&do=review").skip


def test_one_exception_gives_back_what_was_skipped() -> None:
    learner = taught()
    skipped = [f"{URL}?item=100&cat={category}" for category in range(2, 9)]
    assert all(learner.decide(url).skip for url in skipped)
    learner.observe(f"{URL}?item=101&cat=1", "product 101", checked=True)
    back = learner.observe(f"{URL}?item=101&cat=2", "product 101 in category 2", checked=True)
    assert set(back + learner.remaining()) == set(skipped)
    assert not learner.decide(skipped[0]).skip


def test_another_host_has_to_confirm_it() -> None:
    learner = taught()
    other = URL.replace("shop", "www.shop")
    learner.observe(f"{other}?item=500&cat=1", "another product")
    assert not learner.decide(f"{other}?item=500&cat=2").skip
    assert learner.decide(f"{URL}?item=100&cat=3").skip


def test_it_is_shown_and_no_rule_file_can_hold_it() -> None:
    (rule,) = [r for r in taught().rules() if r.in_force and r.pattern == "catalog.php?item" and r.value is None]
    assert rule.parts == ("query:cat",)
    assert "only where a URL has another parameter" in (export_obstacle(rule) or "")
    assert "only where a URL has another parameter" in (export_obstacle(rule, own=True) or "")


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.02])
def test_a_shop_with_one_script_saves_requests_and_loses_nothing(rate: float) -> None:
    for seed in range(1, 4):
        rng = random.Random(seed)
        pages = noisy(shop(rng), rate, rng)
        outcome, _ = crawl_and_ask(pages, UrlLearner(seed=seed, checks=0.05), rate, rng)
        assert outcome.lost == frozenset()
        assert outcome.saved > (0.2 if rate else 0.4)


@pytest.mark.slow
def test_where_categories_matter_now_and_then_nothing_is_lost() -> None:
    for seed in range(1, 4):
        rng = random.Random(seed)
        outcome, _ = crawl_and_ask(shop(rng, 0.1), UrlLearner(seed=seed, checks=0.05), 0.0, rng)
        assert outcome.lost == frozenset()
