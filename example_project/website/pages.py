"""The pages of the shop: what is written in content/, and the listings that lead there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTENT = Path(__file__).parent / "content"
ENTRIES_PER_LISTING = 13
KINDS = {
    "articles": "article",
    "products": "product",
    "notices": "notice",
    "workshops": "workshop",
    "posts": "post",
    "recipes": "recipe",
    "kettles": "variant",
}
MODELS = {"Lane": (8, 12, 17), "Quay": (10, 15, 20), "Pier": (10, 15, 20), "Tide": (8, 10, 12)}
"""The kettles to order: the sizes of each in tenths of a litre."""
RELATIONS = ("twin of", "update of", "translation of")
HEADINGS = {
    "en": {
        "index": "Harbour Street Stores",
        "articles": "The magazine",
        "products": "The shelves",
        "workshops": "Evenings in the workshop",
        "posts": "The shop's diary",
        "recipes": "From the stove behind the counter",
        "kettles": "Kettles to order",
    },
    "ru": {"index": "Лавка на Портовой улице", "articles": "Журнал", "products": "Полки"},
    "zh": {"index": "港口街小铺", "articles": "杂志", "products": "货架"},
}


@dataclass(frozen=True, slots=True)
class Page:
    """One content of the site, whatever its addresses are and whatever surrounds it."""

    id: str
    """Where it lies in content/, such as "en/articles/map-and-compass"; empty for pages that are no content."""
    kind: str
    """One of KINDS, listing, or one of the kinds in trouble.py."""
    title: str
    paragraphs: tuple[str, ...]
    tags: tuple[str, ...] = ()
    date: str = ""
    price: str = ""
    relation: str = ""
    """Why it could be taken for another page; one of RELATIONS, or empty."""
    other: str = ""
    """The id of that other page."""
    entries: tuple[str, ...] = ()
    """The ids of the pages that a listing lists."""

    @property
    def language(self) -> str:
        return self.id[:2] or "en"

    @property
    def texts(self) -> tuple[str, ...]:
        """All that the page says under its title, one text per block."""
        return (*self.paragraphs, f"Price: {self.price}") if self.price else self.paragraphs

    @property
    def teaser(self) -> str:
        """The first sentence."""
        for stop in ("。", ". "):
            if stop in self.paragraphs[0]:
                return self.paragraphs[0].partition(stop)[0] + stop.strip()
        return self.paragraphs[0]


def read(path: Path) -> Page:
    """A file of content/: lines of "name: value", an empty line, paragraphs."""
    head, *paragraphs = path.read_text(encoding="utf-8").strip().split("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    relation = next((name for name in RELATIONS if name in fields), "")
    return Page(
        id=path.relative_to(CONTENT).with_suffix("").as_posix(),
        kind=KINDS[path.parent.name],
        title=fields["title"],
        paragraphs=tuple(paragraphs),
        tags=tuple(fields["tags"].split(", ")) if "tags" in fields else (),
        date=fields.get("date", ""),
        price=fields.get("price", ""),
        relation=relation,
        other=fields.get(relation, ""),
    )


@cache
def documents() -> dict[str, Page]:
    """Everything in content/ by its id, and the kettles to order."""
    return {page.id: page for page in (*map(read, sorted(CONTENT.glob("*/*/*.txt"))), *variants())}


def variants() -> Iterator[Page]:
    """Kettles that are made to order: each size has its own page, and all pages have one description."""
    description = tuple((CONTENT / "kettles-to-order.txt").read_text(encoding="utf-8").strip().split("\n\n"))
    for number, (model, sizes) in enumerate(MODELS.items(), start=1):
        for size in sizes:
            litres = f"{size / 10:.1f}"
            yield Page(
                id=f"en/kettles/{model.lower()}-{litres.replace('.', '-')}",
                kind="variant",
                title=f"{model} kettle to order, {litres} litres",
                paragraphs=(*description, f"Article number {number}{size}."),
                price=f"{40 + 9 * number + size}.00",
            )


@cache
def listings() -> dict[str, Page]:
    """The front pages, the sections page by page, and the tags of the English part."""
    made: dict[str, Page] = {}
    for language, headings in HEADINGS.items():
        own = [page for page in documents().values() if page.language == language and page.kind != "notice"]
        newest = sorted((page for page in own if page.date), key=lambda page: page.date, reverse=True)
        made |= listing(f"{language}/index", headings["index"], newest[:6])
        for section in sorted(headings.keys() - {"index"}):
            made |= listing(f"{language}/{section}", headings[section], [p for p in own if p.kind == KINDS[section]])
    english = [page for page in documents().values() if page.language == "en"]
    for tag in sorted({tag for page in english for tag in page.tags}):
        made |= listing(f"en/tags/{tag}", f"All about {tag}", [page for page in english if tag in page.tags])
    return made


def listing(name: str, title: str, pages: list[Page]) -> dict[str, Page]:
    """One listing, cut into as many pages as it needs: name, name/page-2, name/page-3."""
    made = {}
    for number, start in enumerate(range(0, len(pages), ENTRIES_PER_LISTING), start=1):
        some = pages[start : start + ENTRIES_PER_LISTING]
        page_id, page_title = (name, title) if number == 1 else (f"{name}/page-{number}", f"{title} ({number})")
        made[page_id] = Page(
            id=page_id,
            kind="listing",
            title=page_title,
            paragraphs=tuple(page.teaser for page in some),
            entries=tuple(page.id for page in some),
        )
    return made


def of_kind(*kinds: str) -> list[str]:
    """The ids of all documents of some kinds."""
    return [page.id for page in documents().values() if page.kind in kinds]


@cache
def all_pages() -> dict[str, Page]:
    return documents() | listings()


def must_not_drop() -> dict[str, set[str]]:
    """The pages that look most like repeats and are none: their ids, by the reason. None of them may be dropped."""

    def both_sides(relation: str) -> set[str]:
        return {name for page in documents().values() if page.relation == relation for name in (page.id, page.other)}

    return {
        "product twins, one number apart": both_sides("twin of"),
        "sizes of a kettle with one description": set(of_kind("variant")),
        "pages that a script fills": set(of_kind("workshop")),
        "an article and its update": both_sides("update of"),
        "originals and translations": both_sides("translation of"),
        "short pages": set(of_kind("notice")),
        "listing pages": set(listings()),
    }
