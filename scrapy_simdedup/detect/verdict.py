"""What is known about a page once it was compared with its site."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from scrapy_simdedup.notebook import bar, link, table_html
from scrapy_simdedup.wording import at

if TYPE_CHECKING:
    from scrapy_simdedup.fingerprint.structure import Change

Kind: TypeAlias = Literal["new", "identical", "near", "unchanged", "changed", "stub", "unjudged"]


@dataclass(frozen=True, slots=True)
class PageRef:
    """A page in the store, to confirm or release it."""

    site: str
    id: int
    """The id of its record, unique in its site."""
    key: bytes
    url: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Plain values only, so that it can be pickled with a request."""

    kind: Kind
    """``identical`` and ``near`` repeat another page, ``unchanged`` and ``changed`` are compared with what their own
    URL gave before, ``stub`` is what the site gives under many unrelated URLs, ``new`` is none of these, and
    ``unjudged`` could not be compared."""
    is_duplicate: bool = False
    """The settings drop it, and what it repeats was delivered."""
    original: str | None = None
    """The URL of the page that ``similarity`` is about: another's, or its own where it is compared with its past."""
    similarity: float | None = None
    """Share of common content, 0..1; None where nothing was compared."""
    distance: int | None = None
    """Differing bits of the two simhashes; None where nothing was compared."""
    reason: str | None = None
    """Why it is ``unjudged``, such as ``too_short``; ``in_work`` where it is kept only because its original was not
    delivered yet; ``within_budget`` where more pages with its content may be kept; ``better`` where it takes the
    place of its original; ``imported`` where it is ``unchanged`` only because another tool knew its request; else
    None."""
    page: PageRef | None = None
    """The page's own record, to be confirmed or released; None for a duplicate, and where nothing was stored."""
    pending: PageRef | None = None
    """The original it would repeat, which is still in work: wait for it and judge again. Nothing was stored."""
    original_first_seen: float | None = None
    """When the original was first fetched, in seconds since the epoch."""
    original_run: str | None = None
    """The run that fetched the original."""
    original_key: bytes | None = None
    """Who the original is: the same for all pages with its content."""
    change: Change | None = None
    """What is new against what its own URL gave before: nothing, content, template, or both; None where the structures
    are not known."""

    supersedes: str | None = None
    """The URL of the page whose place it takes, as it is a better copy by ``SIMDEDUP_BETTER``; else None."""

    def as_dict(self) -> dict[str, Any]:
        """The verdict as a dictionary of plain values."""
        values = ((name, getattr(self, name)) for name in self.__slots__)
        return {name: asdict(value) if isinstance(value, PageRef) else value for name, value in values}

    def __repr__(self) -> str:
        said: list[str] = [self.kind]
        if self.is_duplicate:
            said.append("duplicate")
        if self.reason:
            said.append(self.reason)
        if self.similarity is not None:
            said.append(f"{self.similarity:.3f} like {self.original}")
        if self.pending:
            said.append("which is still in work")
        return f"<Verdict {', '.join(said)}>"

    def _repr_html_(self) -> str:
        """For Jupyter: what is known, line by line."""
        rows: list[tuple[str, object]] = [
            ("reason", self.reason),
            ("original", self.original and link(self.original)),
            ("supersedes", self.supersedes and link(self.supersedes)),
            ("similarity", None if self.similarity is None else bar(self.similarity)),
            ("differing bits", self.distance),
            ("original first seen", None if self.original_first_seen is None else at(self.original_first_seen)),
            ("original run", self.original_run),
            ("waits for", self.pending and link(self.pending.url)),
            ("its record", self.page and f"{self.page.id} of {self.page.site}"),
        ]
        caption = f"{self.kind}, a duplicate" if self.is_duplicate else self.kind
        return table_html(caption, (), [(name, value) for name, value in rows if value is not None])
