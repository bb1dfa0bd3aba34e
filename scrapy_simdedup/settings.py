"""All settings, as one frozen value that is read and checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from scrapy_simdedup import setting_checks as checks
from scrapy_simdedup.display import REDACTED, did_you_mean, nearest, redact_password, shorten
from scrapy_simdedup.errors import SettingError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

PREFIX = "SIMDEDUP_"
Mode = Literal["pages", "items", "observe"]
DropKind = Literal["identical", "near"]
Links = Literal["defer", "drop", "follow_new"]
Criterion = Literal["canonical", "https", "longer", "shorter_url"]
Against = Literal["run", "history"]
Unchanged = Literal["keep", "drop"]
UnchangedBy = Literal["content", "similarity"]
Callbacks = Literal["same", "any"]
Scope = Literal["domain", "host", "all"]
Extractor = Literal["roles", "content", "readability"]
ContentName = Literal["markdown", "text", "title", "author", "date", "language", "site_name", "canonical"]
RoleName = Literal[
    "navigation",
    "header",
    "branding",
    "footer",
    "aside",
    "widget",
    "form",
    "cookie notice",
    "advertisement",
    "related pages",
    "comments",
    "sharing",
    "dates and counters",
    "content",
]
MethodName = Literal["simhash", "exact", "minhash", "shingles", "bits"]
ExactScope = Literal["content", "text", "body"]
Mask = Literal["case", "dates", "times", "numbers"]
Stubs = Literal["flag", "drop", "keep"]
Confirm = Literal["items", "callback", "feed"]
UrlLearning = Literal["off", "observe", "deprioritize", "skip"]
MOST_COPIES = 32
"""The most copies that can be kept: half of the pages that a page is compared with at most."""


def setting(default: Any, check: checks.Check | None = None, *, per_site: bool = False, secret: bool = False) -> Any:
    """A field with its check; one without is True or False, or one of the choices of its type.

    A site can override what is ``per_site``. What is ``secret`` is never shown.
    """
    return field(default=default, repr=not secret, metadata={"check": check, "per_site": per_site})


@dataclass(frozen=True)
class DedupSettings:
    """All ``SIMDEDUP_*`` settings, checked. Field names are the settings' names without the prefix, in lower case."""

    enabled: bool = setting(True)
    mode: Mode = setting("pages")
    """What happens to a repeat: its callback is not called, its items are dropped, or it is only counted."""
    drop: DropKind = setting("identical", per_site=True)
    """The weakest kind that is dropped."""
    links: Links = setting("defer")
    """What becomes of the links that only dropped pages bring: they wait behind all other requests, and are tried while
    links like them lead to new content; none is followed; or all are, at once. For the links of a dropped page, if any
    of them is new, its callback is called, and its items are dropped."""
    identical: float = setting(0.95, checks.similarity, per_site=True)
    """Similarity (0..1) from which two pages are identical."""
    near: float = setting(0.85, checks.similarity, per_site=True)
    """Similarity (0..1) from which two pages are near-duplicates."""
    novel_words: int | None = setting(20, checks.optional(checks.whole(1, 10_000)), per_site=True)
    """Words of a text unit from which a page that the other page lacks it is no copy of it, or a fifth of the page's
    content where that is less, but at least 6. With None only the similarity counts."""
    max_copies: int = setting(1, checks.whole(1, MOST_COPIES), per_site=True)
    """Pages with one content that are kept, the first ones; the others are dropped."""
    prefer: tuple[Criterion, ...] | str | None = setting(None, checks.preference(*get_args(Criterion)), per_site=True)
    """What makes a repeat the better copy, which is kept and takes the place of its original: names of criteria, of
    which the first that tells the two apart decides; or the import path of a function of a URL and
    :class:`~scrapy_simdedup.detect.copy_check.CopyFacts` that gives more for the better copy. With None no copy is."""
    store: str | None = setting(None, checks.store, secret=True)
    """Store URL, or the import path of a class; None means ``memory:``, or the job's SQLite file where the crawl has a
    JOBDIR."""
    against: Against = setting("run")
    """Which pages can displace a page: those of this run, or of all runs in the store."""
    run: str | None = setting(None, checks.text("a name such as 'monday'"))
    """The run's name; None makes a new one for each crawl."""
    unchanged: Unchanged = setting("keep", per_site=True)
    """What happens to a page whose URL had the same content in an earlier run."""
    unchanged_by: UnchangedBy | tuple[str, ...] = setting(
        "content", checks.choice_or_names(*get_args(UnchangedBy)), per_site=True
    )
    """What makes a page unchanged: equal text units of the content, similarity, or equal fields of its items."""
    clocks: bool = setting(True, per_site=True)
    """Whether the places of a site whose text changes by itself, such as counters, are learned and passed over."""
    callbacks: Callbacks = setting("same", per_site=True)
    """Which pages can displace a page: pages of the same spider and callback, or of any."""
    scope: Scope = setting("domain")
    """Which pages are compared with each other: pages of one registrable domain, of one host, or all."""
    site_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Overrides by site, a registrable domain or a host, and by the URL pattern of a kind of page."""
    extractor: Extractor = setting("roles", per_site=True)
    """What counts in full in a fingerprint: the blocks whose roles say content, the main content as the content model
    finds it, or as Readability does. The last two are the words of the page's Markdown, no more and no less."""
    role_words: tuple[tuple[RoleName, tuple[str, ...]], ...] = setting((), checks.role_words(*get_args(RoleName)))
    """Words of class and id names, besides those that the package knows, by the name of the role they give; sorted."""
    markdown_field: str | None = setting(None, checks.text("a field name such as 'markdown'"))
    """The field of items into which the Markdown of the page's main content is put; None adds none."""
    content_fields: tuple[tuple[str, ContentName], ...] = setting((), checks.content_fields(*get_args(ContentName)))
    """Fields of items, and what of :class:`~scrapy_simdedup.page.content.Content` is put into each."""
    method: MethodName = setting("simhash")
    """How pages are compared: by weighted features, exact digests, MinHash, sampled shingles, or bits alone."""
    exact: ExactScope = setting("content")
    """What the method ``exact`` digests: the main content, all text, or the HTML as it came."""
    ignore: tuple[Mask, ...] = setting((), checks.any_of(*get_args(Mask)))
    """What the method ``exact`` ignores in texts, besides white space."""
    track_layout: bool = setting(False)
    """Whether a page's layout is stored beside its content, to tell a new template from new content."""
    bits: int = setting(64, checks.bits)
    """Width of the simhash: 64 or 128."""
    shingle_size: int = setting(3, checks.whole(1, 10))
    """Words per shingle."""
    min_words: int = setting(20, checks.whole(1, 10_000), per_site=True)
    """Distinct shingles below which a page is not judged by similarity."""
    identity: tuple[str, ...] | None = setting(None, checks.optional(checks.identity), per_site=True)
    """Where a page says what tells it from others with the same text, such as an article number: properties of JSON-LD
    and CSS selectors; None for what JSON-LD or microdata say of the thing that the page is named after. Pages of which
    the values are known and differ are no copies."""
    pending_timeout: float = setting(30.0, checks.number(0, 86_400, "write seconds from 0 to 86400"))
    """Seconds that a repeat waits at most until its original is delivered; then it is kept. 0 keeps it at once."""
    confirm: Confirm = setting("items")
    """When a page counts as delivered."""
    stubs: Stubs = setting("flag", per_site=True)
    """What happens to a stub, a content such as a captcha that many unrelated URLs have: it is kept and flagged,
    dropped, or treated like any other page."""
    ttl: float | None = setting(None, checks.optional(checks.number(1, 1e10, "write seconds from 1 up")))
    """Seconds after which a page that was not fetched again is forgotten; None never forgets."""
    max_pages_per_site: int | None = setting(None, checks.optional(checks.whole(1, 1_000_000_000)))
    """The most pages of a site that are stored: those fetched longest ago are forgotten first; None keeps all."""
    workers: int = setting(0, checks.whole(0, 256))
    """Processes that make fingerprints; with 0 the crawl's own process makes them."""
    worker_timeout: float = setting(10.0, checks.number(0.1, 3_600, "write seconds from 0.1 to 3600"))
    """Seconds that a worker process may take for a page; then the page is kept unjudged, and the worker replaced."""
    max_page_bytes: int = setting(5_000_000, checks.whole(1_000, 1_000_000_000))
    """Characters of HTML above which only exact repeats are recognised."""
    item_fields: tuple[str, ...] | Mapping[str, tuple[str, ...]] = setting((), checks.item_fields)
    """The fields that make an item, for the pipeline that drops items that repeat items; or these fields by the name or
    the import path of an item's class, so that items of other classes are not compared."""
    url_learning: UrlLearning = setting("off")
    """What happens to requests whose URLs lead to known content by the learned rules: nothing, they are counted, put
    off, or not made."""
    url_checks: float = setting(0.05, checks.number(0, 1, "write a share from 0 to 1, such as 0.05"))
    """The requests that may be made to check the rules about URLs, as a share of the requests that they save."""
    url_remember: bool = setting(True)
    """Whether the rules about URLs are kept in the store, and the next run begins with them, as candidates."""
    url_rules: tuple[str, ...] = setting(
        (), checks.paths("write a list of paths of JSON files, such as ['rules.json']")
    )
    """Paths of files with rules about URLs that hold from the first request on."""
    request_fingerprinter: str | None = setting(
        None, checks.text("the path of a class such as 'myproject.fingerprints.Fingerprinter'")
    )
    """The fingerprinter that :class:`~scrapy_simdedup.CanonicalRequestFingerprinter` calls; None takes Scrapy's own."""
    report: tuple[str, ...] = setting(
        (), checks.paths("write a path that ends with .html or .json, or a list of such paths", ".html", ".json")
    )
    """Paths of the report that the crawl writes at its end: ``.html``, ``.json``, or both. As in ``FEEDS``,
    ``%(name)s`` is the spider's name and ``%(time)s`` the time of the crawl's start."""
    dropped_feed: tuple[str, ...] = setting((), checks.tables)
    """Paths of the files with a line for each dropped page: ``.jsonl``, ``.jl``, ``.csv`` or ``.parquet``; placeholders
    as above."""
    secret: str | None = setting(None, checks.text("a text that is not empty", secret=True), secret=True)
    """The key of the hashes; None takes the store's own."""

    def __repr__(self) -> str:
        """The settings that differ from their defaults; never the store or the secret."""
        default = DedupSettings()
        names = [field.name for field in fields(self) if field.repr]
        changed = {name: value for name in names if (value := getattr(self, name)) != getattr(default, name)}
        return f"DedupSettings({', '.join(f'{name}={shorten(repr(value), 60)}' for name, value in changed.items())})"

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
        settings = cls(**{name: _checked(name, value) for name, value in values.items()})
        if settings.near > settings.identical:
            remedy = f"write a number up to {PREFIX}IDENTICAL, which is {settings.identical}"
            raise SettingError(PREFIX + "NEAR", settings.near, remedy)
        for key in settings.site_settings:
            if not checks.is_pattern(key):
                settings.with_site_settings(key)
        return settings

    @cached_property  # it is asked of each page
    def drop_threshold(self) -> float:
        """The similarity from which pages are dropped."""
        return self.near if self.drop == "near" else self.identical

    @property
    def lowest_near(self) -> float:
        """The similarity from which pages are near-duplicates under any of the site settings."""
        return float(min(self._everywhere("near")))

    @property
    def item_content(self) -> dict[str, ContentName]:
        """What of a page's content is put into each field of its items."""
        return dict(self.content_fields) | ({self.markdown_field: "markdown"} if self.markdown_field else {})

    @property
    def wants_metadata(self) -> bool:
        """Whether anything of a page's content but its text is put into items."""
        return not {"markdown", "text"}.issuperset(self.item_content.values())

    @cached_property  # as well
    def keeps_units(self) -> bool:
        """Whether the text units of any page are asked for."""
        return self.compares_versions or any(own is not None for own in self._everywhere("novel_words"))

    @property
    def compares_versions(self) -> bool:
        """Whether any page is compared with its own past by its text units."""
        return "content" in self._everywhere("unchanged_by")

    @cached_property  # as well
    def looks_for_identity(self) -> bool:
        """Whether any page has its identity elsewhere than others: equal bytes are then no equal identity."""
        return any(self._everywhere("identity"))

    def is_anywhere(self, name: str, value: object) -> bool:
        """Whether a setting has a value for any page."""
        return value in self._everywhere(name)

    def _everywhere(self, name: str) -> list[Any]:
        """The values that a setting has for any page."""
        return [getattr(self, name), *(own[name] for own in self.site_settings.values() if name in own)]

    def with_site_settings(self, *keys: str) -> DedupSettings:
        """These settings with the overrides of some keys of ``site_settings``, of which the later ones win.

        Raises:
            SettingError: the overrides make ``near`` greater than ``identical``.
        """
        overrides = {name: value for key in keys for name, value in self.site_settings[key].items()}
        made = replace(self, **overrides)
        if made.near > made.identical:
            name, value = f"{PREFIX}SITE_SETTINGS[{keys[-1]!r}]", dict(self.site_settings[keys[-1]])
            remedy = f"write a 'near' that is not above 'identical'; pages have {made.near} and {made.identical} here"
            raise SettingError(name, value, remedy)
        return made


_DEFAULTS = DedupSettings()
_TYPES = get_type_hints(DedupSettings)
CHECKS: dict[str, checks.Check] = {
    setting.name: setting.metadata.get("check") or checks.of_type(_TYPES[setting.name]) for setting in fields(_DEFAULTS)
}
"""The checks of all settings, by the names of the fields."""
SITE_CHECKS = {setting.name: CHECKS[setting.name] for setting in fields(_DEFAULTS) if setting.metadata.get("per_site")}
"""Those of the settings that a site can override."""
WHOLE_SITE = frozenset({"stubs"})
"""The settings among them that cannot differ between the pages of a site."""
CHECKS["site_settings"] = checks.site_settings(SITE_CHECKS, WHOLE_SITE)
_UNSET = frozenset({"", "none", "null"})
"""What forms and command lines say, which know texts alone, where nothing is to be set; in lower case."""


def _checked(name: str, value: Any) -> Any:
    full = PREFIX + name.upper()
    if name in CHECKS:
        default = getattr(_DEFAULTS, name)
        if isinstance(value, str) and value.strip().lower() in _UNSET and default in (None, (), {}):
            return default
        return CHECKS[name](full, value)
    if "secret" in name or nearest(name, ["secret"]):
        value = REDACTED
    elif isinstance(value, str):
        value = redact_password(value)
    likely = did_you_mean(PREFIX + known.upper() for known in nearest(name, CHECKS))
    all_of_them = f"; there are {', '.join(PREFIX + known.upper() for known in CHECKS)}"
    raise SettingError(full, value, f"there is no such setting{likely or all_of_them}")
