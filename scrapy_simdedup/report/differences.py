"""Which lines of two texts differ, and which words within them."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simdedup.page.kinds import Kind
from scrapy_simdedup.page.roles import ROLE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.page.page import Block

MOST_LINES = 5_000
"""Lines of a text that are looked at."""
MOST_WORDS = 400
"""Words of a line above which it differs as a whole: finding out which do takes quadratic time."""


class Line(NamedTuple):
    """A block of text on a page."""

    role: str
    """The part of the page that it belongs to."""
    text: str


class Difference(NamedTuple):
    """A line that is in one text only, or that reads differently in the other."""

    role: str
    one: str | None
    """None if there is nothing in its place."""
    other: str | None
    """None if there is nothing in its place."""


class Stretch(NamedTuple):
    """A part of a line."""

    text: str
    differs: bool


def differences(one: Sequence[Line], other: Sequence[Line]) -> tuple[Difference, ...]:
    """What is not the same in both, in their order; a line's role counts only where its text differs.

    >>> differences([Line("content", "a"), Line("content", "b")], [Line("content", "a"), Line("footer", "c")])
    (Difference(role='content', one='b', other='c'),)
    """
    one, other = one[:MOST_LINES], other[:MOST_LINES]
    found = []
    matcher = SequenceMatcher(None, [line.text for line in one], [line.text for line in other])
    for what, a, b, c, d in matcher.get_opcodes():
        if what != "equal":
            for left, right in zip_longest(one[a:b], other[c:d]):
                line = left or right
                found.append(Difference(line.role, left and left.text, right and right.text))
    return tuple(found)


def stretches(one: str, other: str) -> tuple[list[Stretch], list[Stretch]]:
    """Two lines in parts that are the same in both, and parts that are not.

    >>> stretches("two fresh eggs", "two old eggs")[0]
    [Stretch(text='two ', differs=False), Stretch(text='fresh ', differs=True), Stretch(text='eggs', differs=False)]
    """
    left, right = one.split(), other.split()
    if max(len(left), len(right)) > MOST_WORDS:
        return [Stretch(one, differs=True)], [Stretch(other, differs=True)]
    parts: tuple[list[Stretch], list[Stretch]] = ([], [])
    for what, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for words, part, total in ((left[a:b], parts[0], b < len(left)), (right[c:d], parts[1], d < len(right))):
            if words:
                part.append(Stretch(" ".join(words) + " " * total, what != "equal"))
    return parts


def role_of(block: Block) -> str:
    """What part of its page a block belongs to, in words."""
    if block.kind is not Kind.FRAME:
        return "content" if block.kind is Kind.FIRM else "loose text"
    return ", ".join(name for role, name in ROLE_NAMES.items() if block.frame & role)
