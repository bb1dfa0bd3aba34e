"""The questions of a site: pages that are fetched once more, as they are unlike what they should be like by a rule."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.hypotheses import Hypothesis
from scrapy_simdedup.urls.patterns import PathPattern

FIRST_QUESTIONS = 20
"""Questions about a site that may be asked before anything was skipped, if it has as many repeats."""
_MAX_URGENT = 40
"""Questions that are asked before others and beyond what is allowed."""
MAX_OPEN = 1000
"""Pages of a site that are held at a time; further ones are believed at once."""
MAX_EARLY, MAX_EARLY_HERE = 1000, 6
"""Hypotheses at a pattern of which early failures are remembered, and how many of each."""
_MAX_ANSWERS = 3
"""Fetches of a page with another content each time, after which the first content is believed."""


class Question(NamedTuple):
    """A URL to fetch once more."""

    url: str
    doubted_url: str
    """The URL whose page speaks against a rule: the same, or one that should lead to the same page."""
    known_url: str | None = None
    """The URL of a known page that the page should be like; None if the URL is that one itself."""


class HeldPage(NamedTuple):
    """A fetched page that nothing is learned from before a question is answered."""

    url: str
    content: int


class EarlyFailure(NamedTuple):
    """A failed trial of a hypothesis of which too little was known to ask about it."""

    leaf: PathPattern
    hypothesis: Hypothesis
    url: str
    content: int
    known_url: str
    known_content: int


@dataclass(slots=True)
class Inquiry:
    """A URL whose page is fetched several times."""

    first: int
    """The content of the first fetch."""
    answers: list[int | None] = field(default_factory=list)
    """The contents of later fetches; None for a fetch without a usable page."""
    held: list[HeldPage] = field(default_factory=list)
    """The pages that wait for the answer."""
    failures: list[EarlyFailure] = field(default_factory=list)
    about: list[tuple[PathPattern, Hypothesis]] = field(default_factory=list)
    """The hypotheses that the answer matters to, and where."""
    expected: set[int] = field(default_factory=set)
    """The contents that a rule expects; one fetch that shows one of them is enough."""
    is_due: bool = True
    """Whether it is to be asked for, and was not yet."""


class Finding(NamedTuple):
    """What came of a question."""

    content: int
    """The content of the page, errors aside."""
    wrong: int | None
    """The content that the first fetch showed by error; None without an error."""


@dataclass(slots=True, eq=False)
class Questions:
    """The pages of a site that may have erred, and what was found out about them.

    Two pages that should be alike, and are not: the later one is fetched again, then the known one; the other way round
    where pages have erred and a single fetch gave the known one. A page that shows the same twice is believed from then
    on. If it shows something else, and that is known or comes twice, its first content was an error.
    """

    open: dict[str, Inquiry] = field(default_factory=dict)
    """URL → the question about its page. The next fetch answers it, whoever asked for the fetch."""
    _due: deque[Question] = field(default_factory=deque)
    sure: set[int] = field(default_factory=set)
    """Contents that a page showed twice."""
    wrong: dict[int, int] = field(default_factory=dict)
    """Contents by error → the true content of the page."""
    _early: dict[tuple[PathPattern, Hypothesis], list[EarlyFailure]] = field(default_factory=dict)
    _errors: Counter[int] = field(default_factory=Counter)
    """Contents by error → how often they were seen."""
    _exceptions: list[list[Evidence]] = field(default_factory=list)
    """What is known of the hypotheses that seemed right otherwise, and were wrong for a page, there and above."""
    odd: set[int] = field(default_factory=set)
    """Contents that are noise if the pages that show them, unlike all others, show them twice."""
    _urgent: int = 0
    """Questions that were urgent."""
    _renamed: int = 0
    """Pages that had shown no error, and whose content got another name since."""
    asked: int = 0
    were_told: bool = False
    """Whether another process found an error."""

    @property
    def know_errors(self) -> bool:
        """Whether a page showed an error of its own, unlike all others, so that any page may have shown one."""
        return self.were_told or 1 in self._errors.values()

    @property
    def know_exceptions(self) -> bool:
        """Whether a hypothesis that is right otherwise was wrong for a page, so that others may be.

        One that turns out to matter often is none, nor one that another took the blame from.
        """
        return any(
            found[0].confirmed_failures and not _most_tried(found).is_plainly_wrong for found in self._exceptions
        )

    def add_exception(self, pattern: PathPattern, hypothesis: Hypothesis) -> None:
        """Note that a hypothesis was wrong for a page that was fetched twice."""
        found = [at.evidence[hypothesis] for at in pattern.lineage]
        if _most_tried(found).is_held_back and found not in self._exceptions:
            self._exceptions.append(found)

    def is_common_error(self, content: int) -> bool:
        """Whether a content was an error more than once."""
        return self._errors[content] > 1

    def open_about(self, leaf: PathPattern, hypothesis: Hypothesis) -> Inquiry | None:
        """The first open question about a hypothesis at a leaf."""
        return next((inquiry for inquiry in self.open.values() if (leaf, hypothesis) in inquiry.about), None)

    def is_futile(self, lasting: int) -> bool:
        """Whether second looks tell nothing: more pages are unlike what they repeat each time than erred once."""
        return lasting > self._errors.total() + self._renamed

    def ask(
        self,
        url: str,
        content: int,
        *,
        because_of: str,
        known_url: str | None = None,
        about: list[tuple[PathPattern, Hypothesis]],
        expected: Iterable[int] = (),
        held: HeldPage | None = None,
        failure: EarlyFailure | None = None,
        is_urgent: bool = False,
    ) -> None:
        """Ask what a page really shows; a page that waits for the answer is held by the :class:`Inquiry`.

        What may prove noise is urgent: until it is proven, rules fall by it.
        """
        inquiry = self.open.get(url)
        if inquiry is None:
            inquiry = self.open[url] = Inquiry(content)
            self._due.append(Question(url, because_of, known_url))
        if is_urgent and inquiry.is_due and self._urgent < _MAX_URGENT:
            self._due = deque(sorted(self._due, key=lambda question: question.url != url))
            self._urgent += 1
        inquiry.about += about
        inquiry.expected.update(expected)
        if held is not None:
            inquiry.held.append(held)
        if failure is not None:
            inquiry.failures.append(failure)

    def due(self, allowed: int) -> list[Question]:
        """The questions to ask now, while no more than so many are asked in all, but for urgent ones."""
        found: list[Question] = []
        while self._due and self.asked < allowed + self._urgent:
            question = self._due.popleft()
            inquiry = self.open.get(question.url)
            if inquiry is not None and inquiry.is_due:
                inquiry.is_due = False
                self.asked += 1
                found.append(question)
        return found

    def answer(
        self, url: str, content: int | None, *, is_known: bool, was_known: bool, renamed: bool = False
    ) -> Finding | None:
        """What a URL really shows that shows this content when fetched again; None if it has to be fetched once more.

        It is enough to see once what the page should show, or what takes the place of a known error, unless that is one
        itself. Where another page has a content, ``is_known`` of this one and ``was_known`` of the first, it hardly is
        an error. Nor is it one where the page is ``renamed``: it says what it said.
        """
        inquiry = self.open[url]
        first, found = inquiry.first, None
        by_others = {held.content for held in inquiry.held if held.url != url}
        is_expected = is_known or first in self.wrong or content in inquiry.expected | by_others
        is_expected = is_expected and content not in self.wrong
        if content is not None and (is_expected or content == first or content in inquiry.answers):
            found = content
        inquiry.answers.append(content)
        if found is None and len(inquiry.answers) >= _MAX_ANSWERS:
            found = first
        if found is None:
            inquiry.is_due = True
            self._due.append(Question(url, url))
            return None
        del self.open[url]
        wrong = first if found != first else None
        if renamed:
            self._renamed += wrong is not None
        else:
            self._errors.update(shown for shown in (wrong, *inquiry.answers) if shown not in (None, found))
        self.sure.add(found)
        self.wrong.pop(found, None)
        if wrong is not None and not was_known:
            self.wrong[wrong] = found
        elif wrong is not None and not renamed:
            self._errors[wrong] += 1  # another page shows it as well
        return Finding(found, wrong)

    def give_up(self) -> list[HeldPage]:
        """Close all questions, as nobody is going to answer them; the pages that waited are to be believed."""
        held = [page for inquiry in self.open.values() for page in inquiry.held]
        self.open.clear()
        self._due.clear()
        return held

    def remember(self, failure: EarlyFailure) -> None:
        """Remember an early failure."""
        about = failure.leaf, failure.hypothesis
        if about in self._early or len(self._early) < MAX_EARLY:
            here = self._early.setdefault(about, [])
            here += [failure] * (len(here) < MAX_EARLY_HERE)

    def early_failures(self, leaf: PathPattern, hypothesis: Hypothesis) -> list[EarlyFailure]:
        """The early failures of a hypothesis at a leaf."""
        return self._early.get((leaf, hypothesis), [])

    def failures_with(self, content: int) -> list[EarlyFailure]:
        """The early failures that a content took part in."""
        every = (failure for here in self._early.values() for failure in here)
        return [failure for failure in every if content in (failure.content, failure.known_content)]

    def forget(self, failure: EarlyFailure) -> bool:
        """Forget an early failure; returns False if it was forgotten already."""
        here = self._early.get((failure.leaf, failure.hypothesis), [])
        known = failure in here
        here[:] = [other for other in here if other != failure]
        return known


def _most_tried(found: list[Evidence]) -> Evidence:
    return max(found, key=lambda evidence: evidence.trials)
