"""The values of a judgement: the fetched page, the original that it matches, its verdict, and its record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from scrapy_simdedup.display import bar_html, format_time, link_html, plural, shorten, table_html
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.unit_changes import Change
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.unjudged import UnjudgedReason

VerdictKind: TypeAlias = Literal["new", "identical", "near", "unchanged", "changed", "stub", "unjudged"]
Reason: TypeAlias = (
    UnjudgedReason
    | Literal[
        "within_budget",
        "in_work",
        "better",
        "no_item_yet",
        "for_links",
        "other_callback",
        "other_arguments",
        "for_callback",
        "own_text",
        "known_view",
    ]
)
"""Why a page is unjudged, or got another verdict than its similarity alone would give; see :attr:`Verdict.reason`."""


@dataclass(frozen=True, slots=True)
class PageRef:
    """A reference to a page's record in the store, to confirm or release it."""

    site: str
    id: int
    """The id of the record, unique in its site."""
    key: bytes
    url: str

    def __repr__(self) -> str:
        return f"<PageRef {self.id} of {self.site}: {shorten(self.url)}>"


class Verdict(NamedTuple):
    """The result of judging a page, in plain values, so that it can be pickled with a request."""

    kind: VerdictKind
    """``identical`` and ``near`` repeat another page, ``unchanged`` and ``changed`` are compared with what their own
    URL gave before, ``stub`` is one content that the site gives under many unrelated URLs, ``new`` is none of these,
    and ``unjudged`` could not be compared."""
    is_duplicate: bool = False
    """The settings drop the page, and the content that it repeats was delivered."""
    original: str | None = None
    """The URL of the page that ``similarity`` is about: of another page, or the page's own on a revisit."""
    similarity: float | None = None
    """Share of common content, 0..1; None where nothing was compared."""
    distance: int | None = None
    """Differing bits of the two simhashes; None where nothing was compared."""
    reason: Reason | None = None
    """Why the page is ``unjudged``, such as ``too_short``; ``in_work`` where it is kept only because its original was
    not delivered yet; ``within_budget`` where more pages with its content may be kept; ``better`` where it takes the
    place of its original; ``no_item_yet`` where the first page with its content gave no item; ``for_links`` where the
    page gave no item in an earlier run, and its links may lead to what is new; ``other_callback`` where its original
    was got by another callback, or for another spider; ``other_arguments`` where its request brings values for the item
    that no other brought; ``for_callback`` where the downloader middleware is there alone, and the page brings new
    links or was asked for again; ``own_text`` where it is ``near`` only because it says what its original does not, see
    :attr:`own_words`; ``known_view`` where what it says beside its original stands on one other page with its title, so
    that it repeats it though they are less alike; ``imported`` where it is ``unchanged`` only because another tool knew
    its request; else None."""
    page: PageRef | None = None
    """The page's own record, to be confirmed or released; None for a duplicate, and where nothing was stored."""
    pending: PageRef | None = None
    """The original that the page would repeat, still in work: wait for it and judge again. Nothing was stored."""
    original_first_seen: float | None = None
    """When the original was first fetched, in seconds since the epoch."""
    original_run: str | None = None
    """The run that fetched the original."""
    original_key: bytes | None = None
    """The original's request fingerprint: the same for all pages with its content."""
    change: Change | None = None
    """What changed since the page's own URL was fetched before: nothing, content, template, or both; None where the
    structures are not known."""
    unit_changes: dict[str, int] | None = None
    """Of a revisit, how many text units were ``added``, ``removed``, ``edited`` and ``reordered``; empty where none
    were. None where the page was judged by its similarity."""
    supersedes: str | None = None
    """The URL of the page whose place this one takes, as a better copy by ``SIMDEDUP_PREFER``; else None."""
    own_words: int | None = None
    """Words of the page's longest text unit that the original lacks: why it is ``near`` with the reason ``own_text``;
    for a duplicate what it had of its own, usually 0; None where that is not known."""
    other_headline: bool = False
    """Whether the h1 of a duplicate differs from its original's, or the title, where not both pages have an h1."""
    other_text: bool | None = None
    """Of a duplicate, whether its content, title or offer does not say just what those of its original say; None where
    that is not known. What differs may be a counter, a clock, or the one fact that tells the pages of a family apart.
    Of a known view it is what another page says that was delivered, so nothing differs."""
    is_doubtful: bool = False
    """Of a duplicate, whether its h1 alone vouches that it is one, on a site of which too few pages are known to tell
    whether that h1 stands on most of them. A crawl judges it once more when it has nothing else to fetch."""

    def as_dict(self) -> dict[str, Any]:
        """The verdict as a dictionary of plain values."""
        values = self._asdict()
        for name in ("page", "pending"):
            if (page := values[name]) is not None:
                values[name] = {"site": page.site, "id": page.id, "key": page.key, "url": page.url}
        return values

    def __repr__(self) -> str:
        parts: list[str] = [self.kind]
        if self.is_duplicate:
            parts.append("duplicate")
        if self.reason:
            parts.append(self.reason)
        if self.similarity is not None:
            parts.append(f"{self.similarity:.3f} like {shorten(self.original or '')}")
        if self.own_words:
            parts.append(f"{plural(self.own_words, 'word')} of its own")
        if self.pending:
            parts.append("which is still in work")
        return f"<Verdict {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        """The verdict in a notebook, as a table of what is known."""
        first_seen = self.original_first_seen
        rows: list[tuple[str, object]] = [
            ("reason", self.reason),
            ("original", self.original and link_html(self.original)),
            ("supersedes", self.supersedes and link_html(self.supersedes)),
            ("similarity", None if self.similarity is None else bar_html(self.similarity)),
            ("differing bits", self.distance),
            ("words of its own", self.own_words),
            ("original first seen", None if first_seen is None else format_time(first_seen)),
            ("original run", self.original_run),
            ("waits for", self.pending and link_html(self.pending.url)),
            ("its record", self.page and f"{self.page.id} of {self.page.site}"),
        ]
        caption = f"{self.kind}, a duplicate" if self.is_duplicate else self.kind
        return table_html(caption, (), [(name, value) for name, value in rows if value is not None])


class FetchedPage(NamedTuple):
    """A page that was fetched, with all that is known of it before it is compared."""

    site: str
    """The site with whose pages it is compared."""
    key: bytes
    """The page's request fingerprint."""
    url: str
    fingerprint: PageFingerprint
    run: str
    worker: str
    now: float
    """When the page was fingerprinted, in seconds since the epoch."""
    settings: DedupSettings
    """The settings of the crawl, with what the page's site and its kind of page have of their own."""
    canonical: str | None = None
    """The canonical URL that the page declares; None where it declares none, or nobody asks for it."""
    known_since: float | None = None
    """When another tool delivered the page, of whose content it remembered nothing; None if none did. A page of which
    the store knows nothing else is then unchanged."""
    handler: str = ""
    """The spider and the callback that get the page; empty where none is known, or where it does not matter."""
    is_doubted: bool = False
    """Whether it was dropped before in doubt, and is judged as if it had not been; see :attr:`Verdict.is_doubtful`."""
    asked_for: bytes | None = None
    """The key of the original for which the page was dropped, where a second fetch is to show whether it changes."""
    is_filtered: bool = False
    """Whether Scrapy's filter lets the request be made once per run; a second delivery of its page is then unwanted."""
    read: Callable[[], Awaitable[PageFingerprint]] | None = None
    """Reads the page, where its fingerprint is that of an earlier version with the same bytes: only then its text units
    are at hand."""


class OwnText(NamedTuple):
    """The text of a page that its originals lack."""

    words: int | None = None
    """Words of its longest text unit that they lack; None where that is not known, as it is a copy of none."""
    counts: bool = False
    """Whether the page is no copy, because of this text."""
    is_in_work: bool = False
    """Whether an original that is not delivered yet has the text: the verdict then waits for that original."""
    is_doubtful: bool = False
    """Whether a line of the page would count, had a headline not vouched for it that the whole site may have."""


@dataclass(frozen=True, slots=True)
class Match:
    """An original that a page is like."""

    record: Record
    similarity: float
    distance: int
    own: OwnText
    is_known_view: bool
    """Whether the page is a copy only as the view of a thing that is known; see ``SiteNovelty``."""
    copies: int = 0
    """How many originals the page would be dropped for; this original may be none of them."""
