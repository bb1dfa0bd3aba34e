"""Checks of the values of settings.

A check takes a setting's name and value. It gives the value that can be used, or raises an error that names the
setting, the value and the remedy. ``settings.py`` says which setting has which check.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from ipaddress import IPv6Address
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeAlias, cast, get_args

from scrapy_simdedup.display import REDACTED, did_you_mean, nearest, redact_password
from scrapy_simdedup.errors import SettingError

Check: TypeAlias = Callable[[str, Any], Any]
_BOOLEANS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
_NONE = ["None", "none", "null"]
_LISTS = list, tuple, set, frozenset
_NAME = re.compile(r"[^\W\d_]+(-[^\W\d_]+)?")
_KEY = re.compile(
    r"(?:(?:[a-z][a-z0-9+.-]*:)?//)?(?:[^/?#@]*@)?(?P<host>\[[^]/]*\]|[^/?#:]*)(?::\d*)?(?P<path>[^#]*)", re.DOTALL
)


def flag(name: str, value: Any) -> bool:
    """The check of True or False, or of a word for it."""
    if str(value).lower() in _BOOLEANS:
        return _BOOLEANS[str(value).lower()]
    raise SettingError(name, value, "write True or False")


def one_of(*choices: str) -> Callable[[str, Any], str]:
    """A check of one of some words."""

    def check(name: str, value: Any) -> str:
        if value in choices:
            return cast("str", value)
        raise SettingError(name, value, f"write one of {_shown(choices)}")

    return check


def of_type(hint: Any) -> Check:
    """The check of a setting whose type says all: True or False, or the choices of a Literal."""
    return flag if hint is bool else one_of(*get_args(hint))


def choice_or_names(*choices: str) -> Check:
    """A check for one of some texts, or for a list of names of fields."""
    remedy = f"write one of {_shown(choices)}, or a list of fields of items such as ['price', 'stock']"

    def check(name: str, value: Any) -> str | tuple[str, ...]:
        if isinstance(value, str) and value in choices:
            return value
        is_list = not isinstance(value, str) or "," in value or value.startswith("[")
        names = _names(value) if is_list else None  # one word alone may be a choice that was misspelt
        if not names:
            raise SettingError(name, value, remedy)
        return names

    return check


def any_of(*choices: str) -> Callable[[str, Any], tuple[str, ...]]:
    """A check of any of some words; they are put into the order of the choices."""

    def check(name: str, value: Any) -> tuple[str, ...]:
        chosen = _listed(value)
        if isinstance(chosen, _LISTS) and all(word in choices for word in chosen):
            return tuple(word for word in choices if word in chosen)
        raise SettingError(name, value, f"write a list of any of {_shown(choices)}")

    return check


def number(low: float, high: float, remedy: str) -> Callable[[str, Any], float]:
    """A check of a number between two others, both included."""

    def check(name: str, value: Any) -> float:
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            found = float("nan")
        if isinstance(value, bool) or not low <= found <= high:
            raise SettingError(name, value, remedy)
        return found

    return check


similarity: Check = number(0.0, 1.0, "write a similarity between 0 and 1, such as 0.95")


def whole(low: int, high: int) -> Callable[[str, Any], int]:
    """A check of a whole number between two others, both included."""
    remedy = f"write a whole number from {low} to {high}"

    def check(name: str, value: Any) -> int:
        found = number(low, high, remedy)(name, value)
        if found != int(found):
            raise SettingError(name, value, remedy)
        return int(found)

    return check


def bits(name: str, value: Any) -> int:
    """The check of the width of a simhash."""
    if str(value) not in {"64", "128"}:
        raise SettingError(name, value, "write 64 or 128")
    return int(value)


def text(example: str, *, secret: bool = False) -> Callable[[str, Any], str | None]:
    """A check of a text that is not blank, or None; errors do not show a secret one."""

    def check(name: str, value: Any) -> str | None:
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        raise SettingError(name, REDACTED if secret else value, f"write {example}, or None")

    return check


def item_fields(name: str, value: Any) -> tuple[str, ...] | Mapping[str, tuple[str, ...]]:
    """The check of a list of field names, or of such lists by the name of an item's class."""
    found = _mapped(value)
    if isinstance(found, Mapping):
        lists = {of: _names(fields) for of, fields in found.items() if isinstance(of, str) and of}
        if len(lists) == len(found) and all(lists.values()):
            return {of: fields for of, fields in lists.items() if fields}
    elif (fields := _names(found)) is not None:
        return fields
    remedy = "write a list of field names, such as ['title', 'text'], or such lists by class: {'Product': ['name']}"
    raise SettingError(name, value, remedy)


def content_fields(*parts: str) -> Check:
    """A check of parts of a page's content by the item fields that they go into, or of a list of parts, or of None.

    A part of a list goes into the field of its name.
    """
    example = {"body": "markdown", "headline": "title"}

    def check(name: str, value: Any) -> tuple[tuple[str, str], ...]:
        found = _mapped(value)
        if isinstance(found, Mapping):
            pairs = list(found.items())
        elif found is None:
            pairs = []
        elif isinstance(found, tuple) and found and all(isinstance(pair, tuple) and len(pair) == 2 for pair in found):
            pairs = list(found)  # as this check gives them
        elif (listed := _names(found)) is not None:
            pairs = [(part, part) for part in listed]
        else:
            raise SettingError(name, value, f"{_dictionary(value, example)}, or a list such as ['markdown', 'title']")
        for field, part in pairs:
            if not isinstance(field, str) or not field.strip():
                raise SettingError(name, field, f"name a field of your items, as in {example}")
            if part not in parts:
                likely = did_you_mean(map(repr, nearest(str(part), parts)))
                raise SettingError(f"{name}[{field!r}]", part, f"write one of {_shown(parts)}{likely}")
        return tuple(pairs)

    return check


def _names(value: Any) -> tuple[str, ...] | None:
    fields = _listed(value)
    return tuple(fields) if isinstance(fields, _LISTS) and all(isinstance(field, str) for field in fields) else None


def paths(remedy: str, *suffixes: str) -> Callable[[str, Any], tuple[str, ...]]:
    """A check of the path of a file, or of several, or None; each ends with one of the suffixes, if there are any."""

    def check(name: str, value: Any) -> tuple[str, ...]:
        given = [value] if isinstance(value, Path) else [] if value is None else _listed(value)
        if isinstance(given, (list, tuple)) and all(isinstance(path, (str, Path)) for path in given):
            found = tuple(map(str, given))
            if all(path.endswith(suffixes or ("",)) and path for path in found):
                return found
        raise SettingError(name, value, remedy)

    return check


def tables(name: str, value: Any) -> tuple[str, ...]:
    """The check of the path of a table, or of several, or None; one of Parquet needs pyarrow."""
    remedy = "write a path that ends with .jsonl, .jl, .csv or .parquet, or a list of such paths"
    found = paths(remedy, ".jsonl", ".jl", ".csv", ".parquet")(name, value)
    if any(path.endswith(".parquet") for path in found) and find_spec("pyarrow") is None:
        raise SettingError(name, value, "pip install scrapy-simdedup[parquet], or write .jsonl")
    return found


def optional(check: Check) -> Check:
    """A check of None, which forms and command lines write as a text, or of what another check takes."""

    def checked(name: str, value: Any) -> Any:
        if value is None or value in _NONE:
            return None
        try:
            return check(name, value)
        except SettingError as exc:
            raise SettingError(exc.name, exc.value, f"{exc.remedy}, or None") from None

    return checked


def _listed(value: Any) -> Any:
    """The list that a text stands for, with commas or as JSON; any other value as it is."""
    if not isinstance(value, str):
        return value
    found = _mapped(value)
    return found if isinstance(found, list) else [part.strip() for part in value.split(",") if part.strip()]


def _mapped(value: Any) -> Any:
    """The list or the dictionary that a text of JSON stands for; any other value as it is."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _dictionary(value: Any, example: dict[str, Any]) -> str:
    """The remedy for what is no dictionary; whoever wrote a text needs one in JSON."""
    wanted = f"JSON such as {json.dumps(example)}" if isinstance(value, str) else f"a dictionary such as {example}"
    return f"write {wanted}"


def _shown(choices: Iterable[str]) -> str:
    return ", ".join(map(repr, choices))


def store(name: str, value: Any) -> str | None:
    """The check of a store URL, of the import path of a class, or of None; errors do not show a password.

    Whether there is such a store or class is found out when the store is made.
    """
    if value is None or (isinstance(value, str) and (":" in value or "." in value)):
        return value
    remedy = "write a store URL such as 'memory:' or 'sqlite:///path/to/pages.sqlite', or the import path of a class"
    raise SettingError(name, redact_password(str(value)), remedy)


def identity(name: str, value: Any) -> tuple[str, ...]:
    """The check of one or several names of properties of JSON-LD and CSS selectors, or of none.

    A text is one of them, for a selector may have commas; on the command line a list is JSON.
    """
    remedy = "write a property of JSON-LD such as 'sku', a CSS selector such as '.date::text', or a list of these"
    found = _mapped(value)
    places = (found,) if isinstance(found, str) else found
    if not isinstance(places, (list, tuple)) or not all(isinstance(place, str) for place in places):
        raise SettingError(name, value, remedy)
    for place in places:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", place) and not _is_selector(place):
            raise SettingError(name, place, remedy)
    return tuple(places)


def _is_selector(css: str) -> bool:
    from cssselect import SelectorError  # noqa: PLC0415 - few need selectors
    from lxml import etree  # noqa: PLC0415
    from parsel.csstranslator import HTMLTranslator  # noqa: PLC0415

    try:
        etree.XPath(HTMLTranslator().css_to_xpath(css))
    except (SelectorError, etree.XPathError, ValueError):
        return False
    return True


def preference(*criteria: str) -> Check:
    """A check of a list of criteria, of the import path of a function, or of None."""
    remedy = f"write a list of any of {_shown(criteria)}, or the path of a function of a URL and facts"

    def check(name: str, value: Any) -> tuple[str, ...] | str | None:
        if value is None:
            return None
        chosen = _listed(value)
        if isinstance(chosen, (list, tuple)) and all(criterion in criteria for criterion in chosen):
            return tuple(chosen) or None
        try:
            found = resolve_name(value) if isinstance(value, str) else None
        except (ImportError, AttributeError, ValueError) as exc:
            raise SettingError(name, value, remedy) from exc
        if not callable(found):
            raise SettingError(name, value, remedy)
        return cast("str", value)

    return check


def role_words(*roles: str) -> Check:
    """A check of words by the name of their role; they are sorted and in lower case, roles without words left out."""
    remedy = "write a list of single words of letters, or of two with a dash, such as ['imprint', 'side-box']"

    def check(name: str, value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
        try:
            found = _mapped(value)
            given = dict(found if isinstance(found, (Mapping, tuple)) else None)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise SettingError(name, value, _dictionary(value, {"footer": ["imprint"]})) from None
        made = []
        for role, words in given.items():
            if role not in roles:
                raise SettingError(name, role, f"there is no such role; write one of {_shown(roles)}")
            if not isinstance(words, _LISTS) or not all(
                isinstance(word, str) and _NAME.fullmatch(word) for word in words
            ):
                raise SettingError(f"{name}[{role!r}]", words, remedy)
            made.append((role, tuple(sorted({word.lower() for word in words}))))
        return tuple(sorted((role, words) for role, words in made if words))

    return check


def site_settings(checks: Mapping[str, Check], whole_site: Collection[str]) -> Check:
    """A check of settings by site, or by the URL pattern of a kind of page.

    The settings of ``whole_site`` cannot differ between the pages of a site.
    """
    example = {"news.example": {"drop": "near"}, "shop.example/product/": {"near": 0.9}}

    def check(name: str, value: Any) -> Mapping[str, Mapping[str, Any]]:
        found = _mapped(value)
        if not isinstance(found, Mapping):
            raise SettingError(name, value, _dictionary(value, example))
        checked: dict[str, dict[str, Any]] = {}
        for key, overrides in found.items():
            if not isinstance(key, str) or not isinstance(overrides, Mapping):
                raise SettingError(name, value, _dictionary(value, example))
            usable = usable_key(key.lower())
            if not usable or usable != key.lower():
                remedy = f"write {usable!r}: a site, or a URL pattern without scheme, port and fragment"
                raise SettingError(name, redact_password(key), remedy if usable else _dictionary(None, example))
            place = f"{name}[{key!r}]"
            for setting in overrides:
                if setting not in checks:
                    likely = did_you_mean(nearest(str(setting), checks))
                    raise SettingError(place, setting, f"a site can override {', '.join(checks)}{likely}")
                if setting in whole_site and is_pattern(usable):
                    site = host_of_key(usable) or "shop.example"
                    raise SettingError(place, setting, f"it can be set per site only, under a key such as {site!r}")
            checked[usable] = {
                setting: checks[setting](f"{place}[{setting!r}]", given) for setting, given in overrides.items()
            }
        return checked

    return check


def is_pattern(key: str) -> bool:
    """Whether a key of site settings is the URL pattern of a kind of page, not a site.

    >>> is_pattern("shop.example/product/"), is_pattern("shop.example")
    (True, False)
    """
    return "/" in key or "?" in key


def host_of_key(key: str) -> str:
    """The host of a key of site settings; empty for a pattern of any host."""
    return re.split(r"[/?]", key, maxsplit=1)[0]


def usable_key(key: str) -> str:
    """A key of site settings without the parts that no page matches, such as a port; empty if nothing is left.

    >>> usable_key("https://*.shop.example:8080/product/#top"), usable_key("any page")
    ('shop.example/product/', '')
    """
    with suppress(ValueError):
        return str(IPv6Address(key))
    match = _KEY.fullmatch(key.partition("#")[0].strip())
    if match is None:
        return ""
    host, path = match["host"].strip("*."), match["path"]
    if re.search(r"[\s*|]", host) or re.search(r"\s", path) or (path and path[0] not in "/?"):
        return ""
    return host + path if path else host.strip("[]")


def require_text(value: object, name: str) -> None:
    """Check an argument that has to be a text; a TypeError says what to pass instead."""
    if not isinstance(value, str):
        found = "None" if value is None else type(value).__name__
        remedy = "decode it first" if isinstance(value, bytes | bytearray | memoryview) else "pass a text"
        raise TypeError(f"{name} must be str, not {found}; {remedy}")
