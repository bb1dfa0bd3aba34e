"""What one host of a site teaches is no rule on another, until that one has confirmed it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from helpers.simulated_crawl import Outcome, Page, crawl
from scrapy_simdedup.urls import UrlLearner
from scrapy_simdedup.urls import site as site_module

FALSE, TRUE = "http://mallory.example.com", "http://www.example.com"


def of_mallory(number: int, pages: int = 6) -> list[Page]:
    """Pages that ignore their id: so many of each content, under any host's path."""
    return [
        Page(f"{FALSE}/article?id={content * pages + n}&c={content}", f"mallory {content}")
        for content in range(number)
        for n in range(pages)
    ]


def articles(number: int, host: str = TRUE) -> list[Page]:
    return [Page(f"{host}/article?id={n}", f"article {n}") for n in range(number)]


def with_sessions(host: str, numbers: Sequence[int], per_article: int = 4) -> list[Page]:
    """Articles, each under several URLs of one host that differ in a session id alone."""
    return [
        Page(f"{host}/article?id={n}" + (f"&sid={n * 31 + s:016x}" if s else ""), f"{host} {n}")
        for n in numbers
        for s in range(per_article)
    ]


def run(pages: list[Page], seed: int = 1) -> Outcome:
    return crawl(pages, UrlLearner(seed=seed))


def skips(learner: UrlLearner, pages: list[Page]) -> int:
    """How many of the pages are not fetched; the others are learned from."""
    skipped = 0
    for page in pages:
        if learner.decide(page.url).skip:
            skipped += 1
        else:
            learner.observe(page.url, page.content)
    return skipped


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("taught", [40, 400])
def test_a_host_cannot_teach_a_parameter_away_on_another_host(seed: int, taught: int) -> None:
    """All articles are fetched, and not one of them only because a rule fell in the end."""
    learner = UrlLearner(seed=seed)
    assert skips(learner, of_mallory(taught)) > taught
    assert skips(learner, articles(20)) == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_host_cannot_teach_other_hosts_after_they_came(seed: int) -> None:
    """Its lessons between the articles are no rules for these either."""
    pages = [page for pair in zip(of_mallory(100), articles(600), strict=True) for page in pair]
    assert run(pages, seed).lost == frozenset()
    learner = UrlLearner(seed=seed)
    skips(learner, pages)
    assert skips(learner, [Page(f"{TRUE}/article?id={n}", f"late {n}") for n in range(600, 700)]) == 0


def test_a_host_cannot_pose_as_another() -> None:
    """Pages of www are no copies because mallory and m are copies of each other."""
    mirrors = [
        Page(f"http://{host}.example.com/story?id={n}", f"story {n}") for n in range(60) for host in ("mallory", "m")
    ]
    learner = UrlLearner(seed=1)
    assert skips(learner, mirrors) > 20
    assert skips(learner, [Page(f"{TRUE}/story?id={n}", f"other {n}") for n in range(60)]) == 0


def test_a_host_that_confirms_a_rule_saves_by_it() -> None:
    """Four contents of its own are enough."""
    learner = UrlLearner(seed=1)
    first = skips(learner, with_sessions("http://a.example.com", range(40)))
    second = skips(learner, with_sessions("http://b.example.com", range(40)))
    assert first > 60
    assert second > 0.9 * first


def test_the_rules_of_the_first_host_stay_when_a_second_comes() -> None:
    learner = UrlLearner(seed=1)
    skips(learner, with_sessions(TRUE, range(40)))
    learner.observe("http://new.example.com/", "new")
    late = with_sessions(TRUE, range(100, 140))
    assert skips(learner, late) > 0.6 * len(late)


def test_parameters_that_track_people_matter_on_no_host() -> None:
    learner = UrlLearner(seed=1)
    learner.observe(f"{FALSE}/a", "a")
    pages = [Page(f"{TRUE}/article?id={n}{mark}", f"article {n}") for n in range(40) for mark in ("", "&gclid=x")]
    assert skips(learner, pages) > 20


def test_what_a_host_no_longer_confirms_is_readmitted() -> None:
    """While mallory goes on to teach it, www changes its mind."""
    fine = with_sessions(TRUE, range(60))
    turned = [Page(f"{TRUE}/article?id={n}&sid={s}", f"{n} {s}") for n in range(100, 160) for s in range(4)]
    taught = with_sessions(FALSE, range(500))
    outcome = run([*fine, *taught[:600], *(p for pair in zip(turned, taught[600:], strict=False) for p in pair)])
    assert outcome.lost == frozenset()
    assert outcome.readmitted > 0


def test_the_trials_of_many_hosts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A site can have any number of hosts; those that were forgotten confirm their rules anew."""
    monkeypatch.setattr(site_module, "MAX_HOST_TRIALS", 100)
    learner = UrlLearner(seed=1)
    for number in range(60):
        skips(learner, with_sessions(f"http://h{number}.example.com", range(5)))
    (site,) = learner._sites.values()
    assert len(site.hosts._trials) <= 100
    assert skips(learner, articles(20)) == 0
