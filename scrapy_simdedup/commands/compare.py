"""``compare``: how alike two pages are, what each consists of, and what differs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import chain
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings
from twisted.python.failure import Failure

from scrapy_simdedup.commands import BELOW_CMDLINE_PRIORITY
from scrapy_simdedup.commands.console import NO, YES, Action, Bad, Context, Good, Soft, StyledLine, format_table, option
from scrapy_simdedup.detect.names import PageSettings
from scrapy_simdedup.display import plural, shorten
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.report import comparison

ISOLATED_SETTINGS: dict[str, Any] = {
    "SIMDEDUP_ENABLED": False,
    "TWISTED_REACTOR_ENABLED": True,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "FEEDS": {},
    "JOBDIR": None,
}
"""Settings that keep a fetch from leaving traces in what the project's crawls write."""


def run(context: Context) -> int:
    """Compare the pages; the answer is yes if they are identical."""
    one, other = read_pages([context.options.one, context.options.other], context.scrapy)
    settings = PageSettings(context.settings).of(other.url)
    found = comparison.compare_with_settings(settings, one.html, other.html, names=(one.name, other.name))
    context.console.print_answer(found.as_dict(), _text(found))
    return YES if found.kind == "identical" else NO


COMPARE = Action(
    "tell how alike two pages are, and what differs",
    run,
    tuple(
        option(name, metavar="FILE|URL", help="a file, a URL, or - for what is piped in") for name in ("one", "other")
    ),
)
WORDS_AROUND, MAX_SHOWN_LINE = 12, 400
"""Words that are shown on each side of those that differ in a long line, and characters of a block; JSON has all."""
WHAT_A_CRAWL_DOES = {
    (True, True): "drop the later one",
    (True, False): "drop - if it comes after +, and keep both if + comes later",
    (False, True): "drop + if it comes after -, and keep both if - comes later",
    (False, False): "keep both",
}
"""By whether a crawl would drop either page for the other."""


def _text(found: comparison.PageComparison) -> Iterator[str]:
    one, other = found.one, found.other
    yield StyledLine(f"{found.kind}: {found.likeness}; a crawl would {WHAT_A_CRAWL_DOES[found.drops]}")
    if any(found.drops) and (one.title, one.h1) != (other.title, other.h1):
        yield Soft("Their headlines differ, so it also weighs what other pages of the site repeat, and may keep both.")
    elif any(found.drops) and all(found.lost_words):
        yield Soft("Their headlines are the same. If most of the site has them, a name of a few words keeps both.")
    if found.kind == "near" and one.h1 and other.h1 and one.h1 != other.h1:
        yield Soft("Their h1s differ, so they count as two pages, however alike.")
    yield Bad("- " + one.name)
    yield Good("+ " + other.name)
    yield ""
    facts = [
        ("title", one.title, other.title),
        ("h1", one.h1, other.h1),
        ("unjudged", one.unjudged, other.unjudged),
        ("shingles of content", one.shingles, other.shingles),
    ]
    roles = sorted({**one.words_by_role, **other.words_by_role}, key=lambda role: -one.words_by_role.get(role, 0))
    facts += [(f"words of {role}", one.words_by_role.get(role, 0), other.words_by_role.get(role, 0)) for role in roles]
    yield from format_table(("", "-", "+"), [(name, left or None, right or None) for name, left, right in facts])
    yield ""
    yield from _own_text(found)
    yield ""
    yield StyledLine("The blocks that decide, with the weight of their words:")
    left, right = ([f"{line.weight:5g}  {line.text}" for line in page.content_lines] for page in (one, other))
    differ = list(unified_diff(left, right, n=max(len(left), len(right)), lineterm=""))[3:]
    signs: dict[str, Callable[[str], str]] = {"-": Bad, "+": Good}
    for line in differ or [f" {line}" for line in left]:
        yield signs.get(line[0], str)(shorten(line, MAX_SHOWN_LINE))
    for sign, page in (("-", one), ("+", other)):
        if folded := _folded(page.lines, "block"):
            yield Soft(f"{sign}{comparison.WEIGHTS[BlockClass.BOILERPLATE]:5g}  boilerplate, folded: {folded}")


def _folded(lines: Iterable[comparison.Line | comparison.OwnLine], thing: str) -> str:
    folded = Counter(line.role for line in lines if line.role not in comparison.CONTENT_ROLES)
    return ", ".join(f"{plural(count, thing)} of {role}" for role, count in folded.most_common())


def _own_text(found: comparison.PageComparison) -> Iterator[str]:
    """The lines that say what the other page does not, and what would be lost with either page."""
    yield StyledLine("What only one page says, with the words that the other lacks:")
    own, other_own = ({line.text: line for line in lines} for lines in found.own_lines)
    moved = 0
    for difference in comparison.diff_lines(found.one.content_lines, found.other.content_lines):
        one, other = own.get(difference.one or ""), other_own.get(difference.other or "")
        moved += not (one or other)
        if one or other:
            yield Soft(f"  [{difference.role}]")
        spans = comparison.diff_words(difference.one or "", difference.other or "")
        if one:
            yield Bad(f"  - {_own_words(one)}{_near_differences(spans[0])}")
        if other:
            yield Good(f"  + {_own_words(other)}{_near_differences(spans[1])}")
    if moved:
        yield Soft(f"  {plural(moved, 'line')} of words that the other page has elsewhere")
    if lines := _folded(chain(*found.own_lines), "line"):
        yield Soft(f"  boilerplate, folded: {lines}")
    yield StyledLine(f"{_lost(found, 0)}; {_lost(found, 1)}.".capitalize())


def _own_words(line: comparison.OwnLine) -> str:
    return "" if line.own_words == line.words else f"({line.own_words} of {line.words} words) "


def _near_differences(spans: Sequence[comparison.DiffSpan]) -> str:
    """A line without the words that are far from all that differ."""
    shown = list[str]()
    for at, (text, differs) in enumerate(spans):
        words = text.split()
        if not differs and len(words) > 2 * WORDS_AROUND:
            behind, before = WORDS_AROUND * (at > 0), WORDS_AROUND * (at + 1 < len(spans))
            words = [*words[:behind], "…", *words[len(words) - before :]]
        shown += words
    return " ".join(shown)


def _lost(found: comparison.PageComparison, place: int) -> str:
    words, longest = found.lost_words[place], found.longest_lost[place]
    lost = f"{plural(words, 'word')}, {longest:,} of them in one line" if words else "nothing"
    return f"without {'-+'[place]} a crawl loses {lost}"


@dataclass(frozen=True, slots=True)
class NamedPage:
    """A page that the command line names."""

    name: str
    url: str
    html: str
    """The page's HTML, decoded as Scrapy does it."""


def is_url(name: str) -> bool:
    """Whether the name is a URL, not a path."""
    return name.startswith(("http://", "https://"))


def read_pages(names: Sequence[str], settings: Settings) -> list[NamedPage]:
    """The pages at paths, at URLs, or on stdin for ``-``; URLs are fetched under the project's settings."""
    fetched = _fetch([name for name in names if is_url(name)], settings)
    return [NamedPage(name, name, fetched[name]) if is_url(name) else _read(name) for name in names]


def _read(name: str) -> NamedPage:
    body = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    url = "file:///dev/stdin" if name == "-" else Path(name).absolute().as_uri()
    return NamedPage(name, url, HtmlResponse(url, body=body).text)


class _Fetcher(Spider):
    name = "simdedup"
    urls: Sequence[str]
    pages: dict[str, str]
    problems: list[str]

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            yield Request(url, dont_filter=True, errback=self.failed, cb_kwargs={"name": url})

    def parse(self, response: Response, name: str) -> None:
        if isinstance(response, HtmlResponse):
            self.pages[name] = response.text
        else:
            self.problems.append(f"{name} is no HTML page")

    def failed(self, failure: Failure) -> None:
        url = failure.request.url  # type: ignore[attr-defined]  # Scrapy adds it
        response = getattr(failure.value, "response", None)
        why = f"answered with status {response.status}" if response is not None else failure.getErrorMessage()
        self.problems.append(f"{url} could not be fetched: {why}")


def _fetch(urls: Sequence[str], settings: Settings) -> dict[str, str]:
    pages: dict[str, str] = {}
    problems: list[str] = []
    if urls:
        settings = settings.copy()
        settings.setdict(ISOLATED_SETTINGS, priority=BELOW_CMDLINE_PRIORITY)
        process = CrawlerProcess(settings, install_root_handler=False)
        process.crawl(_Fetcher, urls=list(dict.fromkeys(urls)), pages=pages, problems=problems)
        process.start()
    missing = [url for url in urls if url not in pages]
    if problems or missing:
        raise SimdedupError(problems[0] if problems else f"{missing[0]} could not be fetched")
    return pages
