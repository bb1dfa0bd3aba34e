"""How often repeats are recognised and different pages are not, on generated sites or on labelled pages of one's own.

    python benchmarks/accuracy.py
    python benchmarks/accuracy.py --corpus labelled.zip --json build/bench/accuracy.json

A corpus is a folder or a zip with two files of JSON lines and the pages that they name:

    pages.jsonl   {"id": "a1", "path": "pages/a1.html", "url": "https://site.example/a"}
    pairs.jsonl   {"a": "a1", "b": "a2", "label": "same", "group": "print versions"}

``label`` is ``same``, ``edited`` or ``different``; ``group``, the row of the table, may be left out. Pairs may lie on
different sites; the crawl takes the pages in the order of the file and compares those of one site.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import zipfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from scrapy.http import HtmlResponse

from measure import arguments, finish
from pages import Language, Page, Site
from scrapy_simdedup import NearDuplicateDetector, fingerprint_page

SITES, ARTICLES = 12, 8
TERMS = 600
"""Words that every product page of a shop carries."""
_NAMES = re.compile(r' (class|id)="[^"]*"')
_ARTICLE = re.compile(r"(<article>.*?</article>)", re.DOTALL)


@dataclass
class Labelled:
    """Pages by id, and what is known of some pairs of them."""

    pages: dict[str, Page] = field(default_factory=dict)
    pairs: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Ids of both, the label, and the group."""


def read(path: Path) -> Labelled:
    """Labelled pages from a folder or a zip."""
    opened = zipfile.ZipFile(path) if path.is_file() else None

    def raw(name: str) -> bytes:
        return opened.read(name) if opened else (path / name).read_bytes()

    made = Labelled()
    for line in raw("pages.jsonl").decode().splitlines():
        row = json.loads(line)
        url = row.get("url") or f"https://{row.get('domain', 'site.example')}/{row['id']}"
        made.pages[row["id"]] = Page(url, HtmlResponse(url, body=raw(row["path"])).text)
    for line in raw("pairs.jsonl").decode().splitlines():
        row = json.loads(line)
        made.pairs.append((row["a"], row["b"], row["label"], row.get("group") or row.get("sub") or row["label"]))
    return made


# ------------------------------------------------------------------------------------ generated sites


def generated(seed: int) -> Labelled:
    """Articles in other wrappings, under hashed names, edited and rewritten; products under long terms; listings."""
    made = Labelled()
    for number in range(SITES):
        site = Site(f"site{number}.example", seed + number)
        rng = random.Random(f"{seed} {number}")
        for article in range(ARTICLES):
            _add_article(made, site, article, rng)
        _add_shop(made, Site(f"shop{number}.example", 100 + seed + number), rng)
        _add_listings(made, site)
    return made


def _add_article(made: Labelled, site: Site, article: int, rng: random.Random) -> None:
    page = site.page(article)
    name = f"{site.name}/{article}"
    made.pages[name] = page
    nameless = [_NAMES.sub("", site.page(article, wrapping).html) for wrapping in (0, 1)]
    variants = {
        "other advertisements and links": ("same", site.page(article, 1).html),
        "a notice about cookies": ("same", page.html.replace("<main>", _notice(site.language, rng) + "<main>")),
        "3 % of the words edited": ("same", _edited(page.html, site.language, rng, 0.03)),
        "15 % of the words edited": ("edited", _edited(page.html, site.language, rng, 0.15)),
        "the next article": ("different", site.page(article + 1).html),
        "another article in the same frame": ("different", _with_article(page.html, _article_of(site, article + 100))),
    }
    for group, (label, html) in variants.items():
        made.pages[f"{name} {group}"] = Page(f"{page.url}?{group.replace(' ', '-')}", html)
        made.pairs.append((name, f"{name} {group}", label, group))
    for at, html in enumerate(nameless):
        made.pages[f"{name} nameless {at}"] = Page(f"https://nameless-{site.name}/{article}/{at}", html)
    made.pairs.append((f"{name} nameless 0", f"{name} nameless 1", "same", "no class or id, other advertisements"))


def _add_shop(made: Labelled, shop: Site, rng: random.Random) -> None:
    language = shop.language
    terms = "".join(f"<p>{language.sentence(rng, 40)}</p>" for _ in range(TERMS // 40))
    template = shop.page(0).html
    names = [" ".join(language.say(rng, 3)).capitalize() for _ in range(ARTICLES)]
    for number, product in enumerate(names):
        own = "".join(f"<p>{language.sentence(rng, 30)}</p>" for _ in range(2))
        for copy in range(2):
            seen = f"<p>{rng.randint(2, 99)} {language.sentence(rng, 6)}</p>"
            article = f"<article><h1>{product}</h1>{own}{seen if copy else ''}<div>{terms}</div></article>"
            html = re.sub("<title>.*?</title>", f"<title>{product}</title>", _with_article(template, article))
            made.pages[f"{shop.name}/{number}/{copy}"] = Page(f"https://{shop.name}/{number}?{copy}", html)
        made.pairs.append(
            (f"{shop.name}/{number}/0", f"{shop.name}/{number}/1", "same", "a product under terms, with a counter")
        )
        if number:
            made.pairs.append(
                (f"{shop.name}/{number - 1}/0", f"{shop.name}/{number}/0", "different", "products under the same terms")
            )


def _add_listings(made: Labelled, site: Site) -> None:
    for number in range(3):
        rng = random.Random(f"list {site.name} {number}")
        items = "".join(
            f'<li><a href="/{n}">{site.language.sentence(rng, 9)}</a> {site.language.sentence(rng, 12)}</li>'
            for n in range(20)
        )
        article = f"<article><h1>All articles</h1><ul>{items}</ul></article>"
        html = _with_article(site.page(500).html, article)
        made.pages[f"{site.name} list {number}"] = Page(f"https://{site.name}/all?page={number}", html)
        if number:
            pair = f"{site.name} list {number - 1}", f"{site.name} list {number}"
            made.pairs.append((*pair, "different", "the next page of a listing"))


def _article_of(site: Site, number: int) -> str:
    found = _ARTICLE.search(site.page(number).html)
    assert found is not None
    return found[1]


def _with_article(html: str, article: str) -> str:
    return _ARTICLE.sub(lambda _: article, html)


def _notice(language: Language, rng: random.Random) -> str:
    said = " ".join(f"{language.sentence(rng, 14)} Cookies {language.sentence(rng, 8)}" for _ in range(3))
    return f'<div class="x{rng.getrandbits(24):x}"><p>{said}</p></div>'


def _edited(html: str, language: Language, rng: random.Random, share: float) -> str:
    """The page with neighbouring words of its article exchanged, some places of them, ``share`` of all in the end."""

    def edit(article: re.Match[str]) -> str:
        parts = re.split(r"(<[^>]*>)", article[1])
        words = sum(len(part.split()) for part in parts[::2])
        left = share * words
        for at in rng.sample(range(0, len(parts), 2), len(parts[::2])):
            said = parts[at].split()
            if left > 0 and len(said) >= 8:
                new = language.say(rng, min(len(said), round(left) + 1))
                parts[at] = " ".join([*new, *said[len(new) :]])
                left -= len(new)
        return "".join(parts)

    return _ARTICLE.sub(edit, html)


# ------------------------------------------------------------------------------------ measuring


def pair_rows(labelled: Labelled) -> list[list[str]]:
    """Each group with the kinds that its pairs got, page against page."""
    prints = {name: fingerprint_page(page.html) for name, page in labelled.pages.items()}
    kinds: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one, other, label, group in labelled.pairs:
        kinds[label, group][prints[one].compare(prints[other]).kind] += 1
    rows = []
    for (label, group), counted in sorted(kinds.items(), key=lambda item: (item[0][0] != "same", item[0])):
        total = counted.total()
        shares = (f"{100 * counted[kind] / total:.1f}" for kind in ("identical", "near", "different"))
        rows.append([f"{label}: {group}" if group != label else label, str(total), *shares])
    return rows


async def crawl(labelled: Labelled) -> Counter[str]:
    """What a crawl of all pages drops, and what it keeps twice."""
    label = {frozenset((one, other)): label for one, other, label, _ in labelled.pairs}
    names, kept, counted = {}, set(), Counter(pages=len(labelled.pages))
    detector = NearDuplicateDetector(secret="benchmark")
    await detector.open()
    for number, (name, page) in enumerate(labelled.pages.items()):
        url = f"https://{urlsplit(page.url).hostname}/{number}"
        names[url] = name
        verdict = await detector.judge(page.html, url=url)
        if verdict.is_duplicate:
            counted[
                f"dropped for one labelled {label.get(frozenset((name, names[verdict.original])), 'unlabelled')}"
            ] += 1
            continue
        counted["kept twice"] += any(label.get(frozenset((name, other))) == "same" for other in kept)
        await detector.confirm(verdict.page)
        kept.add(name)
    await detector.close()
    return counted


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--corpus", type=Path, metavar="PATH", help="a folder or zip of labelled pages; see above")
    parser.add_argument("--seed", type=int, default=1, help="of the generated sites")
    options = parser.parse_args()
    labelled = read(options.corpus) if options.corpus else generated(options.seed)
    rows = [["pairs, % judged", "pairs", "identical", "near", "different"], *pair_rows(labelled)]
    counted = asyncio.run(crawl(labelled))
    rows += [[f"crawl: {what}", str(count), "", "", ""] for what, count in sorted(counted.items())]
    finish({"pairs": rows[1 : len(rows) - len(counted)], "crawl": counted}, rows, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
