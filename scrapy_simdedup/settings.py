"""Every setting, read once at the door into a frozen value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from scrapy_simdedup.errors import SettingError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

PREFIX = "SIMDEDUP_"
HIDDEN = "***"
"""What errors show instead of a secret."""

Mode = Literal["pages", "items", "observe"]
DropKind = Literal["identical", "near"]
Against = Literal["run", "history"]
Unchanged = Literal["keep", "drop"]
SiteScope = Literal["domain", "host", "all"]
Extractor = Literal["roles", "readability"]
Pending = Literal["wait", "keep", "drop"]
Stubs = Literal["flag", "drop", "keep"]
Confirm = Literal["items", "callback", "feed", "manual"]


@dataclass(frozen=True, slots=True)
class DedupSettings:
    """All ``SIMDEDUP_*`` settings, checked. Field names are the settings' names without the prefix, in lower case."""

    enabled: bool = True
    mode: Mode = "pages"
    """What happens to a repeat: its callback is not called, its items are dropped, or it is only counted."""
    drop: DropKind = "identical"
    """The weakest kind that is dropped."""
    identical: float = 0.95
    """Similarity (0..1) from which two pages are identical."""
    near: float = 0.85
    """Similarity (0..1) from which two pages are near-duplicates."""
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
    """The item field into which the pipeline puts the page's cleaned Markdown; None adds none."""
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


# ------------------------------------------------------------------ one check per kind of value


def _flag(name: str, value: Any) -> bool:
    known = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if str(value).lower() in known:
        return known[str(value).lower()]
    raise SettingError(name, value, "write True or False")


def _one_of(*choices: str) -> Callable[[str, Any], str]:
    def check(name: str, value: Any) -> str:
        if value in choices:
            return cast("str", value)
        raise SettingError(name, value, f"write one of {', '.join(map(repr, choices))}")

    return check


def _number(low: float, high: float, remedy: str) -> Callable[[str, Any], float]:
    def check(name: str, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if isinstance(value, bool) or not low <= number <= high:
            raise SettingError(name, value, remedy)
        return number

    return check


def _similarity(name: str, value: Any) -> float:
    return _number(0.0, 1.0, "write a similarity between 0 and 1, such as 0.95")(name, value)


def _whole(low: int, high: int) -> Callable[[str, Any], int]:
    remedy = f"write a whole number from {low} to {high}"

    def check(name: str, value: Any) -> int:
        number = _number(low, high, remedy)(name, value)
        if number != int(number):
            raise SettingError(name, value, remedy)
        return int(number)

    return check


def _bits(name: str, value: Any) -> int:
    if str(value) not in {"64", "128"}:
        raise SettingError(name, value, "write 64 or 128")
    return int(value)


def _text(example: str) -> Callable[[str, Any], str | None]:
    def check(name: str, value: Any) -> str | None:
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        raise SettingError(name, value, f"write {example}, or None")

    return check


def _secret(name: str, value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise SettingError(name, HIDDEN, "write a text that is not empty, or None")


def _optional(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else check(name, value)


def _names(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise SettingError(name, value, "write a list of field names, such as ['title', 'text']")


def _report(name: str, value: Any) -> tuple[str, ...]:
    paths = [value] if isinstance(value, str) else [] if value is None else value
    if isinstance(paths, (list, tuple)) and all(isinstance(p, str) and p.endswith((".html", ".json")) for p in paths):
        return tuple(paths)
    raise SettingError(name, value, "write a path that ends with .html or .json, or a list of such paths")


ROLES = (
    *("navigation", "header", "branding", "footer", "aside", "widget", "form", "cookie notice", "advertisement"),
    *("related pages", "comments", "sharing", "dates and counters"),
)
"""The roles that ``SIMDEDUP_ROLE_WORDS`` can give to words."""


def _role_words(name: str, value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    pairs = value.items() if isinstance(value, Mapping) else value if isinstance(value, tuple) else None
    if pairs is None:
        raise SettingError(name, value, "write a dictionary such as {'footer': ['imprint']}")
    made = {}
    for role, words in pairs:
        if role not in ROLES:
            raise SettingError(name, role, f"there is no such role; write one of {', '.join(map(repr, ROLES))}")
        if isinstance(words, str) or not all(isinstance(word, str) and word.isalpha() for word in words):
            raise SettingError(
                f"{name}[{role!r}]", words, "write a list of single words of letters, such as ['imprint']"
            )
        made[role] = tuple(sorted({word.lower() for word in words}))
    return tuple(sorted((role, words) for role, words in made.items() if words))


STORE_FORMS = {
    "memory": "memory:",
    "sqlite": "sqlite:///path/to/pages.sqlite",
    "redis": "redis://host:6379/0",
    "rediss": "rediss://host:6379/0",
    "redis+cluster": "redis+cluster://host:6379",
    "unix": "unix:///path/to/redis.sock?db=0",
    "postgresql": "postgresql://user@host/database",
}
"""The store schemes there are, with an example of each."""


def _store(name: str, value: Any) -> str | None:
    if value is None:
        return None
    remedy = "write a store URL such as " + " or ".join(map(repr, STORE_FORMS.values()))
    if not isinstance(value, str) or ":" not in value:
        raise SettingError(name, without_password(str(value)), remedy)
    scheme, _, rest = value.partition(":")
    if scheme not in STORE_FORMS:
        raise SettingError(name, without_password(value), remedy)
    if scheme != "memory" and not rest.startswith("//"):
        raise SettingError(name, without_password(value), f"write it as {STORE_FORMS[scheme]!r}")
    return value


def without_password(url: str) -> str:
    """The URL with its password, if it has one, as ``***``; safe for logs and errors."""
    url = re.sub(r"([?&](?:ssl_?)?password=)[^&]*", r"\1***", url)
    # Not by urlsplit: a URL that does not parse may hide its password anywhere before the last @.
    return re.sub(r"(//[^/@:]*:|^(?!.*//)[^/@:]*:).*@", r"\1***@", url, flags=re.DOTALL)


SITE_OVERRIDES = ("drop", "identical", "near", "extractor", "min_words", "unchanged", "stubs")
"""The settings that ``SIMDEDUP_SITES`` can override for a site."""


def _sites(name: str, value: Any) -> Mapping[str, Mapping[str, Any]]:
    example = "write a dictionary such as {'news.example': {'drop': 'near', 'near': 0.8}}"
    if not isinstance(value, Mapping):
        raise SettingError(name, value, example)
    checked: dict[str, dict[str, Any]] = {}
    for site, overrides in value.items():
        if not isinstance(site, str) or not isinstance(overrides, Mapping):
            raise SettingError(name, value, example)
        checked[site.lower()] = {}
        for key, setting in overrides.items():
            if key not in SITE_OVERRIDES:
                raise SettingError(f"{name}[{site!r}]", key, f"a site can override {', '.join(SITE_OVERRIDES)}")
            checked[site.lower()][key] = CHECKS[key](f"{name}[{site!r}][{key!r}]", setting)
    return checked


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "enabled": _flag,
    "mode": _one_of("pages", "items", "observe"),
    "drop": _one_of("identical", "near"),
    "identical": _similarity,
    "near": _similarity,
    "store": _store,
    "against": _one_of("run", "history"),
    "run": _text("a name such as 'monday'"),
    "unchanged": _one_of("keep", "drop"),
    "site": _one_of("domain", "host", "all"),
    "sites": _sites,
    "extractor": _one_of("roles", "readability"),
    "role_words": _role_words,
    "markdown_field": _text("a field name such as 'markdown'"),
    "bits": _bits,
    "shingle_size": _whole(1, 10),
    "min_words": _whole(1, 10_000),
    "pending": _one_of("wait", "keep", "drop"),
    "pending_timeout": _number(0, 86_400, "write seconds from 0 to 86400"),
    "confirm": _one_of("items", "callback", "feed", "manual"),
    "stubs": _one_of("flag", "drop", "keep"),
    "wall_pause": _number(0, 86_400, "write seconds from 0 to 86400"),
    "ttl": _optional(_number(1, 1e10, "write seconds from 1 up, or None")),
    "max_pages_per_site": _optional(_whole(1, 1_000_000_000)),
    "workers": _whole(0, 256),
    "worker_timeout": _number(0.1, 3_600, "write seconds from 0.1 to 3600"),
    "max_page_bytes": _whole(1_000, 1_000_000_000),
    "item_fields": _names,
    "report": _report,
    "secret": _secret,
}


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
