"""The content model: how likely each block of a page is its main content, and which blocks are taken for it.

1. A first round of trees says how likely each block is main content, by its features.
2. A second round is given the same features and what the first said of the blocks around it: its neighbours, those in
   the same boxes, those in the same places of other boxes.
   The probability of a block is what both rounds say together, of the block itself and of its group: all posts of a
   thread are main content, however short some are.
3. The blocks are taken in the order of their probability, down to the cut with the highest expected F1 of the words,
   see :func:`choose_blocks`.

The trees are oblivious: all nodes at one level ask the same question, so that a leaf is a number of as many bits. They
lie in ``content_model.npz``, which ``make model`` makes. Leaves are integers: their sums do not depend on the order of
the additions.
"""

from __future__ import annotations

import io
from collections import Counter
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simdedup.page.block_tree import BlockTree, mark_descendants, self_and_above
from scrapy_simdedup.page.content_features import FULL_WEIGHT, PLACES, PROSE, SAID_NAMES, Features, block_features
from scrapy_simdedup.page.roles import BOILERPLATE_ROLES, COMMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

MODEL_FILE = "content_model.npz"
MODEL_DIGEST = "305a2a7f4b3ecaa57974f7f2d531552594a8b7e09a338473caf131d81e7fb82e"
"""SHA-256 of the file; a file with another one is not loaded."""
UNITS = 128
"""What a leaf of 1, in log odds, is as an integer."""
SHARE_OF_ROUND = 0.41
"""What the log odds of each of both rounds count: less than a half, since each is too sure of what it says."""
SHARE_OF_GROUP = 0.5
"""What the mean of a block's group, the blocks whose boxes have the same tags and classes, counts of its log odds."""
MIN_CUT, MAX_CUT = 0.12, 0.6
"""The cut lies between these probabilities: what is likelier is always taken, what is less likely never."""
MIN_BETWEEN, MIN_IN_TEXT, MIN_BEHIND = 0.5, 0.3, 0.4
"""The probabilities from which what has no link is taken for what is beside it: one block between two, all blocks of a
gap behind the first text, and each block behind the last one."""
SHARPNESS, SHIFT = 0.6 / SHARE_OF_ROUND, -0.4
"""What the cut makes of the log odds of a block: times the one, and the other added."""
CERTAIN, MIN_CERTAIN_SHARE, ARTICLE_SHIFT = 0.8, 0.6, -1.0
"""Where blocks with this probability hold this share of the words that are expected, they are an article, and this is
added instead: what is doubtful beside an article is a teaser of another."""
ODDS_OF_ERRORS = np.exp([[6.86], [3.25], [0.0], [-3.25], [-6.86]])
ERROR_WEIGHTS = np.array([[0.01126], [0.22208], [0.53333], [0.22208], [0.01126]])
"""What the odds against all blocks of a page may be wrong by, and how likely that is: five points of a normal
distribution of log odds with a standard deviation of 2.4."""
TINY = 1e-9
"""What keeps the log odds of a probability of 0 or 1 finite."""
CHARACTERS_PER_WORD = 6


class Trees(NamedTuple):
    """One round of oblivious trees."""

    names: tuple[str, ...]
    columns: NDArray[np.uint8]
    """The number of the feature that each question is about; a row for each level, a column for each tree."""
    borders: NDArray[np.float32]
    """The value above which the answer to each question is yes; of the same shape."""
    leaves: NDArray[np.int32]
    """The leaves of each tree in units of 1 / ``UNITS``; a row for each tree."""
    bias: int

    def log_odds(self, values: NDArray[np.float32]) -> NDArray[np.int64]:
        """For each row of features, the log odds in units of 1 / ``UNITS``."""
        return sum_leaves(np.ascontiguousarray(values.T), self.columns, self.borders, self.leaves) + self.bias


def python_sum_leaves(
    values: NDArray[np.float32], columns: NDArray[np.uint8], borders: NDArray[np.float32], leaves: NDArray[np.int32]
) -> NDArray[np.int64]:
    """For each block, the sum of the leaves that its features lead to; ``values`` has a row for each feature.

    Where the package was installed with its compiled part, :mod:`scrapy_simdedup.page._content_model` does the same, as
    it does for :func:`what_was_said` and :func:`choose_blocks`.
    """
    leaf = np.zeros((columns.shape[1], values.shape[1]), np.int64)
    for level, (asked, border) in enumerate(zip(columns, borders, strict=True)):
        leaf |= (values[asked] > border[:, None]).astype(np.int64) << level
    leaf += (np.arange(len(leaves)) * leaves.shape[1])[:, None]
    made: NDArray[np.int64] = leaves.ravel().take(leaf).sum(axis=0, dtype=np.int64)
    return made


class ContentModel(NamedTuple):
    """The trees of both rounds, which say of each block how likely it is main content.

    Both have the same names of features, the last of which are those that the first round gives.
    """

    first: Trees
    second: Trees

    def probabilities(self, features: Features) -> NDArray[np.float64]:
        """For each block, how likely it is main content."""
        values = features.matrix(self.first.names)
        of_first = self.first.log_odds(values)
        values.T[-len(SAID_NAMES) :] = what_was_said(probability(of_first), features)
        of_second = self.second.log_odds(values)
        return probability(_with_groups(SHARE_OF_ROUND * (of_first + of_second), features))


def _with_groups(log_odds: NDArray[np.floating], features: Features) -> NDArray[np.floating]:
    """The log odds of blocks and of their groups together; all sums are of numbers that floats hold exactly."""
    weights = np.minimum(features.lengths, FULL_WEIGHT)
    of_group = np.bincount(features.groups, weights * log_odds) / np.bincount(features.groups, weights)
    return (1 - SHARE_OF_GROUP) * log_odds + SHARE_OF_GROUP * of_group[features.groups]


def content_probabilities(tree: BlockTree) -> NDArray[np.float64]:
    """For each block of a page, how likely it is main content; the tree is made with ``detailed=True``."""
    return content_model().probabilities(block_features(tree)) if tree.texts else np.zeros(0)


def main_content(tree: BlockTree) -> NDArray[np.bool_]:
    """For each block of a page, whether it is main content; nothing is on a page without text.

    The tree is made with ``detailed=True``.
    """
    return take_blocks(tree, content_probabilities(tree))


def take_blocks(tree: BlockTree, probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The blocks that :func:`choose_blocks` takes, and what stands between or right behind them and has no link.

    Such as the price between a name and a text. From the first text that is taken on, even what is less likely than not
    is content more often than not, such as the times and servings of a recipe, and the sizes below the description of a
    product. What the page repeats elsewhere, as it does the word above each advertisement, is none; nor is what follows
    in a box that is named as boilerplate.
    """
    lengths = list(map(len, tree.texts))
    probabilities = _without_comments(tree, probabilities, lengths)
    chosen = choose_blocks(probabilities, lengths)
    taken = np.flatnonzero(chosen).tolist()
    if not taken:
        return chosen
    said, texts, links = probabilities.tolist(), tree.texts, tree.link_lengths
    own_lengths = ((number, lengths[number] - links[number]) for number in taken)
    first_text = next((number for number, own in own_lengths if own >= PROSE and own > links[number]), len(texts))
    likely = (*_likely_gaps(said, taken, first_text), *_likely_behind(tree, said, taken[-1]))
    without_links = [blocks for blocks in likely if not any(links[blocks])]
    counts = Counter(texts) if without_links else Counter()
    for blocks in without_links:
        chosen[blocks] = all(counts[text] == count for text, count in Counter(texts[blocks]).items())
    return chosen


def _without_comments(
    tree: BlockTree, probabilities: NDArray[np.float64], lengths: Sequence[int]
) -> NDArray[np.float64]:
    """The probabilities, which are 0 for what is named as comments on what calls itself an article.

    To the model a comment is like a post of a thread. A page without a text beside its comments is about them.
    """
    if not (tree.named_roles & COMMENT and tree.declared.is_article):
        return probabilities
    is_below = mark_descendants(tree.role_parents, (roles & COMMENT > 0 for roles in tree.node_roles))
    is_comment = np.array([is_below[node] for node in tree.role_nodes])
    has_text = ~is_comment & (probabilities >= 0.5) & (np.array(lengths) >= PROSE)
    return np.where(is_comment, 0, probabilities) if has_text.any() else probabilities


def _likely_gaps(said: Sequence[float], taken: Sequence[int], first_text: int) -> Iterator[slice]:
    """The blocks between two that are taken, where all of them are likely enough."""
    for before, behind in pairwise(taken):
        if behind - before > 1 and (before >= first_text or behind - before == 2):
            gap, least = slice(before + 1, behind), MIN_IN_TEXT if before >= first_text else MIN_BETWEEN
            if min(said[gap]) >= least:
                yield gap


def _likely_behind(tree: BlockTree, said: Sequence[float], last: int) -> Iterator[slice]:
    """The likely blocks right behind the last one that is taken, but for those in a box that is boilerplate by name."""
    around_last = set(self_and_above(tree.box_parents, tree.boxes[last]))
    for number in takewhile(lambda number: said[number] >= MIN_BEHIND, range(last + 1, len(said))):
        around = self_and_above(tree.box_parents, tree.boxes[number])
        own = takewhile(lambda box: box not in around_last, around)
        if not any(tree.box_roles[box] & BOILERPLATE_ROLES for box in own):
            yield slice(number, number + 1)


def python_choose_blocks(
    probabilities: NDArray[np.float64], lengths: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which blocks are taken: those above the cut at which the expected F1 of the words is highest.

    The model is wrong about many blocks of a page at once: all teasers of a list are content, or none. So the F1 of a
    cut is expected over errors that all blocks share, with surer probabilities than those of single blocks. The more
    text is certain, the less is what is doubtful beside it worth. All sums are in this order, as in the compiled twin.
    """
    if not len(probabilities):
        return np.zeros(0, np.bool_)
    order = np.argsort(-probabilities, kind="stable")
    ordered = probabilities[order]
    words = np.asarray(lengths)[order] // CHARACTERS_PER_WORD + 1
    likely = np.cumsum(words * ordered)
    certain = likely[np.count_nonzero(ordered >= CERTAIN) - 1] if ordered[0] >= CERTAIN else 0
    shift = ARTICLE_SHIFT if certain >= MIN_CERTAIN_SHARE * likely[-1] else SHIFT
    odds = np.exp(-(SHARPNESS * np.log((ordered + TINY) / (1 - ordered + TINY)) + shift))
    expected = np.cumsum(words / (1 + odds * ODDS_OF_ERRORS), axis=1)
    f1 = (ERROR_WEIGHTS * (2 * expected / (np.cumsum(words) + expected[:, -1:]))).sum(axis=0)
    cut = min(max(probabilities[order[int(f1.argmax())]], MIN_CUT), MAX_CUT)
    chosen: NDArray[np.bool_] = probabilities >= cut
    return chosen


def probability(log_odds: NDArray[np.generic]) -> NDArray[np.float64]:
    """The probabilities of log odds in units of 1 / ``UNITS``."""
    made: NDArray[np.float64] = 1 / (1 + np.exp(np.divide(log_odds, -UNITS)))
    return made


def python_what_was_said(said: NDArray[np.float64], features: Features) -> NDArray[np.float64]:
    """What the first round said of each block, and of those around it: a row for each of ``SAID_NAMES``."""
    count = len(said)
    index = np.arange(count)
    weights = np.minimum(features.lengths, FULL_WEIGHT).astype(np.float64)
    weight, weighted = (np.concatenate([[0.0], np.cumsum(values)]) for values in (weights, weights * said))
    made: dict[str, NDArray[np.float64]] = {"said": said}
    for by in (1, 2, 3, -1, -2, -3):
        shifted = np.full(count, -1.0)
        if abs(by) < count:
            shifted[max(by, 0) : count + min(by, 0)] = said[max(-by, 0) : count - max(by, 0)]
        made[f"said{by:+}"] = shifted
    for radius in (3, 8, 25):
        low, high = np.maximum(index - radius, 0), np.minimum(index + radius + 1, count)
        made[f"said_within{radius}"] = (weighted[high] - weighted[low]) / (weight[high] - weight[low])
    box_weight = weight[features.ends] - weight[features.firsts]
    box_said = weighted[features.ends] - weighted[features.firsts]
    for place, boxes in zip(PLACES, features.places, strict=True):
        made[f"said_{place}"] = (box_said / box_weight)[boxes]
        rest = box_weight[boxes] - weights
        others = (box_said[boxes] - weights * said) / np.maximum(rest, 1)
        made[f"others_{place}"] = np.where(rest > 0, others, -1)
    of_group = np.bincount(features.groups, weights * said) / np.bincount(features.groups, weights)
    most = np.zeros(len(of_group))
    np.maximum.at(most, features.groups, said)
    likely = np.flatnonzero(said >= 0.5)
    made |= {
        "said_group": of_group[features.groups],
        "said_group_most": most[features.groups],
        "from_first_likely": (index - likely[0] if len(likely) else np.full(count, -999)).astype(np.float64),
        "to_last_likely": (likely[-1] - index if len(likely) else np.full(count, -999)).astype(np.float64),
        "said_before": weighted[:-1] / max(weighted[-1], 1e-9),
        "said_page": np.full(count, weighted[-1] / weight[-1]),
        "said_page_sum": np.full(count, weighted[-1]),
        "said_most": np.full(count, said.max()),
    }
    return np.stack([made[name] for name in SAID_NAMES])


try:
    from scrapy_simdedup.page._content_model import choose_blocks as choose_blocks  # noqa: PLC0414 - for others, too
    from scrapy_simdedup.page._content_model import sum_leaves as sum_leaves  # noqa: PLC0414 - for others, too
    from scrapy_simdedup.page._content_model import what_was_said as what_was_said  # noqa: PLC0414 - for others, too
except ImportError:  # installed without a compiler
    choose_blocks, sum_leaves, what_was_said = python_choose_blocks, python_sum_leaves, python_what_was_said


@lru_cache(1)
def content_model() -> ContentModel:
    """The model that comes with the package."""
    return load_model(files("scrapy_simdedup.page").joinpath(MODEL_FILE).read_bytes(), MODEL_DIGEST)


def load_model(raw: bytes, digest: str) -> ContentModel:
    """The model in the bytes of a file; a ValueError if they have another SHA-256 than ``digest``."""
    if sha256(raw).hexdigest() != digest:
        raise ValueError(f"{MODEL_FILE} is not the content model of this version; install scrapy-simdedup anew")
    with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
        names_of = {number: str(arrays[f"names{number}"]).split() for number in (1, 2)}
        names = (*sorted({*names_of[1], *names_of[2]}.difference(SAID_NAMES)), *SAID_NAMES)
        rounds = [
            Trees(
                names,
                np.array([names.index(name) for name in names_of[number]], np.uint8)[arrays[f"columns{number}"]],
                arrays[f"borders{number}"],
                arrays[f"leaves{number}"].astype(np.int32),
                int(arrays[f"bias{number}"]),
            )
            for number in (1, 2)
        ]
    return ContentModel(*rounds)
