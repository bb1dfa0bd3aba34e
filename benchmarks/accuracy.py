"""How often repeats are recognised and different pages are not, on generated sites or on labelled pages of one's own.

    python benchmarks/accuracy.py
    python benchmarks/accuracy.py --corpus labelled.zip --json build/bench/accuracy.json

The generated sites are of one kind for each risk, see ``risks.py``. A corpus is a folder or a zip with two files of
JSON lines and the pages that they name:

    pages.jsonl   {"id": "a1", "path": "pages/a1.html", "url": "https://site.example/a"}
    pairs.jsonl   {"a": "a1", "b": "a2", "label": "same", "group": "print versions"}

``label`` is ``same``, ``edited`` or ``different``; ``group``, the row of the table, may be left out. Pairs may lie on
different sites; the crawl takes the pages in the order of the file and compares those of one site.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from contenders import contenders
from labelled import Labelled, read, with_prose
from measure import arguments, finish, table
from risks import generated
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.detect.site_boilerplate import SiteBoilerplate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from contenders import Contender

TERMS = 600
"""Words that every page of a site carries in the second table of orders."""
CRAWLED = ("pages", "dropped for a different page", "kept twice")


class Share(NamedTuple):
    """Of the pairs of a label in a group, those judged identical."""

    identical: int
    pairs: int


def shares(labelled: Labelled, contender: Contender) -> dict[tuple[str, str], Share]:
    """What one contender says of all pairs, page against page, by label and group.

    A page on which it fails is like no other.
    """
    read_ = {}
    for name, page in labelled.pages.items():
        with suppress(Exception):  # not ours alone are asked, and any may fail on any page
            read_[name] = contender.read(page.html)
    found: dict[tuple[str, str], Share] = defaultdict(lambda: Share(0, 0))
    for one, other, label, group in labelled.pairs:
        identical, pairs = found[label, group]
        same = one in read_ and other in read_ and contender.same(read_[one], read_[other])
        found[label, group] = Share(identical + same, pairs + 1)
    return dict(found)


def pair_rows(found: Mapping[str, Mapping[tuple[str, str], Share]]) -> list[list[str]]:
    """A row for each label of each group, and one for each label; a column for each contender."""
    first = next(iter(found.values()))
    rows = [["judged identical, %", "pairs", *found]]
    for wanted in ("same", "edited", "different"):
        groups = [group for label, group in first if label == wanted]
        for group in [*groups, None] if len(groups) > 1 else groups:
            cells = []
            for shares_ in found.values():
                those = [share for (label, of), share in shares_.items() if label == wanted and group in {None, of}]
                pairs = sum(share.pairs for share in those)
                cells.append(f"{100 * sum(share.identical for share in those) / pairs:.0f}")
            rows.append([f"{wanted}: {group or 'all'}", str(pairs), *cells])
    return rows


class Crawl(NamedTuple):
    """What a crawl of all pages did with them."""

    counted: dict[str, Counter[str]]
    """By group."""
    dropped: dict[str, str]
    """Of each page that was dropped, the page that it was dropped for."""
    seconds: float
    """CPU time of judging them, once they were read."""


async def crawl(labelled: Labelled, order: Sequence[str], **settings: Any) -> Crawl:
    """Crawl the pages in an order of their ids, under settings that differ from the defaults."""
    label = {frozenset((pair.one, pair.other)): pair for pair in labelled.pairs}
    group = {name: pair.group for pair in labelled.pairs for name in (pair.one, pair.other)}
    names: dict[str, str] = {}
    dropped: dict[str, str] = {}
    kept: defaultdict[str, list[str]] = defaultdict(list)
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    detector = NearDuplicateDetector(secret="benchmark", **settings)
    await detector.open()
    seconds = 0.0
    for number, name in enumerate(order):
        page = labelled.pages[name]
        host = urlsplit(page.url).hostname or "site.example"
        url = f"https://{host}/{number}"
        names[url] = name
        tally = counted[group.get(name, "unlabelled")]
        tally["pages"] += 1
        fp = await detector.fingerprint(page.html, url=url)
        start = time.thread_time()
        verdict = await detector.judge_page(detector.page_of(fp, url=url))
        await detector.confirm(verdict.page)
        seconds += time.thread_time() - start
        if verdict.is_duplicate:
            dropped[name] = names[verdict.original or ""]
            pair = label.get(frozenset((name, dropped[name])))
            tally["dropped for a different page"] += pair is not None and pair.label == "different"
            continue
        pairs = (label.get(frozenset((name, other))) for other in kept[host])
        tally["kept twice"] += any(pair is not None and pair.label == "same" for pair in pairs)
        kept[host].append(name)
    await detector.close()
    return Crawl(dict(counted), dropped, seconds)


@contextmanager
def without_site_text() -> Iterator[None]:
    """No site explains what its pages have in common."""
    explains = SiteBoilerplate.is_only_boilerplate
    SiteBoilerplate.is_only_boilerplate = lambda _self, _one, many, *_: np.zeros(len(many), np.bool_)  # type: ignore[method-assign]
    try:
        yield
    finally:
        SiteBoilerplate.is_only_boilerplate = explains  # type: ignore[method-assign]


async def in_three_orders(labelled: Labelled, seed: int) -> dict[str, Crawl]:
    """The same crawl in the order of the pages, backwards and shuffled."""
    order = list(labelled.pages)
    orders = {"as above": order, "backwards": order[::-1], "shuffled": random.Random(seed).sample(order, len(order))}
    return {name: await crawl(labelled, ids) for name, ids in orders.items()}


def decided_otherwise(one: Crawl, other: Crawl) -> int:
    """How many pages more or fewer one crawl keeps, each content by itself: all pages that either drops for each other.

    Which of a content's pages are kept is no difference, as that is for those that come first.
    """
    contents: dict[str, set[str]] = {}
    for page, original in (*one.dropped.items(), *other.dropped.items()):
        merged = contents.get(page, {page}) | contents.get(original, {original})
        contents.update(dict.fromkeys(merged, merged))
    distinct = {id(content): content for content in contents.values()}.values()
    return sum(abs(len(one.dropped.keys() & content) - len(other.dropped.keys() & content)) for content in distinct)


def order_rows(crawls: Mapping[str, Crawl], pages: int) -> list[list[str]]:
    """What other orders of the same crawl change: of two copies another may come first, but no verdict on a content."""
    beside_other = "kept beside a page that it repeats in another order"
    rows = [["the same crawl", "pages kept", CRAWLED[1], beside_other, "decided otherwise than in the first, %"]]
    first = next(iter(crawls.values()))
    for name, one in crawls.items():
        beside = {
            page
            for other in crawls.values()
            for page, original in other.dropped.items()
            if page not in one.dropped and original not in one.dropped
        }
        kept, wrong = pages - len(one.dropped), _sum(one.counted, None, CRAWLED[1])
        otherwise = f"{100 * decided_otherwise(first, one) / pages:.2f}"
        rows.append([name, str(kept), str(wrong), str(len(beside)), otherwise])
    return rows


def crawl_rows(on: Mapping[str, Counter[str]], off: Mapping[str, Counter[str]]) -> list[list[str]]:
    rows = [["a crawl", *CRAWLED, *(f"{what}, no site text" for what in CRAWLED[1:])]]
    for group in [*on, None]:
        cells = [str(_sum(on, group, what)) for what in CRAWLED] + [str(_sum(off, group, what)) for what in CRAWLED[1:]]
        rows.append([group or "all", *cells])
    return rows


def _sum(counted: Mapping[str, Counter[str]], group: str | None, what: str) -> int:
    return sum(tally[what] for of, tally in counted.items() if group in {None, of})


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--corpus", type=Path, metavar="PATH", help="a folder or zip of labelled pages; see above")
    parser.add_argument("--seed", type=int, default=1, help="of the generated sites")
    parser.add_argument("--sites", type=int, default=2, help="generated for each risk")
    options = parser.parse_args()
    labelled = read(options.corpus) if options.corpus else generated(options.seed, sites=options.sites)
    found, missing = contenders()
    pairs = pair_rows({name: shares(labelled, contender) for name, contender in found.items()})
    order = list(labelled.pages)
    crawls = asyncio.run(in_three_orders(labelled, options.seed))
    on = crawls["as above"]
    with without_site_text():
        off = asyncio.run(crawl(labelled, order))
    orders = order_rows(crawls, len(order))
    with_terms = order_rows(asyncio.run(in_three_orders(with_prose(labelled, TERMS), options.seed)), len(order))
    crawled = crawl_rows(on.counted, off.counted)
    measured = {"pairs": pairs, "crawl": crawled, "orders": orders, "orders, shared prose": with_terms}
    finish({**measured, "not installed": missing}, pairs, options.json)
    print(
        f"\n{table(crawled)}\n\n{table(orders)}\n\nWith {TERMS} words on every page of a site:\n\n{table(with_terms)}"
    )
    added = 1000 * (on.seconds - off.seconds) / len(order)
    print(f"\nTo know the sites' text takes {added:.2f} ms of CPU per page.")
    if missing:
        print(f"Not installed, and so not in the table: {', '.join(missing)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
