"""Where the pages of all sites are kept: one contract, one module per database, found by its URL or a class's path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple, TypeAlias, cast

from scrapy_simdedup.display import redact_password
from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.store.base import FingerprintStore, Sleep
from scrapy_simdedup.store.memory import MemoryStore
from scrapy_simdedup.store.sqlite import SqliteStore

Make: TypeAlias = "Callable[[str, Sleep, float | None], FingerprintStore]"
"""From a URL, a way to sleep, and the seconds after which a server may drop a site that did not change."""


class Scheme(NamedTuple):
    """The stores of one URL scheme: an example, and how a store is made from a URL."""

    example: str
    make: Make


def _of_driver(extra: str, name: str, url: str, *options: Any) -> FingerprintStore:
    """The store of the class ``name``, whose driver is optional."""
    try:
        found = resolve_name(f"scrapy_simdedup.store.{extra}:{name}")
    except ImportError as exc:
        raise _refused(url, f"its driver is not installed: pip install scrapy-simdedup[{extra}]") from exc
    made: FingerprintStore = found(url, *options)
    return made


def _redis(url: str, _sleep: Sleep, ttl: float | None) -> FingerprintStore:
    return _of_driver("redis", "RedisStore", url, ttl)


STORES: dict[str, Scheme] = {
    "memory": Scheme("memory:", lambda _url, _sleep, _ttl: MemoryStore()),
    "sqlite": Scheme("sqlite:///path/to/pages.sqlite", lambda url, sleep, _ttl: SqliteStore(url, sleep)),
    "redis": Scheme("redis://host:6379/0", _redis),
    "rediss": Scheme("rediss://host:6379/0", _redis),
    "redis+cluster": Scheme("redis+cluster://host:6379", _redis),
    "unix": Scheme("unix:///path/to/redis.sock?db=0", _redis),
    "postgresql": Scheme(
        "postgresql://user@host/database", lambda url, _sleep, _ttl: _of_driver("postgresql", "PostgresqlStore", url)
    ),
}
"""The stores that there are, by the scheme of their URLs."""
FILE_SUFFIXES = frozenset({".sqlite", ".sqlite3", ".db"})
"""The ends of the names of SQLite files."""
EXAMPLES = f"write a store URL such as {' or '.join(repr(scheme.example) for scheme in STORES.values())}"
REMEDY = f"{EXAMPLES}, or the import path of a class such as 'myproject.stores.MyStore'"
"""What to write where neither a store nor a class goes by what was written."""


def store_by_url(url: str, sleep: Sleep = asyncio.sleep, ttl: float | None = None) -> FingerprintStore:
    """The store that a URL names, or an import path, not opened yet; a SettingError if there is none that can be used.

    A URL is such as ``memory:`` or ``sqlite:///pages.sqlite``. A class is called with what stands behind the first
    colon, such as ``myproject.stores.MyStore:pages.lines``. ``sleep`` lets other work go on while the store waits for
    its database. After ``ttl`` seconds a server may drop a site that did not change; with None it never may.
    """
    name, colon, rest = url.partition(":")
    scheme = STORES.get(name) if colon else None
    if scheme is None:
        return _store_of_class(url, name, rest)
    if "://" in scheme.example and not rest.startswith("//"):
        raise _refused(url, f"write it as {scheme.example!r}")
    try:
        return scheme.make(url, sleep, ttl)
    except SettingError:
        raise
    except ValueError:
        raise _refused(url, f"write it as {scheme.example!r}") from None


def _store_of_class(url: str, path: str, options: str) -> FingerprintStore:
    if Path(url).suffix in FILE_SUFFIXES:
        raise _refused(url, f"write 'sqlite:///{url}' for a file")
    if not all(part.isidentifier() for part in path.split(".")) or "." not in path:
        raise _refused(url, REMEDY)
    try:
        found = resolve_name(path)
    except (ImportError, AttributeError) as exc:
        raise _refused(url, f"{path} cannot be imported ({exc}); {REMEDY}") from exc
    if not (isinstance(found, type) and issubclass(found, FingerprintStore)):
        raise _refused(url, f"{path} has to be a subclass of scrapy_simdedup.stores.FingerprintStore")
    missing = sorted(found.__abstractmethods__)
    if missing:
        raise _refused(url, f"{path} has to have the verbs that it lacks: {', '.join(missing)}")
    try:
        made: FingerprintStore = cast("Any", found)(options)
    except (TypeError, ValueError, OSError) as exc:
        raise _refused(url, f"{path} could not be made: {type(exc).__name__}: {redact_password(str(exc))}") from exc
    return made


def _refused(url: str, remedy: str) -> SettingError:
    return SettingError("SIMDEDUP_STORE", redact_password(url), remedy)


def job_store(jobdir: str) -> str:
    """The URL of the store of a crawl that has a JOBDIR and names no other."""
    return f"sqlite:///{(Path(jobdir).absolute() / 'simdedup.sqlite').as_posix()}"
