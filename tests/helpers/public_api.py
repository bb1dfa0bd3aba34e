"""Everything that users may rely on, as lines of text; ``python tests/helpers/public_api.py`` writes them."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import scrapy_simdedup
from scrapy_simdedup import DedupSettings, settings, signals, stores, urls
from scrapy_simdedup.commands import actions
from scrapy_simdedup.crawl import requests, response_handler, runtime, stats
from scrapy_simdedup.detect.verdict import VerdictKind
from scrapy_simdedup.settings import PREFIX
from scrapy_simdedup.store import STORES

FROZEN = Path(__file__).parents[1] / "public_api.txt"
COUNTING = {"increment", "_set", "_raise"}
"""The methods of CrawlStats that take a stat's name."""


def describe() -> str:
    """The whole of it, in an order that a reader would look for it."""
    parts: dict[str, Iterator[str]] = {
        "scrapy_simdedup": _names(scrapy_simdedup),
        "scrapy_simdedup.urls": _names(urls),
        "scrapy_simdedup.stores": _names(stores),
        "settings": _settings(),
        "settings that a site can override": iter(sorted(settings.SITE_CHECKS)),
        "stores": (f"{name} such as {scheme.example}" for name, scheme in STORES.items()),
        "verdicts": iter(typing.get_args(VerdictKind)),
        "request meta": iter((requests.META_OPT_OUT, response_handler.META_VERDICT, runtime.META_DELIVER)),
        "scrapy_simdedup.signals": _signals(),
        "commands": _commands(),
    }
    return "\n".join(f"# {title}\n" + "".join(f"{line}\n" for line in lines) for title, lines in parts.items())


def _names(module: Any) -> Iterator[str]:
    for name in sorted(module.__all__):
        thing = getattr(module, name)
        if inspect.isclass(thing):
            yield from _class(name, thing)
        else:
            yield name + _signature(thing)


def _signals() -> Iterator[str]:
    for name, value in sorted(vars(signals).items()):
        if type(value) is object:
            yield name
        elif dataclasses.is_dataclass(value):
            yield from _class(name, value)


def _class(name: str, thing: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
    yield f"class {name}({bases})" if bases else f"class {name}"
    if dataclasses.is_dataclass(thing):
        if thing is not DedupSettings:  # its fields are the settings, below
            yield from (f"    {field.name}: {field.type}{_default(field)}" for field in dataclasses.fields(thing))
    elif issubclass(thing, tuple):  # a named one; it has its types as references that wait to be resolved
        defaults = {name: f" = {_shown(value)}" for name, value in thing._field_defaults.items()}
        hints = thing.__annotations__.items()
        yield from (f"    {field}: {hint.__forward_arg__}{defaults.get(field, '')}" for field, hint in hints)
    elif "__init__" in vars(thing):
        yield f"    __init__{_signature(vars(thing)['__init__'])}"
    for member, value in sorted(vars(thing).items()):
        if member[0] == "_":
            continue
        if isinstance(value, property | cached_property):
            getter = value.func if isinstance(value, cached_property) else typing.cast("Any", value.fget)
            yield f"    {member}: {getter.__annotations__['return']}"
        elif isinstance(value, (classmethod, staticmethod)):
            yield f"    {member}{_signature(value.__func__)}"
        elif inspect.isfunction(value):
            yield f"    {'async ' * inspect.iscoroutinefunction(value)}{member}{_signature(value)}"


def _signature(function: Callable[..., Any]) -> str:
    found = inspect.signature(function)
    made, keyword_only = [], False
    for parameter in found.parameters.values():
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            made.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f" = {_shown(parameter.default)}"
        made.append(f"{stars}{parameter.name}: {parameter.annotation}{default}")
    return f"({', '.join(made)}) -> {found.return_annotation}"


def _shown(value: Any) -> str:
    return getattr(value, "__qualname__", None) or repr(value)


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f" = {_shown(field.default)}"
    return "" if field.default_factory is dataclasses.MISSING else f" = {field.default_factory()!r}"


def _settings() -> Iterator[str]:
    for field in dataclasses.fields(DedupSettings):
        choices = typing.get_args(getattr(settings, str(field.type), None))
        yield f"{PREFIX}{field.name.upper()}: {' | '.join(map(repr, choices)) or field.type}{_default(field)}"


def stat_names() -> list[str]:
    """The names that the code gives to Scrapy's stats, with <words> for what varies."""
    sources = (path.read_text(encoding="utf-8") for path in Path(stats.__file__).parent.rglob("*.py"))
    calls = (node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    names = {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in COUNTING
        and isinstance(call.args[0], ast.Constant)
    }
    return sorted(stats.PREFIX + name for name in names)


def _commands() -> Iterator[str]:
    for name, action in actions().items():
        parser = argparse.ArgumentParser(add_help=False)
        for add in action.options:
            add(parser)
        options = ["/".join(option.option_strings) or str(option.metavar) for option in parser._actions]
        yield " ".join(["scrapy simdedup", name, *options])


if __name__ == "__main__":
    FROZEN.write_text(describe(), encoding="utf-8")
