"""Pages that break, stall or mislead what reads HTML, as large as they come."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from helpers.pages import prose

M = 1_000_000


@dataclass(frozen=True)
class Hostile:
    """A hostile part, and what becomes of a page that begins with it."""

    part: Callable[[], str]
    unjudged: str | None = None
    """Why the page is not judged by its text; None if it is."""
    void: bool = False
    """The part is the whole page, and no content: no two such pages are copies."""

    def page(self, seed: object) -> str:
        """The part, and a text of its own for each seed."""
        return self.part() if self.void else f"<!DOCTYPE html><html><body>{self.part()}{prose(seed, 480)}</body></html>"

    @property
    def is_recognised(self) -> bool:
        """Whether an exact repeat of such a page is one."""
        return not self.void and self.unjudged not in {"binary", "undecodable"}


def junk(size: int) -> str:
    return random.Random("junk").randbytes(size).decode("latin-1")


def ideographs(size: int) -> str:
    return "".join(map(chr, random.Random("ideographs").choices(range(0x4E00, 0x9FA5), k=size)))


HOSTILE = {
    "nesting": Hostile(lambda: "<section>" * 45_000 + "in" + "</section>" * 45_000, "cut"),
    "nesting that fits": Hostile(lambda: "<section>" * 1_500 + "in" + "</section>" * 1_500),
    "nested lists": Hostile(lambda: "<ol><li>item" * 20_000, "cut"),
    "tables in tables": Hostile(lambda: "<table><tr><td>cell" * 10_000, "cut"),
    "unclosed emphasis": Hostile(lambda: "<em>note " * 60_000, "cut"),
    "emphasis that overlaps": Hostile(lambda: "<b><u>one</b>two" * 16_000),
    "unclosed items": Hostile(lambda: "<li>item " * 45_000),
    "a comment without end": Hostile(lambda: "<!-- never closed", "cut"),
    "a quote without end": Hostile(lambda: "<a title='never closed>", "cut"),
    "attributes": Hostile(lambda: f"<div {' '.join(f'data-{n}={n}' for n in range(60_000))}>", "too_many_attributes"),
    "an attribute": Hostile(lambda: f"<div data-state='{'[0,1],' * 700_000}'></div>"),
    "classes": Hostile(lambda: "".join(f'<i class="{n:x} n{n} nav-{n} item_{n}"></i>' for n in range(24_000))),
    "blank lines": Hostile(lambda: "<p>one" + " \n\t" * 1_500_000 + "two</p>"),
    "blank lines that count": Hostile(lambda: "<pre>one" + "\n" * 4 * M + "two</pre>"),
    "a word": Hostile(lambda: "<p>" + "o" * 4 * M + "</p>", "too_much_text"),
    "a text": Hostile(lambda: "<p>" + "all one text, and so on. " * 180_000 + "</p>", "too_much_text"),
    "a text of ideographs": Hostile(lambda: f"<p>{ideographs(3 * M)}</p>", "too_much_text"),
    "ligatures": Hostile(lambda: "<p>" + "\ufdfa" * 900_000 + "</p>"),
    "marks": Hostile(lambda: "<p>e" + "\u0323\u0301" * 450_000 + "</p>"),
    "more than a page": Hostile(lambda: "<p>more</p>" * 600_000, "too_big"),
    "links": Hostile(lambda: "".join(f"<a href=/{n}>to {n}</a> " for n in range(20_000)), "too_many_links"),
    "paragraphs": Hostile(lambda: "<p>Words, and more.</p>" * 48_000),
    "elements": Hostile(lambda: "<wbr>" * 900_000, "too_many_elements"),
    "an image": Hostile(lambda: f"<img src='data:image/png;base64,{'AAAA' * M}'>"),
    "references": Hostile(lambda: "<p>" + "&lt;&#x42;&unheard;" * 90_000 + "</p>"),
    "entities of entities": Hostile(
        lambda: "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'>]><p>&c;</p>"
    ),
    "nothing but angles": Hostile(lambda: "<p>" + "> " * 400_000 + "<" * 90_000 + "</p>"),
    "NUL": Hostile(lambda: "<p>one\x00two" + "\x00" * 4 * M + "</p>"),
    "lone surrogates": Hostile(lambda: "<p>" + "&#xD83D; one &#57343; " * 20_000 + "</p>"),
    "what could not be decoded": Hostile(lambda: "<p>" + "\ufffd\ufffd \ufffd" * 200_000 + "</p>", "undecodable"),
    "binary": Hostile(lambda: junk(2 * M), "binary"),
    "nothing": Hostile(lambda: "", "empty", void=True),
    "blanks": Hostile(lambda: " \r\n\t" * M, "empty", void=True),
    "a document type": Hostile(lambda: "<!DOCTYPE html>", "empty", void=True),
    "a comment": Hostile(lambda: "<!-- see elsewhere -->", "empty", void=True),
    "a program": Hostile(lambda: "<script>" + "draw(1);" * 200_000 + "</script>", "empty", void=True),
    "frames": Hostile(lambda: "<frameset><frame src=/a><frame src=/b></frameset>", "empty", void=True),
    "a shell": Hostile(lambda: "<title>App</title><p>This needs scripts to be on.</p>", "too_short", void=True),
}
