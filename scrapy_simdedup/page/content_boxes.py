"""What the boxes of a page and the texts in them are like, as the content model asks.

Of boxes it asks for roles, levels, and how they lie to one another. Those that hold the same blocks are one, so that
wrappers do not matter. Of a text it asks for its characters by their kinds, and what has a form of its own, in any
script.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from scrapy_simdedup.page.metadata import DESCRIPTION_BEGINNING, MIN_DESCRIPTION_LENGTH
from scrapy_simdedup.page.roles import MAIN, MAIN_TAG, ROLE_NAMES, TAG_IDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.page.block_tree import BlockTree

    Places: TypeAlias = NDArray[np.int64]

LEVELS_UP, LEVELS_DOWN = 5, 3
"""Boxes around a block that are looked at: the innermost ones, and the outermost ones below the page."""
BITS = {
    **{
        name.replace(" ", "_"): role
        for role, name in ROLE_NAMES.items()
        if name in {"navigation", "footer", "aside", "form", "cookie notice"}
    },
    "main": MAIN,
    "main_tag": MAIN_TAG,
    "list": 1 << 32,
    "table": 1 << 33,
    "body_property": 1 << 34,
}
"""The roles of boxes that are asked for, and further bits above them."""
BITS_OF_TAG = np.zeros(64, np.int64)
for _tag, _name in (("ul", "list"), ("ol", "list"), ("dl", "list"), ("table", "table")):
    BITS_OF_TAG[TAG_IDS[_tag]] = BITS[_name]


class Boxes(NamedTuple):
    """The boxes of a page with text; boxes around the same blocks are one."""

    of_blocks: Places
    parents: Places
    firsts: Places
    ends: Places
    bits: Places
    class_paths: Places
    around: Places
    """The bits of each box of the tree and of all around it."""


def find_boxes(tree: BlockTree, count: int) -> Boxes:
    """The boxes of a tree that was made with ``detailed=True`` and has so many blocks."""
    parents = tree.box_parents
    first, end = [count] * len(parents), [0] * len(parents)
    for block, box in enumerate(tree.boxes):
        first[box], end[box] = min(first[box], block), block + 1
    for box in range(len(parents) - 1, 0, -1):
        parent = parents[box]
        first[parent], end[parent] = min(first[parent], first[box]), max(end[parent], end[box])
    own = np.array(tree.box_roles, np.int64) | BITS_OF_TAG[np.array(tree.box_tags, np.int64)]
    own |= BITS["body_property"] * np.array(tree.box_bodies, np.int64)
    around: list[int] = []
    numbers: list[int] = []
    kept: list[int] = []
    bits: list[int] = []
    for box, (parent, found) in enumerate(zip(parents, own.tolist(), strict=True)):
        around.append(found | around[parent] if box else found)
        if first[box] >= end[box]:
            numbers.append(0)
        elif box and (first[box], end[box]) == (first[parent], end[parent]):
            numbers.append(numbers[parent])
            bits[numbers[box]] |= found
        else:
            numbers.append(len(kept))
            kept.append(box)
            bits.append(found)
    made = (
        [numbers[box] for box in tree.boxes],
        [numbers[max(0, parents[box])] for box in kept],
        [first[box] for box in kept],
        [end[box] for box in kept],
        bits,
        [tree.box_class_paths[box] for box in kept],
        around,
    )
    return Boxes(*(np.array(values, np.int64) for values in made))


def depths_of(parents: Sequence[int]) -> Places:
    """For each box, how many boxes there are around it."""
    depths = [0] * len(parents)
    for box in range(1, len(parents)):
        depths[box] = depths[parents[box]] + 1
    return np.array(depths, np.int64)


def outermost_boxes(parents: Sequence[int], depths: Sequence[int]) -> list[Places]:
    """For each box, the boxes around it at the first levels below the page; itself where it lies less deep."""
    made = []
    for down in range(1, LEVELS_DOWN + 1):
        outer = list(range(len(parents)))
        for box in range(1, len(parents)):
            if depths[box] > down:
                outer[box] = outer[parents[box]]
        made.append(np.array(outer, np.int64))
    return made


def common_box(
    anchor: int, parents: Places, first: Places, end: Places, index: Places
) -> tuple[Places, Places, Places]:
    """For each block, the innermost box around it and a certain box, the steps to it, and how far it lies beside."""
    chain = [anchor]
    while chain[-1]:
        chain.append(int(parents[chain[-1]]))
    boxes = np.array(chain)
    by_begin = len(boxes) - np.searchsorted(first[boxes][::-1], index, side="right")
    by_end = np.searchsorted(end[boxes], index, side="right")
    steps = np.minimum(np.maximum(by_begin, by_end), len(boxes) - 1)
    beside = np.where(index < first[anchor], index - first[anchor], np.maximum(index - end[anchor] + 1, 0))
    return boxes[steps], steps, beside


MAX_TITLE_LENGTH = 300
"""Characters above which a block is not compared with the title."""
MAX_REPEATED_LENGTH = 100
"""Characters above which two blocks that differ in numbers only are two."""
MAX_PATTERN_LENGTH = 200
"""Characters above which a block is searched for no price."""
FEW_CHARACTERS = 12
"""Characters of a block that are looked for in descriptions before more of it is."""
OTHER, SPACE, STOP, COMMA, DIGIT, UPPER, LOWER = range(7)
_KINDS = 7
KIND_OF_BYTE = np.zeros(256, np.uint8)
for _kind, _those in (
    *((SPACE, b" \t\n\r\f\v\x1e"), (STOP, b".!?"), (COMMA, b",;:"), (DIGIT, b"0123456789")),
    *((UPPER, bytes(range(65, 91))), (LOWER, bytes(range(97, 123)))),
):
    KIND_OF_BYTE[list(_those)] = _kind
STOPS = frozenset(".!?…。！？")
WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
PRICE = re.compile(r"[$€£¥₹]\s?\d|\d\s?[€₽]")


def count_characters(texts: Sequence[str]) -> NDArray[np.int64]:
    """How many characters of each kind there are in each text."""
    raw = [text.encode("utf-8", "replace") for text in texts]
    starts = np.repeat(np.arange(len(raw)) * _KINDS, [len(text) for text in raw])
    found = KIND_OF_BYTE[np.frombuffer(b"".join(raw), np.uint8)]
    return np.bincount(starts + found, minlength=len(raw) * _KINDS).reshape(len(raw), _KINDS)


def count_repeats(texts: Sequence[str], with_digits: Sequence[bool]) -> NDArray[np.int64]:
    """How often the page has each text; short ones may differ in numbers."""
    keys = [
        _NUMBER.sub("0", text) if digits and len(text) < MAX_REPEATED_LENGTH else text
        for text, digits in zip(texts, with_digits, strict=True)
    ]
    counts = Counter(keys)
    return np.array([counts[key] for key in keys], np.int64)


def count_copies(texts: Sequence[str]) -> NDArray[np.int64]:
    """How often each text stands above it already, as where a page has a part for phones and another for desktops."""
    seen = Counter[str]()
    made = []
    for text in texts:
        made.append(seen[text])
        seen[text] += 1
    return np.array(made, np.int64)


def likeness_to_title(title: str, texts: Sequence[str], length: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each short block, the share of the title's words that it has."""
    covered = np.zeros(len(texts))
    wanted = set(WORD.findall(title.lower()))
    if wanted:
        for number in np.flatnonzero(length <= MAX_TITLE_LENGTH).tolist():
            covered[number] = len(wanted.intersection(WORD.findall(texts[number].lower()))) / len(wanted)
    return covered


def likeness_to_descriptions(descriptions: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
    """For each block, 1 where it begins as a description has it or has what one begins with, else 0.

    -1 where the page has no description, and for blocks that are too short to tell.
    """
    made = np.full(len(texts), -1, np.float32)
    if not descriptions:
        return made
    ends = list(accumulate(len(text) + 1 for text in texts))
    described, page = "\n".join(descriptions), "\n".join(texts)
    for number, text in enumerate(texts):
        if len(text) >= MIN_DESCRIPTION_LENGTH:
            few = text[:FEW_CHARACTERS]
            is_likely = few in described or not few.isprintable()  # as it is where a line ends in it
            made[number] = is_likely and _first_line(text) in described
    for description in descriptions:
        beginning = description[:DESCRIPTION_BEGINNING]
        at = page.find(beginning)
        while at >= 0:
            number = bisect_right(ends, at)
            made[number] = 1
            at = page.find(beginning, ends[number])
    return made


def _first_line(text: str) -> str:
    """The beginning of a text that a page may have in several lines, in one."""
    return " ".join(text[: 2 * DESCRIPTION_BEGINNING].split())[:DESCRIPTION_BEGINNING]
