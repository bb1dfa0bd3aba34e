"""Every setting, read once at the door into a frozen value."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.setting_checks import CHECKS, HIDDEN
from scrapy_simdedup.store_urls import without_password

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

PREFIX = "SIMDEDUP_"

Mode = Literal["pages", "items", "observe"]
DropKind = Literal["identical", "near"]
Links = Literal["drop", "follow", "follow_new"]
Against = Literal["run", "history"]
Unchanged = Literal["keep", "drop"]
SiteScope = Literal["domain", "host", "all"]
Extractor = Literal["roles", "readability"]
MethodName = Literal["simhash", "exact", "minhash", "shingles", "bits"]
ExactScope = Literal["content", "text", "body"]
Mask = Literal["case", "dates", "times", "numbers"]
Pending = Literal["wait", "keep", "drop"]
Stubs = Literal["flag", "drop", "keep"]
Confirm = Literal["items", "callback", "feed", "manual"]
Urls = Literal["off", "observe", "deprioritize", "skip"]


@dataclass(frozen=True, slots=True)
class DedupSettings:
    """All ``SIMDEDUP_*`` settings, checked. Field names are the settings' names without the prefix, in lower case."""

    enabled: bool = True
    mode: Mode = "pages"
    """What happens to a repeat: its callback is not called, its items are dropped, or it is only counted."""
    drop: DropKind = "identical"
    """The weakest kind that is dropped."""
    links: Links = "drop"
    """What becomes of the links of a page that is dropped: they are lost, or its callback is called and only its items
    are dropped; with ``follow_new`` the latter where there is a link to the site that no page brought before."""
    identical: float = 0.95
    """Similarity (0..1) from which two pages are identical."""
    near: float = 0.85
    """Similarity (0..1) from which two pages are near-duplicates."""
    cluster_budget: int = 1
    """Pages with one content that are kept, the first ones; the others are dropped."""
    better: tuple[str, ...] | str | None = None
    """What makes a repeat the better copy, which is kept and takes the place of its original: names of criteria, the
    first of which that tells the two apart decides; or the import path of a function of a URL and
    :class:`~scrapy_simdedup.detect.better.CopyFacts` that gives more for the better one. With None none does."""
    store: str | None = field(default=None, repr=False)
    """Store URL; None means ``memory:``, or the job's SQLite file where the crawl has a JOBDIR."""
    against: Against = "run"
    """Which pages can displace a page: those of this run, or of all runs in the store."""
    run: str | None = None
    """The run's name; None makes a new one for each crawl."""
    unchanged: Unchanged = "keep"
    """What happens to a page that is what its own URL gave in an earlier run."""
    site: SiteScope = "domain"
    """Whose pages are compared with each other."""
    sites: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Overrides by registrable domain or host; see :meth:`for_site`."""
    extractor: Extractor = "roles"
    """What decides which text is the page's own: block roles, or Readability's main content."""
    role_words: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Words of class and id names, besides those that the package knows, by the name of the role they give; sorted."""
    markdown_field: str | None = None
    """The field of items into which the page's cleaned Markdown is put; None adds none."""
    method: MethodName = "simhash"
    """How pages are compared: by weighted features, exact digests, MinHash, sampled shingles, or bits alone."""
    exact: ExactScope = "content"
    """What the method ``exact`` digests: the main content, all text, or the HTML as it came."""
    masked: tuple[Mask, ...] = ()
    """What the method ``exact`` passes over in texts, besides white space."""
    structure: bool = False
    """Whether a page's layout is kept beside its content, to tell a new template from new content."""
    bits: int = 64
    """Width of the simhash: 64 or 128."""
    shingle_size: int = 3
    """Words per shingle."""
    min_words: int = 20
    """Distinct shingles below which a page is not judged by similarity."""
    pending: Pending = "wait"
    """What a repeat does while its original is still in work."""
    pending_timeout: float = 30.0
    """Seconds that a repeat waits for its original at most; then it is kept."""
    confirm: Confirm = "items"
    """When a page counts as delivered."""
    stubs: Stubs = "flag"
    """What happens to a content that comes under many unrelated URLs, such as a captcha: it is kept and flagged,
    dropped, or treated like any other page."""
    wall_pause: float = 0.0
    """Seconds for which a site is left alone that answers everything with one content; 0 goes on."""
    ttl: float | None = None
    """Seconds after which a page that was not seen again is forgotten; None never forgets."""
    max_pages_per_site: int | None = None
    """Pages of a site above which those seen longest ago are forgotten; None keeps all."""
    workers: int = 0
    """Processes that fingerprint pages; 0 does it in the crawl's own."""
    worker_timeout: float = 10.0
    """Seconds that a page may take in a worker; then it is kept unjudged, and the worker replaced."""
    max_page_bytes: int = 5_000_000
    """Characters of HTML above which only exact repeats are recognised."""
    item_fields: tuple[str, ...] = ()
    """The fields whose text makes an item, for the pipeline that drops items that repeat items."""
    urls: Urls = "off"
    """What happens to requests whose URLs are found to lead to known content: nothing, they are counted, put off, or
    not made."""
    url_rules: tuple[str, ...] = ()
    """Paths of files with rules about URLs that hold from the first request on."""
    request_fingerprinter: str | None = None
    """What :class:`~scrapy_simdedup.CanonicalRequestFingerprinter` hands requests on to; None takes Scrapy's own."""
    report: tuple[str, ...] = ()
    """Paths of the report that the crawl writes at its end: ``.html``, ``.json``, or both."""
    secret: str | None = field(default=None, repr=False)
    """Key under the hashes; None takes the store's own."""

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> DedupSettings:
        """Read Scrapy's settings.

        Raises:
            SettingError: a value cannot be used, or a ``SIMDEDUP_`` name is unknown.
        """
        names = [name for name in settings if isinstance(name, str) and name.startswith(PREFIX)]
        return cls.from_keywords(**{name[len(PREFIX) :].lower(): settings[name] for name in names})

    @classmethod
    def from_keywords(cls, **values: Any) -> DedupSettings:
        """Read settings given as keywords: ``from_keywords(mode="items")``.

        Raises:
            SettingError: a value cannot be used, or a name is unknown.
        """
        checked: dict[str, Any] = {name: _check(name, value) for name, value in values.items()}
        made = cls(**checked)
        if made.near > made.identical:
            raise SettingError(
                PREFIX + "NEAR", made.near, f"write a number up to {PREFIX}IDENTICAL, which is {made.identical}"
            )
        for site in made.sites:
            made.for_site(site)
        return made

    @property
    def lowest_near(self) -> float:
        """The similarity from which pages are near-duplicates on any site."""
        return min([self.near, *(float(overrides["near"]) for overrides in self.sites.values() if "near" in overrides)])

    def for_site(self, *names: str) -> DedupSettings:
        """These settings with the overrides of the first of ``names`` (host first, then domain) that has any."""
        for name in names:
            overrides = self.sites.get(name)
            if overrides:
                changed = replace(self, **overrides)
                if changed.near > changed.identical:
                    raise SettingError(
                        f"{PREFIX}SITES[{name!r}]", dict(overrides), "write a 'near' that is not above 'identical'"
                    )
                return changed
        return self


def _check(name: str, value: Any) -> Any:
    check = CHECKS.get(name)
    full = PREFIX + name.upper()
    if check is None:
        close = difflib.get_close_matches(name, CHECKS, n=1)
        if "secret" in name or close == ["secret"]:
            value = HIDDEN
        raise SettingError(
            full,
            without_password(value) if isinstance(value, str) else value,
            f"there is no such setting; did you mean {PREFIX}{close[0].upper()}?"
            if close
            else f"there is no such setting; see the table of settings in the README of scrapy-simdedup {_known()}",
        )
    return check(full, value)


def _known() -> str:
    return f"({', '.join(PREFIX + f.name.upper() for f in fields(DedupSettings))})"
