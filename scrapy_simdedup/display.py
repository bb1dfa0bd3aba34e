"""How values are shown to people: sizes, times, names and secrets as text, and small HTML tables for notebooks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from html import escape

CELL_STYLE = "text-align: left; vertical-align: top; white-space: normal; min-width: 7em; overflow-wrap: anywhere"
"""The style of a table's cells; Jupyter aligns them to the right, in one line, where a table has none."""
MARK_STYLE = "background: #ffd54a55; color: inherit"
"""The style of highlighted text, which can be read on black and on white."""
REDACTED = "***"
"""Shown instead of a secret."""
MIN_NAME_RATIO = 0.7
"""The similarity of two names, 0..1, from which on one is suggested for the other."""


def format_bytes(count: int) -> str:
    """A number of bytes in the unit that fits it: ``format_bytes(1536)`` is ``'1.5 kB'``."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TB"


def format_time(seconds: float) -> str:
    """A time in seconds since the epoch, as text in UTC.

    >>> format_time(0)
    '1970-01-01 00:00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def plural(count: int, thing: str, things: str = "") -> str:
    """A count with its noun, in the plural where there is not one; ``things`` is a plural that has no mere ``s``.

    >>> plural(1, "page"), plural(1200, "page"), plural(2, "fetch", "fetches")
    ('1 page', '1,200 pages', '2 fetches')
    """
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def shorten(text: str, width: int = 80) -> str:
    """A text of at most so many characters, without its middle if it is longer.

    >>> shorten("https://shop.example/a/very/long/path", 20)
    'https://sh…long/path'
    """
    half = width // 2
    return text if len(text) <= width else f"{text[: width - half]}…{text[-(half - 1) :]}"


def redact_password(url: str) -> str:
    """A store URL with ``***`` in place of its password; safe for logs and errors."""
    url = re.sub(r"(password=)[^&]*", rf"\1{REDACTED}", url, flags=re.IGNORECASE)
    # Not by urlsplit: a URL that does not parse may hide its password anywhere before the last @.
    before = r"//[^/@:]*:|^(?!.*//)[^/@:]*:|^(?!sqlite:)[^/]*:///[^@:]*:"
    return re.sub(rf"({before}).*@", rf"\1{REDACTED}@", url, flags=re.DOTALL)


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are most like an unknown one; none if all are too different.

    A name is also compared with the beginning of a longer one.

    >>> nearest("treshold", ["threshold", "run"]), nearest("sites", ["stubs", "site_settings"]), nearest("x", ["run"])
    (['threshold'], ['site_settings'], [])
    """
    likeness = {
        other: max(difflib.SequenceMatcher(None, name, part).ratio() for part in (other, other[: len(name)]))
        for other in known
    }
    best = max(likeness.values(), default=0.0)
    return [other for other, found in likeness.items() if found == best >= MIN_NAME_RATIO]


def did_you_mean(likely: Iterable[str]) -> str:
    """A question with the likely names, to end a remedy with; empty if there is none."""
    question = " or ".join(likely)
    return f"; did you mean {question}?" if question else ""


class Markup(str):
    """A text that is HTML; any other text in a table is escaped."""

    __slots__ = ()


def table_html(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table.

    The caption is the table's message in one line; without names in ``head`` there is no head.
    """
    body = "".join(f"<tr>{''.join(_cell('td', cell) for cell in row)}</tr>" for row in rows)
    names = f"<thead><tr>{''.join(_cell('th', name) for name in head)}</tr></thead>" if head else ""
    title = f'<caption style="{CELL_STYLE}"><b>{escape(caption)}</b></caption>'
    return f"<table>{title}{names}<tbody>{body}</tbody></table>"


def link_html(url: str) -> Markup:
    """A URL as a link, if it is one of the web; any other URL as text."""
    shown = escape(url)
    is_web = url.startswith(("http://", "https://"))
    return Markup(f'<a href="{shown}" rel="noreferrer noopener">{shown}</a>' if is_web else shown)


def bar_html(share: float) -> Markup:
    """A share from 0 to 1 as a number behind a bar."""
    style = "display: inline-block; height: 0.6em; margin-right: 0.6em; width: 6em; background: "
    full = f"linear-gradient(to right, #4a90e2 {share:.0%}, #8886 {share:.0%})"
    return Markup(f'<span style="{style}{full}"></span>{share:.3f}')


def highlighted(parts: Iterable[tuple[str, bool]]) -> Markup:
    """A text of which some parts are highlighted.

    >>> highlighted([("two ", False), ("<fresh>", True)])
    'two <mark style="background: #ffd54a55; color: inherit">&lt;fresh&gt;</mark>'
    """
    mark = f'<mark style="{MARK_STYLE}">'
    return Markup("".join(f"{mark}{escape(text)}</mark>" if stands_out else escape(text) for text, stands_out in parts))


def _cell(tag: str, value: object) -> str:
    return f'<{tag} style="{CELL_STYLE}">{value if isinstance(value, Markup) else escape(str(value))}</{tag}>'
