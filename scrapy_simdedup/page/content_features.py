"""Features of blocks: numbers that tell main content from what is around it, in any language and without any names.

All are counts, or quotients of counts, so they are the same on every platform. A feature has a name of two parts: of
what it is a number (the block, a box around it, the page) and which number. ``up0.links`` is the share of links in the
innermost box around a block, ``down1.links`` that in the outermost one below the page. Boxes that hold the same blocks
are one, so that wrappers do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from scrapy_simdedup.page import content_boxes
from scrapy_simdedup.page.metadata import KINDS_OF_PAGES
from scrapy_simdedup.page.roles import BOILERPLATE_ROLES, H1, HEADING, MAIN, PARAGRAPH, TAG_IDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.page.block_tree import BlockTree

    Numbers: TypeAlias = NDArray[np.float32]
    Places: TypeAlias = NDArray[np.int64]

PROSE = 80
"""Characters outside of links from which a block is prose."""
LONG_PROSE = 300
"""Characters outside of links that no teaser has, so that its block is a paragraph."""
FAR = 500
"""The distance of what a page does not have."""
FULL_WEIGHT = 400
"""Characters of a block above which it weighs no more in the second round."""
_MASKS = np.array(list(content_boxes.BITS.values()), np.int64)
_OWN_BITS = {"table": content_boxes.BITS["table"], "main": MAIN, "boilerplate": BOILERPLATE_ROLES}
"""What is asked of the own bits of a box."""
_PROSE_BITS = ("main", "body_property")
_PAGE_BITS = ("main", "main_tag", "form", "table", "aside")
_DECLARED_KINDS = tuple(dict.fromkeys(KINDS_OF_PAGES.values()))
_HEADING_LEVEL = np.zeros(64, np.int64)
for _level in range(1, 7):
    _HEADING_LEVEL[TAG_IDS[f"h{_level}"]] = _level
_TAG_KINDS = {f"in_{tag}": np.arange(64) == TAG_IDS[tag] for tag in ("li", "div")}


class Features(NamedTuple):
    """The numbers of a page that features are made of."""

    block_names: tuple[str, ...]
    box_names: tuple[str, ...]
    page_names: tuple[str, ...]
    blocks: Numbers
    """Numbers of each block: a row for each number."""
    boxes: Numbers
    """Numbers of each box; boxes around the same blocks are one."""
    page: Numbers
    places: Places
    """For each prefix of ``PLACES``, the box of each block that it names; a row for each prefix."""
    lengths: NDArray[np.int64]
    groups: Places
    """For each block, the number of its group: blocks whose boxes have the same tags and classes."""
    firsts: Places
    ends: Places
    """The block behind the last one of each box."""

    def matrix(self, names: Sequence[str]) -> Numbers:
        """The features with these names: a row for each block. What the first round gives is still to be filled in."""
        made = np.empty((len(names), len(self.lengths)), np.float32)
        gather(made, rows_of(tuple(names), self), self.blocks, self.boxes, self.page, self.places)
        turned: Numbers = made.T
        return turned


PLACES = (
    *(f"up{level}" for level in range(content_boxes.LEVELS_UP)),
    *(f"down{level}" for level in range(1, content_boxes.LEVELS_DOWN + 1)),
)
"""Which box around a block: ``up0`` is the innermost one, ``down1`` the outermost one below the page."""
SAID_NAMES = (
    *("said", "said+1", "said+2", "said+3", "said-1", "said-2", "said-3"),
    *("said_within3", "said_within8", "said_within25"),
    *(f"{what}_{place}" for place in PLACES for what in ("said", "others")),
    *("said_group", "said_group_most", "from_first_likely", "to_last_likely"),
    *("said_before", "said_page", "said_page_sum", "said_most"),
)
"""The names of the features of the second round that the first one gives."""
_OF_BLOCKS, _OF_PAGE, _OF_OTHERS = -1, -2, -3
"""Stand for the place of a number that no box has."""


def rows_of(names: tuple[str, ...], features: Features) -> NDArray[np.intp]:
    """For each name, the place that it asks for, and the row of the number there."""
    return _rows(names, features.block_names, features.box_names, features.page_names)


@lru_cache(32)
def _rows(
    names: tuple[str, ...], of_blocks: tuple[str, ...], of_boxes: tuple[str, ...], of_page: tuple[str, ...]
) -> NDArray[np.intp]:
    known = {f"block.{name}": (_OF_BLOCKS, row) for row, name in enumerate(of_blocks)}
    known |= {f"page.{name}": (_OF_PAGE, row) for row, name in enumerate(of_page)}
    known |= {f"{at}.{name}": (place, row) for place, at in enumerate(PLACES) for row, name in enumerate(of_boxes)}
    return np.array([known.get(name, (_OF_OTHERS, 0)) for name in names], np.intp).reshape(-1, 2)


def python_gather(  # noqa: PLR0917 - all are the numbers of one page
    made: Numbers, rows: NDArray[np.intp], blocks: Numbers, boxes: Numbers, page: Numbers, places: Places
) -> None:
    """Fill a matrix with numbers: a row for each place and row that is asked for."""
    for row, (place, number) in zip(made, rows.tolist(), strict=True):
        if place >= 0:
            row[:] = boxes[number][places[place]]
        elif place == _OF_BLOCKS:
            row[:] = blocks[number]
        elif place == _OF_PAGE:
            row[:] = page[number]


def python_counted_features(tree: BlockTree) -> Features:  # noqa: PLR0915 - one number after the other
    """The features that are counted in the blocks and boxes of a page; the tree is made with ``detailed=True``.

    Where the package was installed with its compiled part, :mod:`scrapy_simdedup.page._content_model` does the same.
    """
    texts, count = tree.texts, len(tree.texts)
    index = np.arange(count)
    length = np.array([len(text) for text in texts], np.int64)
    links = np.array(tree.link_lengths, np.int64)
    kinds = content_boxes.count_characters(texts)
    words = kinds[:, content_boxes.SPACE] + 1
    of_text = np.array(tree.text_roles, np.int64)
    in_box = np.array(tree.boxes, np.int64)
    tags = np.array(tree.box_tags, np.int64)[in_box]
    link_share = links / length
    prose = np.where((length - links >= PROSE) & (2 * links < length), length - links, 0)
    stop_end = np.array([text[-1] in content_boxes.STOPS for text in texts])
    is_heading, is_h1 = (of_text & HEADING) > 0, (of_text & H1) > 0
    level = np.where(is_heading & (_HEADING_LEVEL[tags] == 0), 7, _HEADING_LEVEL[tags])
    start, all_prose, all_links = cumulated(length), cumulated(prose), cumulated(links)
    total, prose_total = int(start[-1]), max(1, int(all_prose[-1]))
    with_digits = kinds[:, content_boxes.DIGIT] > 0
    repeats = content_boxes.count_repeats(texts, with_digits.tolist())
    copies = content_boxes.count_copies(texts)
    images, elements = np.array(tree.image_counts, np.int64), np.array(tree.last_elements, np.int64)
    anchors = np.array(tree.link_counts, np.int64)
    price = np.zeros(count, np.bool_)
    for block in np.flatnonzero(with_digits & (length < content_boxes.MAX_PATTERN_LENGTH)).tolist():
        price[block] = content_boxes.PRICE.search(texts[block]) is not None
    class_paths = np.array(tree.box_class_paths, np.int64)[in_box]
    h1s = np.flatnonzero(is_h1)
    h1 = int(h1s[0]) if len(h1s) else -1

    longs = np.flatnonzero(prose > LONG_PROSE)
    before = np.searchsorted(longs, index) - 1
    of_title = content_boxes.likeness_to_title(tree.title, texts, length)
    best = int(of_title.argmax())
    blocks: dict[str, NDArray[np.generic]] = {
        "word_length": length / words,
        "links": link_share,
        "commas": kinds[:, content_boxes.COMMA] / words,
        "upper": kinds[:, content_boxes.UPPER]
        / np.maximum(kinds[:, content_boxes.UPPER] + kinds[:, content_boxes.LOWER], 1),
        "repeats": repeats,
        "copies": np.where(length >= PROSE, copies, -1),
        **{kind: table[tags] for kind, table in _TAG_KINDS.items()},
        "index_place": index / count,
        "prose_before": all_prose[:-1] / prose_total,
        "from_h1": index - h1 if h1 >= 0 else np.full(count, -999),
        "chars_from_h1": start[:-1] - start[h1] if h1 >= 0 else np.full(count, -99999),
        "long_back": np.where(before >= 0, index - np.append(longs, 0)[before], FAR),
        **_under_headings(np.flatnonzero(is_heading), index, start, all_links, level),
        "of_title": of_title,
        "from_title": index - best if of_title[best] > 0.4 else np.full(count, -999),
        "links-1": np.append(link_share[1:], -1),
        "repeats-1": np.append(repeats[1:], -1),
    }
    for radius in (2, 5, 12):
        low, high = np.maximum(index - radius, 0), np.minimum(index + radius + 1, count)
        chars = start[high] - start[low]
        blocks[f"links_within{radius}"] = (all_links[high] - all_links[low]) / chars
        blocks[f"mean_within{radius}"] = chars / (high - low)
        blocks[f"elements_within{radius}"] = (elements[high - 1] - elements[low]) / chars
    groups, of_groups = _group_numbers("group", class_paths, length, links, stop_end, repeats)
    tag_paths = np.array(tree.box_paths, np.int64)[in_box]
    blocks |= of_groups | _group_numbers("tag_group", tag_paths, length, links, stop_end, repeats)[1]

    boxes = content_boxes.find_boxes(tree, count)
    here, parents, first, end = boxes.of_blocks, boxes.parents, boxes.firsts, boxes.ends
    size = len(parents)
    depth = content_boxes.depths_of(parents.tolist())

    def inside(values: NDArray[np.generic]) -> Places:
        sums = cumulated(values)
        made: Places = sums[end] - sums[first]
        return made

    box_length, box_links, box_prose, box_blocks = inside(length), inside(links), inside(prose), end - first
    in_paragraphs = inside(np.where((of_text & PARAGRAPH) > 0, length, 0))
    longest = np.maximum.reduceat(np.append(length, 0), np.stack([first, end], axis=1).ravel())[::2]
    _, kin = np.unique(parents * (1 << 33) + boxes.class_paths, return_inverse=True)
    kin_counts, kin_lengths = np.bincount(kin), np.bincount(kin, box_length)
    kin_links = np.bincount(kin, box_links)
    box_images, box_prices = inside(images), inside(price)
    numbers: dict[str, NDArray[np.generic]] = {
        "length": box_length,
        "share": box_length / total,
        "links": box_links / box_length,
        "blocks": box_blocks,
        "mean": box_length / box_blocks,
        "prose": box_prose / prose_total,
        "stops": inside(kinds[:, content_boxes.STOP]) / inside(words),
        "stop_ends": inside(stop_end) / box_blocks,
        "kin": kin_counts[kin],
        "kin_share": (kin_lengths / total)[kin],
        "kin_links": (kin_links / kin_lengths)[kin],
        "kin_mean": (kin_lengths / kin_counts)[kin],
        "p": in_paragraphs / max(1, int(in_paragraphs[0])),
        "p_own": in_paragraphs / box_length,
        "headings": inside(is_heading) / box_blocks,
        "place": start[first] / total,
        "end": (total - start[end]) / total,
        "children": np.bincount(parents[1:], minlength=size),
        "anchors": inside(anchors) / box_blocks,
        "images": box_images,
        "image_share": box_images / box_blocks,
        "elements": (elements[end - 1] - np.where(first > 0, elements[first - 1], 0)) / box_length,
        "repeats": inside(repeats > 1) / box_blocks,
        "copies": inside(np.where(copies > 0, length, 0)) / box_length,
        "prices": box_prices,
        "longest": longest,
        "title": inside(of_title > 0.5) > 0,
        **{name: (boxes.bits & bits) > 0 for name, bits in _OWN_BITS.items()},
    }
    places = [here]
    for _ in range(1, content_boxes.LEVELS_UP):
        places.append(parents[places[-1]])
    places.extend(outer[here] for outer in content_boxes.outermost_boxes(parents.tolist(), depth.tolist()))

    # the box that stands for the content: a block gives its box its prose, and the box around it half of that
    direct = np.bincount(here, prose, minlength=size)
    scores = direct + 0.5 * np.bincount(parents[here], prose, minlength=size)
    repeated = np.where(kin_counts >= 3, kin_lengths - kin_links, 0)
    best_kin = int(np.flatnonzero(kin == int(repeated.argmax()))[0])
    has_kin = repeated.max() > 0
    for name, anchor in (
        ("top", int(scores.argmax())),
        ("of_h1", int(here[h1]) if h1 >= 0 else 0),
        ("of_longest", int(here[int(prose.argmax())])),
        ("of_kin", int(parents[best_kin]) if has_kin else 0),
    ):
        common, steps, beside = content_boxes.common_box(anchor, parents, first, end, index)
        blocks |= {
            f"{name}_steps": steps,
            f"{name}_share": (box_length / total)[common],
            f"{name}_prose": (box_prose / prose_total)[common],
            f"{name}_links": (box_links / box_length)[common],
            f"{name}_beside": beside,
            f"{name}_below": depth[here] - depth[common],
        }
    has = (boxes.around[in_box][:, None] & _MASKS) > 0
    shares = (has * length[:, None]).sum(axis=0) / total
    prose_shares = (has * prose[:, None]).sum(axis=0) / prose_total
    number_of = {name: number for number, name in enumerate(content_boxes.BITS)}
    for name, number in number_of.items():
        blocks[f"around_{name}"] = np.where(has[:, number], shares[number], -1)
    for name in _PROSE_BITS:
        blocks[f"prose_around_{name}"] = np.where(has[:, number_of[name]], prose_shares[number_of[name]], -1)
    page = {
        "length": total,
        "prose": int(all_prose[-1]) / total,
        "prose_blocks": int((prose > 0).sum()),
        "p": int(in_paragraphs[0]) / total,
        "headings": int(is_heading.sum()) / count,
        "kin": int(kin_counts.max()),
        "kin_share": float(repeated.max()) / total,
        "images": int(box_images[0]) / count,
        "prices": int(box_prices[0]),
        "longest": int(length.max()),
        "stop_ends": int(stop_end.sum()) / count,
        "in_lists": int((length * _TAG_KINDS["in_li"][tags]).sum()) / total,
        **{f"in_{name}": float(shares[number_of[name]]) for name in _PAGE_BITS},
    }
    return Features(
        tuple(blocks),
        tuple(numbers),
        tuple(page),
        np.array(list(blocks.values()), np.float32),
        np.array(list(numbers.values()), np.float32),
        np.array(list(page.values()), np.float32),
        np.stack(places),
        length,
        groups,
        first,
        end,
    )


def cumulated(values: NDArray[np.generic]) -> NDArray[np.int64]:
    """The sums of the values before each place, and of all."""
    made = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=made[1:])
    return made


def _under_headings(
    headings: Places, index: Places, start: Places, links: Places, level: Places
) -> dict[str, NDArray[np.generic]]:
    """What stands between the heading before each block, or the begin of the page, and the next one."""
    at = np.searchsorted(headings, index, side="right") - 1
    bounds = np.append(headings, len(index))
    none = at < 0
    heading = np.where(none, 0, bounds[np.maximum(at, 0)])
    heading = np.minimum(heading, len(index) - 1)
    following = bounds[at + 1]
    under = np.maximum(start[following] - start[heading], 1)
    return {
        "from_heading": np.where(none, FAR, index - heading),
        "to_heading": following - index,
        "under_heading": under,
        "links_under_heading": (links[following] - links[heading]) / under,
        "heading_level": np.where(none, 0, level[heading]),
    }


def _group_numbers(  # noqa: PLR0917 - as above
    name: str, paths: Places, length: Places, links: Places, stop_end: NDArray[np.bool_], repeats: Places
) -> tuple[Places, dict[str, NDArray[np.generic]]]:
    """The number of each block's group, and what is asked of the group: blocks at the same path."""
    _, group = np.unique(paths, return_inverse=True)
    counts, lengths = np.bincount(group), np.bincount(group, length)
    order = np.argsort(group, kind="stable")
    bounds = np.cumsum(counts)
    first, last = order[bounds - counts], order[bounds - 1]
    spread = last - first + 1
    numbers = {
        "count": counts,
        "length": lengths,
        "share": lengths / length.sum(),
        "links": np.bincount(group, links) / lengths,
        "mean": lengths / counts,
        "stop_ends": np.bincount(group, stop_end) / counts,
        "spread": spread / len(paths),
        "density": counts / spread,
        "repeats": np.bincount(group, repeats > 1) / counts,
        "first": first / len(paths),
    }
    return group, {f"{name}_{number}": values[group] for number, values in numbers.items()}


try:
    from scrapy_simdedup.page._content_model import counted_features as counted_features  # noqa: PLC0414 - for others, too
    from scrapy_simdedup.page._content_model import gather as gather  # noqa: PLC0414 - for others, too
except ImportError:  # installed without a compiler
    counted_features, gather = python_counted_features, python_gather


def block_features(tree: BlockTree) -> Features:
    """The features of the blocks of a page that has text; the tree is made with ``detailed=True``."""
    counted, declared = counted_features(tree), tree.declared
    described = content_boxes.likeness_to_descriptions(declared.descriptions, tree.texts)
    first = int(described.argmax())
    from_description = np.arange(len(described)) - first if described[first] > 0 else np.full(len(described), -999)
    return counted._replace(
        block_names=(*counted.block_names, "described", "from_description"),
        page_names=(*counted.page_names, *_DECLARED_KINDS),
        blocks=np.vstack((counted.blocks, described, from_description.astype(np.float32))),
        page=np.append(counted.page, np.array([kind in declared.kinds for kind in _DECLARED_KINDS], np.float32)),
    )
