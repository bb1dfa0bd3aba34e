"""``compare A B``: how alike two pages are, what each consists of, and what differs."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.call import NO, YES
from scrapy_simdedup.commands.pages import read_pages
from scrapy_simdedup.commands.text import Bad, Good, Soft, Strong, table
from scrapy_simdedup.report.comparison import compare_under

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterator

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.report.comparison import PageComparison

SUMMARY = "tell how alike two pages are, and what differs"


def add_options(parser: ArgumentParser) -> None:
    """Two pages."""
    for name in ("one", "other"):
        parser.add_argument(name, metavar="FILE|URL", help="a file, a URL, or - for what is piped in")


def run(call: Call) -> int:
    """Compare them; yes if they are identical."""
    one, other = read_pages([call.options.one, call.options.other], call.scrapy)
    settings = call.settings
    found = compare_under(settings, one.html, other.html, names=(one.name, other.name), urls=(one.url, other.url))
    drop = settings.near if settings.drop == "near" else settings.identical
    call.console.answer(found.as_dict(), _text(found, drop))
    return YES if found.kind == "identical" else NO


def _text(found: PageComparison, drop: float) -> Iterator[str]:
    one, other = found.one, found.other
    would = "would" if found.kind != "different" and found.similarity >= drop else "would not"
    alike = f"similarity {found.similarity:.3f}, {found.distance} differing bits"
    yield Strong(f"{found.kind}: {alike}; a crawl {would} drop one")
    if would == "would" and (one.title, one.h1) != (other.title, other.h1):
        yield Soft("Their headlines differ, so it also weighs what other pages of the site repeat, and may keep both.")
    yield Bad("- " + one.name)
    yield Good("+ " + other.name)
    yield ""
    facts = [
        ("title", one.title, other.title),
        ("h1", one.h1, other.h1),
        ("unjudged", one.unjudged, other.unjudged),
        ("shingles of content", one.shingles, other.shingles),
    ]
    roles = sorted({*one.words_by_role, *other.words_by_role}, key=lambda role: -one.words_by_role.get(role, 0))
    facts += [(f"words of {role}", one.words_by_role.get(role, 0), other.words_by_role.get(role, 0)) for role in roles]
    yield from table(("", "-", "+"), [(name, left or None, right or None) for name, left, right in facts])
    yield ""
    yield Strong(f"What differs ({len(found.differences)} blocks of text):")
    for difference in found.differences:
        yield Soft(f"  [{difference.role}]")
        if difference.one is not None:
            yield Bad(f"  - {difference.one}")
        if difference.other is not None:
            yield Good(f"  + {difference.other}")
    yield ""
    yield Strong("Both as Markdown:")
    left, right = one.markdown.splitlines(), other.markdown.splitlines()
    differ = list(unified_diff(left, right, n=max(len(left), len(right)), lineterm=""))[3:]
    signs: dict[str, Callable[[str], str]] = {"-": Bad, "+": Good}
    yield from (signs.get(line[0], str)(line) for line in differ or [f" {line}" for line in left])
