"""One check per setting: the value that can be used, or an error that names setting, value and remedy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.store_urls import STORE_FORMS, without_password
from scrapy_simdedup.value_checks import Check, flag, listed, number, one_of, optional, similarity, text, whole

HIDDEN = "***"
"""What errors show instead of a secret."""


def _bits(name: str, value: Any) -> int:
    if str(value) not in {"64", "128"}:
        raise SettingError(name, value, "write 64 or 128")
    return int(value)


def _secret(name: str, value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise SettingError(name, HIDDEN, "write a text that is not empty, or None")


def _names(name: str, value: Any) -> tuple[str, ...]:
    fields = listed(value)
    if isinstance(fields, (list, tuple, set, frozenset)) and all(isinstance(part, str) for part in fields):
        return tuple(fields)
    raise SettingError(name, value, "write a list of field names, such as ['title', 'text']")


def _files(name: str, value: Any) -> tuple[str, ...]:
    paths = [value] if isinstance(value, (str, Path)) else [] if value is None else value
    if isinstance(paths, (list, tuple)) and all(isinstance(path, (str, Path)) and str(path) for path in paths):
        return tuple(map(str, paths))
    raise SettingError(name, value, "write a list of paths of JSON files, such as ['rules.json']")


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
    try:
        given = dict(value if isinstance(value, (Mapping, tuple)) else None)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise SettingError(name, value, "write a dictionary such as {'footer': ['imprint']}") from None
    made = {}
    for role, words in given.items():
        if role not in ROLES:
            raise SettingError(name, role, f"there is no such role; write one of {', '.join(map(repr, ROLES))}")
        is_list = isinstance(words, (list, tuple, set, frozenset))
        if not is_list or not all(isinstance(word, str) and word.isalpha() for word in words):
            raise SettingError(
                f"{name}[{role!r}]", words, "write a list of single words of letters, such as ['imprint']"
            )
        made[role] = tuple(sorted({word.lower() for word in words}))
    return tuple(sorted((role, words) for role, words in made.items() if words))


EXACT_SCOPES = ("content", "text", "body")
"""What ``SIMDEDUP_EXACT`` can mean."""
MASKS = ("case", "dates", "times", "numbers")
"""What ``SIMDEDUP_MASKED`` can mask."""


def _masked(name: str, value: Any) -> tuple[str, ...]:
    masked = listed(value)
    if isinstance(masked, (list, tuple, set, frozenset)) and all(mask in MASKS for mask in masked):
        return tuple(mask for mask in MASKS if mask in masked)
    raise SettingError(name, value, f"write a list of any of {', '.join(map(repr, MASKS))}")


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


BETTER = ("canonical", "https", "longer", "shorter_url")
"""The criteria that ``SIMDEDUP_BETTER`` can name."""


def _better(name: str, value: Any) -> tuple[str, ...] | str | None:
    if value is None:
        return None
    remedy = f"write a list of any of {', '.join(map(repr, BETTER))}, or the path of a function of a URL and facts"
    named = listed(value)
    if isinstance(named, (list, tuple)) and all(part in BETTER for part in named):
        return tuple(named) or None
    if not isinstance(value, str):
        raise SettingError(name, value, remedy)
    try:
        found = resolve_name(value)
    except (ImportError, AttributeError, ValueError) as exc:
        raise SettingError(name, value, remedy) from exc
    if not callable(found):
        raise SettingError(name, value, remedy)
    return value


MOST_BUDGET = 32
"""Half of the pages that a page is compared with at most."""
SITE_OVERRIDES = (
    "drop",
    "identical",
    "near",
    "extractor",
    "min_words",
    "unchanged",
    "stubs",
    "cluster_budget",
    "better",
)
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


CHECKS: dict[str, Check] = {
    "enabled": flag,
    "mode": one_of("pages", "items", "observe"),
    "drop": one_of("identical", "near"),
    "links": one_of("drop", "follow", "follow_new"),
    "identical": similarity,
    "near": similarity,
    "cluster_budget": whole(1, MOST_BUDGET),
    "better": _better,
    "store": _store,
    "against": one_of("run", "history"),
    "run": text("a name such as 'monday'"),
    "unchanged": one_of("keep", "drop"),
    "site": one_of("domain", "host", "all"),
    "sites": _sites,
    "extractor": one_of("roles", "readability"),
    "role_words": _role_words,
    "markdown_field": text("a field name such as 'markdown'"),
    "method": one_of("simhash", "exact", "minhash", "shingles", "bits"),
    "exact": one_of(*EXACT_SCOPES),
    "masked": _masked,
    "structure": flag,
    "bits": _bits,
    "shingle_size": whole(1, 10),
    "min_words": whole(1, 10_000),
    "pending": one_of("wait", "keep", "drop"),
    "pending_timeout": number(0, 86_400, "write seconds from 0 to 86400"),
    "confirm": one_of("items", "callback", "feed", "manual"),
    "stubs": one_of("flag", "drop", "keep"),
    "wall_pause": number(0, 86_400, "write seconds from 0 to 86400"),
    "ttl": optional(number(1, 1e10, "write seconds from 1 up, or None")),
    "max_pages_per_site": optional(whole(1, 1_000_000_000)),
    "workers": whole(0, 256),
    "worker_timeout": number(0.1, 3_600, "write seconds from 0.1 to 3600"),
    "max_page_bytes": whole(1_000, 1_000_000_000),
    "item_fields": _names,
    "urls": one_of("off", "observe", "deprioritize", "skip"),
    "url_rules": _files,
    "request_fingerprinter": text("the path of a class such as 'myproject.fingerprints.Fingerprinter'"),
    "report": _report,
    "secret": _secret,
}
