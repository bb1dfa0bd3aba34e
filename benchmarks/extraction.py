"""How well main content is found, beside what others find, on the public benchmarks; and what it takes.

    python benchmarks/extraction.py wcxb-dev.zip --folds build/model
    python benchmarks/extraction.py wcxb/test --articles article-extraction-benchmark

On the development split, on which the model was trained, pass the models of its folds, which ``train_content.py``
writes: each page is then scored with the model that has not seen its domain. A library that is not installed has no
row.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from extraction_corpora import FOLDS, KINDS, ArticleBenchmark, NoWords, Score, read_wcxb, score_words
from measure import arguments, finish, in_turn, ratio
from scrapy_simdedup.page import content_model
from scrapy_simdedup.page.block_tree import build_block_tree
from scrapy_simdedup.page.classify import BlockClass, classify_blocks
from scrapy_simdedup.page.content_features import block_features
from scrapy_simdedup.page.content_model import ContentModel, load_model, take_blocks
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import DEFAULT_ROLE_WORDS, RoleWords

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from extraction_corpora import CorpusPage

    Extractor = Callable[[str, int], str]

TIMED_PAGES = 60
MAX_TIMED_LENGTH = 400_000


def by_model(models: Sequence[ContentModel], role_words: RoleWords) -> Extractor:
    def extract(html: str, fold: int) -> str:
        root = parse(html, with_html_methods=False).root
        if root is None:
            return ""
        tree = build_block_tree(root, role_words, detailed=True)
        if not tree.texts:
            return ""
        chosen = take_blocks(tree, models[fold % len(models)].probabilities(block_features(tree)))
        return "\n".join(text for text, is_chosen in zip(tree.texts, chosen, strict=True) if is_chosen)

    return extract


def by_classes(html: str, _: int) -> str:
    """The blocks that count in full for the fingerprint."""
    root = parse(html, with_html_methods=False).root
    if root is None:
        return ""
    tree = build_block_tree(root, DEFAULT_ROLE_WORDS)
    found = zip(tree.texts, classify_blocks(tree)[0], strict=True)
    return "\n".join(text for text, block_class in found if block_class is BlockClass.CONTENT)


def others() -> dict[str, Extractor]:
    found: dict[str, Extractor] = {}
    try:
        import trafilatura
    except ImportError:
        print("trafilatura is not installed", file=sys.stderr)
    else:
        found["trafilatura"] = lambda html, _: trafilatura.extract(html) or ""
    from lxml.html import fromstring
    from readability import Document

    def readability(html: str, _: int) -> str:
        try:
            return fromstring(Document(html).summary()).text_content()
        except Exception:  # noqa: BLE001 - a page that it cannot read is a page that it does not find
            return ""

    return found | {"readability-lxml": readability}


def row_of(scores: Mapping[str, Score], pages: Mapping[str, CorpusPage]) -> list[str]:
    kinds = defaultdict(list)
    for name, score in scores.items():
        kinds[pages[name].kind].append(score.f1)
    means = [statistics.fmean(values) for values in zip(*scores.values(), strict=True)]
    of_kinds = [statistics.fmean(kinds[kind]) for kind in KINDS if kinds[kind]]
    return [f"{value:.3f}" for value in (means[2], means[0], means[1], *of_kinds)]


def times(
    pages: Mapping[str, CorpusPage], model: ContentModel, found: Mapping[str, Extractor], rounds: int
) -> list[str]:
    """What the parts take of the time of one parse, over some pages."""
    html = [page.html for page in pages.values() if len(page.html) < MAX_TIMED_LENGTH]
    html = html[:: max(1, len(html) // TIMED_PAGES)]
    roots = [root for page in html if (root := parse(page, with_html_methods=False).root) is not None]
    trees = [tree for root in roots if (tree := build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True)).texts]
    from lxml import html as lxml_html

    seconds = in_turn(
        {
            "parse": lambda: [lxml_html.document_fromstring(page.encode()) for page in html],
            "walk": lambda: [build_block_tree(root, DEFAULT_ROLE_WORDS) for root in roots],
            "walk with details": lambda: [build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True) for root in roots],
            "features": lambda: [block_features(tree) for tree in trees],
            "features and trees": lambda: [model.probabilities(block_features(tree)) for tree in trees],
            **{name: lambda extract=extract: [extract(page, 0) for page in html] for name, extract in found.items()},
        },
        rounds,
    )
    return [
        f"{name}: {ratio(seconds, name, 'parse'):.2f} of one lxml.html parse" for name in seconds if name != "parse"
    ]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("corpus", type=Path, nargs="?", help="a split of WCXB: a folder or a zip")
    parser.add_argument("--folds", type=Path, help="models of the folds, for the development split")
    parser.add_argument("--articles", type=Path, metavar="FOLDER", help="the article-extraction-benchmark")
    parser.add_argument("--ours-only", action="store_true", help="without other libraries, and without times")
    options = parser.parse_args()
    if not options.folds:
        models = [content_model.content_model()]
    else:
        raw = [(options.folds / f"fold{fold}.npz").read_bytes() for fold in range(FOLDS)]
        models = [load_model(of_fold, sha256(of_fold).hexdigest()) for of_fold in raw]
    contenders: dict[str, Extractor] = {
        "content model": by_model(models, DEFAULT_ROLE_WORDS),
        "content model, names hashed": by_model(models, NoWords()),
        "content blocks of the fingerprint": by_classes,
    }
    libraries = {} if options.ours_only else others()
    contenders |= libraries
    rows: list[list[str]] = []
    figures: dict[str, object] = {}
    if options.corpus:
        pages = read_wcxb(options.corpus)
        rows.append([f"WCXB, {len(pages)} pages", "F1", "precision", "recall", *KINDS])
        for name, extract in contenders.items():
            rows.append(
                [
                    name,
                    *row_of({key: score_words(extract(p.html, p.fold), p.content) for key, p in pages.items()}, pages),
                ]
            )
            print(*rows[-1], flush=True)
        figures["wcxb"] = dict(zip([row[0] for row in rows[1:]], [row[1:] for row in rows[1:]], strict=True))
    if options.articles:
        benchmark = ArticleBenchmark(options.articles)
        articles = {}
        for name, extract in contenders.items():
            score = benchmark.score({key: extract(html, 0) for key, html in benchmark.pages.items()})
            articles[name] = [f"{value:.3f}" for value in (score.f1, score.precision, score.recall)]
            print("articles:", name, *articles[name], flush=True)
        figures["articles"] = articles
    if options.corpus and not options.ours_only:
        figures["times"] = times(pages, models[0], libraries, options.rounds)
        print(*figures["times"], sep="\n")
    finish(figures, rows or [["article-extraction-benchmark", "F1"]], options.json)


if __name__ == "__main__":
    main()
