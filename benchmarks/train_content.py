"""Train the content model from the development split of WCXB; the same split gives the same model.

    pip install -r benchmarks/train_content.txt
    PYTHONPATH=tests python benchmarks/train_content.py wcxb-dev.zip

It writes ``scrapy_simdedup/page/content_model.npz`` and its digest into the module, and to ``build/model`` a model for
each of three folds of domains, which ``extraction.py --folds build/model`` scores on what that model has not seen.

1. A block's label is the share of its words that the page's main content has, see :func:`align`.
2. Each page is read twice: with its class and id names, and as if these were hashed.
3. The second round is trained on what models of other folds said of a page in the first round.

The file says what the reader was that the model was trained with, and the tests fail where it is another by now.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import tempfile
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from catboost import CatBoost, Pool
from rapidfuzz.distance import LCSseq

from extraction_corpora import FOLDS, NoWords, read_wcxb, words
from helpers.page_kinds import reader_digest
from scrapy_simdedup.page import content_model
from scrapy_simdedup.page.block_tree import build_block_tree
from scrapy_simdedup.page.content_features import SAID_NAMES, block_features
from scrapy_simdedup.page.content_model import (
    UNITS,
    ContentModel,
    Trees,
    probability,
    what_was_said,
)
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import DEFAULT_ROLE_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simdedup.page.content_features import Features

FEATURE_NAMES = tuple(
    f"{what}.{name}"
    for what, names in {
        "block": (
            "word_length links commas upper repeats copies in_li in_div index_place prose_before from_h1 chars_from_h1"
            " long_back from_heading to_heading under_heading links_under_heading heading_level of_title from_title"
            " links-1 repeats-1 elements_within2 links_within5 mean_within5 links_within12 group_count group_share"
            " group_stop_ends group_spread group_density group_repeats group_first tag_group_count tag_group_length"
            " tag_group_share tag_group_links tag_group_mean tag_group_stop_ends tag_group_density tag_group_repeats"
            " top_steps top_beside of_h1_steps of_h1_share of_h1_prose of_h1_beside of_longest_steps of_longest_share"
            " of_longest_links of_kin_steps of_kin_share of_kin_links of_kin_below around_navigation around_footer"
            " around_cookie_notice around_main around_main_tag around_list around_table prose_around_main"
            " prose_around_body_property described from_description"
        ),
        "up0": "length prose stops kin kin_share kin_links kin_mean p end elements repeats copies main",
        "up1": "share links prose stop_ends kin_links p headings end image_share elements repeats copies boilerplate",
        "up2": "links kin_links p p_own headings children anchors copies table boilerplate",
        "up3": "links anchors image_share prices",
        "up4": "stop_ends kin_links p_own end images image_share elements prices title",
        "down1": (
            "length mean stops kin_links p p_own end children anchors images image_share elements prices longest"
            " boilerplate"
        ),
        "down2": (
            "length blocks mean prose stop_ends kin_mean p p_own headings place end children images image_share"
            " elements repeats prices longest boilerplate"
        ),
        "down3": "prose stops kin_links place children anchors images repeats prices title boilerplate",
        "page": (
            "length prose prose_blocks p headings kin kin_share images prices longest stop_ends in_lists in_main"
            " in_main_tag in_form in_table in_aside posting thread questions faq replies product list blog site page"
            " og_article og_website og_product og_none"
        ),
    }.items()
    for name in names.split()
)
"""The features that the trees are trained on. With three times as many, such as all numbers of each box around a block,
the F1 is the same: boxes and blocks say most of it twice."""
SEEDS = 7, 11, 13, 17
"""A quarter of the trees of a round is made with each: their mean is less a matter of chance."""
MAX_BLOCKS = 120
"""Blocks of a page that are trained on; of longer pages a sample."""
MIN_FOUND = 0.5
"""The share of the main content that must be found in the page's blocks for the page to be trained on."""
RUN = 4
"""Words in a row, equal in page and main content, that are no chance."""
NEAR = 5
"""Blocks within which a block of one or two words must have another one of the main content."""
PARAMETERS: dict[str, Any] = {
    "iterations": 60,
    "learning_rate": 0.5,
    "rsm": 0.3,
    "loss_function": "CrossEntropy",
    "depth": 5,
    "l2_leaf_reg": 5,
    "border_count": 48,
    "boosting_type": "Plain",
    "bootstrap_type": "Bernoulli",
    "subsample": 0.7,
    "leaf_estimation_iterations": 1,
    "thread_count": 2,
    "verbose": 0,
    "allow_writing_files": False,
}


class Example(NamedTuple):
    """A page to train on, with its names and with its names hashed."""

    fold: int
    features: tuple[Features, Features]
    values: tuple[NDArray[np.float32], NDArray[np.float32]]
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]
    usable: bool


def align(texts: Sequence[str], content: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """For each block the share of its words that belong to the main content, and how many words it has.

    1. The longest common subsequence of words knows order: a word of the menu that the article has too is not taken.
       Of what is left the same again, twice, for parts in another order. Only runs and whole blocks count.
    2. What is left of short blocks near the content counts where it is a whole line of it.
    3. A match of one or two words with no other near it is chance.
    """
    of_blocks = [words(text) for text in texts]
    counts = np.array([len(found) for found in of_blocks], np.int64)
    owner = np.repeat(np.arange(len(texts)), counts)
    numbers: dict[str, int] = {}
    page = [numbers.setdefault(word, len(numbers)) for found in of_blocks for word in found]
    wanted = [numbers.setdefault(word, len(numbers)) for word in words(content)]
    matched, used = np.zeros(len(page), bool), np.zeros(len(wanted), bool)
    for _ in range(3):
        left, right = np.flatnonzero(~matched), np.flatnonzero(~used)
        for step in LCSseq.opcodes([page[at] for at in left], [wanted[at] for at in right]):
            if step.tag == "equal":
                here, there = left[step.src_start : step.src_end], right[step.dest_start : step.dest_end]
                whole = max(counts[owner[here[0]]], counts[owner[here[-1]]]) <= len(here)
                if len(here) >= RUN or whole:
                    matched[here], used[there] = True, True
    share = np.bincount(owner, matched, minlength=len(texts)) / np.maximum(counts, 1)
    longer = (share >= 0.5) & (counts > 2)
    near = np.convolve(longer, np.ones(2 * NEAR + 1))[NEAR : NEAR + len(longer)] > 0
    share[(counts <= 2) & ~near] = 0
    lines: Counter[str] = Counter()
    at = 0
    for line in content.split("\n"):
        found = words(line)
        if found and not used[at : at + len(found)].any():
            lines[" ".join(found)] += 1
        at += len(found)
    known = np.flatnonzero(share >= 0.5)
    for block in range(max(0, known[0] - 3), min(len(texts), known[-1] + 4)) if len(known) else ():
        line = " ".join(of_blocks[block])
        if line and share[block] < 0.5 and lines[line] > 0:
            lines[line] -= 1
            share[block] = 1
    return share, counts


def read_examples(path: Path) -> list[Example]:
    """The pages of a corpus."""
    examples = []
    for page in read_wcxb(path).values():
        root = parse(page.html, with_html_methods=False).root
        if root is None:
            continue
        tree = build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True)
        if not tree.texts:
            continue
        both = block_features(tree), block_features(build_block_tree(root, NoWords(), detailed=True))
        labels, counts = align(tree.texts, page.content)
        own = float((labels * counts).sum())
        weights = (counts + 3.0) / (own + 60.0)  # as a word weighs in the F1 of the page
        values = both[0].matrix(FEATURE_NAMES), both[1].matrix(FEATURE_NAMES)
        usable = own >= MIN_FOUND * len(words(page.content))
        examples.append(Example(page.fold, both, values, labels, weights, usable))
    return examples


def fit(
    examples: Sequence[Example],
    values: Sequence[Sequence[NDArray[np.float32]]],
    without: int | None,
    seed: int,
) -> CatBoost:
    """Trees from the usable pages that do not lie in a fold."""
    choice = np.random.default_rng(seed)
    parts = []
    for example, both in zip(examples, values, strict=True):
        if not example.usable or example.fold == without:
            continue
        count = len(example.labels)
        size = min(count, MAX_BLOCKS)
        for of_page in both:
            taken = np.sort(choice.choice(count, size, replace=False))
            parts.append((of_page[taken], example.labels[taken], example.weights[taken] * (count / size)))
    x, y, weight = (np.concatenate([part[number] for part in parts]) for number in range(3))
    made = CatBoost({**PARAMETERS, "random_seed": seed})
    made.fit(Pool(x, y, weight=weight))
    return made


def trees_of(made: CatBoost, names: Sequence[str]) -> Trees:
    """The trees of a trained model as arrays, without the features that no tree asks for."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.json")
        made.save_model(str(file), format="json")
        saved = json.loads(file.read_text(encoding="utf-8"))
    feature = [found["flat_feature_index"] for found in saved["features_info"]["float_features"]]
    trees = saved["oblivious_trees"]
    depth = max(len(tree["splits"]) for tree in trees)
    asked = sorted({feature[split["float_feature_index"]] for tree in trees for split in tree["splits"]})
    columns = np.zeros((depth, len(trees)), np.uint8)
    borders = np.full((depth, len(trees)), np.inf, np.float32)
    leaves = np.zeros((len(trees), 1 << depth), np.int32)
    scale, bias = saved["scale_and_bias"]
    for number, tree in enumerate(trees):
        for level, split in enumerate(tree["splits"]):
            columns[level, number] = asked.index(feature[split["float_feature_index"]])
            borders[level, number] = split["border"]
        values = np.rint(np.array(tree["leaf_values"]) * scale * UNITS).astype(np.int32)
        leaves[number] = np.resize(values, 1 << depth)  # a level that is missing answers no
    return Trees(
        tuple(names[column] for column in asked), columns, borders, leaves, round(float(np.ravel(bias)[0]) * UNITS)
    )


def mean_of(many: Sequence[Trees]) -> Trees:
    """Trees that give the mean of the log odds that some give."""
    names = sorted({name for trees in many for name in trees.names})
    columns = [np.array([names.index(name) for name in trees.names], np.uint8)[trees.columns] for trees in many]
    return Trees(
        tuple(names),
        np.concatenate(columns, axis=1),
        np.concatenate([trees.borders for trees in many], axis=1),
        np.concatenate([np.rint(trees.leaves / len(many)).astype(np.int32) for trees in many]),
        round(sum(trees.bias for trees in many) / len(many)),
    )


def fit_trees(
    examples: Sequence[Example],
    values: Sequence[Sequence[NDArray[np.float32]]],
    without: int | None,
    names: Sequence[str],
) -> Trees:
    """The trees of a round, from all seeds."""
    return mean_of([trees_of(fit(examples, values, without, seed), names) for seed in SEEDS])


def train(path: Path) -> tuple[bytes, list[bytes]]:
    """The model, and the model of each fold, which has not seen the fold."""
    examples = read_examples(path)
    print(len(examples), "pages", flush=True)
    names, values = list(FEATURE_NAMES), [example.values for example in examples]
    rounds = []
    for fold in (*range(FOLDS), None):
        rounds.append(fit_trees(examples, values, fold, names))
        print("first round without fold", fold, flush=True)
    both = []
    for example, of in zip(examples, values, strict=True):
        trees = rounds[example.fold]
        columns = [names.index(name) for name in trees.names]
        made = []
        for features, x in zip(example.features, of, strict=True):
            around = what_was_said(probability(trees.log_odds(x[:, columns])), features)
            made.append(np.concatenate([around.T.astype(np.float32), x], axis=1))
        both.append(tuple(made))
    names = [*SAID_NAMES, *names]
    models = []
    for fold, first in zip((*range(FOLDS), None), rounds, strict=True):
        second = fit_trees(examples, both, fold, names)
        models.append(pack_model(ContentModel(first, second)))
        print("second round without fold", fold, flush=True)
    return models[-1], models[:-1]


def pack_model(model: ContentModel) -> bytes:
    """The bytes of a file with a model; the same model gives the same bytes."""
    arrays: dict[str, Any] = {"reader": np.array(reader_digest())}
    for number, trees in enumerate(model, start=1):
        arrays[f"names{number}"] = np.array(" ".join(trees.names))
        arrays[f"columns{number}"] = trees.columns
        arrays[f"borders{number}"] = trees.borders
        arrays[f"leaves{number}"] = trees.leaves.astype(np.int16)
        arrays[f"bias{number}"] = np.array(trees.bias)
    made = io.BytesIO()
    np.savez_compressed(made, **arrays)
    return made.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="the development split of WCXB, a folder or a zip")
    parser.add_argument("--folds", type=Path, default=Path("build/model"), help="where the models of the folds go")
    options = parser.parse_args()
    model, folds = train(options.corpus)
    options.folds.mkdir(parents=True, exist_ok=True)
    for number, raw in enumerate(folds):
        (options.folds / f"fold{number}.npz").write_bytes(raw)
    module = Path(content_model.__file__)
    module.with_name(content_model.MODEL_FILE).write_bytes(model)
    source = module.read_text(encoding="utf-8")
    digest = sha256(model).hexdigest()
    source = re.sub(r'^MODEL_DIGEST = ".*"', f'MODEL_DIGEST = "{digest}"', source, flags=re.MULTILINE)
    module.write_text(source, encoding="utf-8")
    print(len(model), "bytes", digest)


if __name__ == "__main__":
    main()
