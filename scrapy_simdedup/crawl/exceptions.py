"""The exceptions that drop a page, a request or an item in Scrapy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem, IgnoreRequest

from scrapy_simdedup.display import plural

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_simdedup.detect.verdict import Verdict


class NearDuplicatePage(IgnoreRequest):
    """The page repeats one that was delivered, so its callback is not called.

    It reaches the request's errback, where there is one; ``failure.check(NearDuplicatePage)`` tells it apart.
    """

    def __init__(self, response: Response, verdict: Verdict) -> None:
        self.response = response
        """The page that was dropped."""
        self.verdict = verdict
        """Its verdict, with the original, the kind and the similarity."""
        super().__init__(f"{response.url} {_what_it_is(verdict)}")


def _what_it_is(verdict: Verdict) -> str:
    if verdict.kind == "unchanged":
        return "did not change since it was delivered"
    alike = "" if verdict.similarity is None else f", similarity {verdict.similarity:.3f}"
    return f"repeats {verdict.original} ({verdict.kind}{alike}{_own_text(verdict.own_words)})"


def _own_text(words: int | None) -> str:
    """What a dropped page had of its own, as the end of a list."""
    if words is None:
        return ""
    return f", {plural(words, 'word')} of its own" if words else ", nothing of its own"


class SkippedRequest(IgnoreRequest):
    """The request is not made, because its URL leads to content that was delivered.

    It reaches the request's errback, where there is one. If the rule turns out to be wrong, the request is made after
    all.
    """

    def __init__(self, url: str, known_url: str | None, rule: str) -> None:
        self.url = url
        """The URL that was not fetched."""
        self.known_url = known_url
        """The URL of the fetched page whose content it leads to."""
        self.rule = rule
        """The rule by which it was skipped, such as ``query:sid in viewtopic.php``."""
        super().__init__(f"{url} leads to the page of {known_url}: {rule} does not matter")


class LinkNotFollowed(IgnoreRequest):
    """The request is not made, because only repeats link to it, and links of its pattern lead to known content.

    It reaches the request's errback, where there is one.
    """

    def __init__(self, url: str, pattern: str, bound: float) -> None:
        self.url = url
        """The URL that was not fetched."""
        self.pattern = pattern
        """The links that it is like, such as ``blog.example/#?replytocom``."""
        self.bound = bound
        """The upper bound (95 %) for the share of these links that lead to new content, 0..1."""
        super().__init__(f"only repeats link to {url}, and at most {bound:.1%} of {pattern} lead to new content")


class NearDuplicateItem(DropItem):
    """The item repeats one that was delivered."""
