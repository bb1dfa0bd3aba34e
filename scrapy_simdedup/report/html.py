"""HTML documents that need nothing else: the report, and others made in the same way."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from scrapy_simdedup.report import sections, shown_pages
from scrapy_simdedup.report.elements import clean, h, to_html
from scrapy_simdedup.wording import at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scrapy_simdedup.report.data import Report
    from scrapy_simdedup.report.elements import Element

SECTIONS: dict[str, tuple[str, Callable[[Report], Iterator[Element]]]] = {
    "answer": ("The answer", sections.answer),
    "similarity": ("How similar pages are", sections.similarity),
    "verdicts": ("Verdicts over time", sections.verdicts),
    "clusters": ("Most repeated pages", shown_pages.clusters),
    "stubs": ("Stubs and walls", shown_pages.stubs),
    "sites": ("Sites", sections.sites),
    "rules": ("URL rules", sections.rules),
    "drift": ("Drift of known pages", sections.drift),
    "audit": ("Dropped pages to judge by eye", shown_pages.audit),
    "runs": ("Runs", sections.runs),
}
"""What the report consists of, in its order, by the names that links to its parts go by."""


def render(report: Report) -> str:
    """The report as a document."""
    about = f"run {report.run}" if report.run else "all runs"
    parts = {name: (title, list(section(report))) for name, (title, section) in SECTIONS.items()}
    return document("Near-duplicate pages", f"{report.store}, {about}; made {at(report.made_at)}", parts)


def document(title: str, about: str, parts: Mapping[str, tuple[str, list[Element]]]) -> str:
    """A document that needs nothing else.

    Args:
        title: its headline.
        about: what it is about, in a line.
        parts: headline and content of each, by the names that links to them go by.
    """
    links = h("ul", [h("li", h("a", headline, href=f"#{name}")) for name, (headline, _) in parts.items()])
    head = h(
        "header",
        h("h1", title),
        h("p", about, class_="soft url"),
        h("nav", links, aria_label="Parts of the report"),
    )
    main = h(
        "main",
        [
            h("section", h("h2", headline, id=name), content, aria_labelledby=name)
            for name, (headline, content) in parts.items()
        ],
    )
    style, script, template = (_file(name) for name in ("report.css", "report.js", "report.html"))
    # Whatever a page smuggled into an address could not run, and nothing can be loaded.
    policy = (
        f"default-src 'none'; img-src data:; style-src {_digest(style)}; script-src {_digest(script)}; base-uri 'none'"
    )
    filled = {
        "policy": policy,
        "title": escape(clean(f"{title}: {about}")),
        "style": style,
        "script": script,
        "body": to_html(head) + to_html(main),
    }
    # In one go, so that nothing that is filled in is taken for a place to fill.
    return re.sub(r"{(policy|title|style|script|body)}", lambda place: filled[place[1]], template)


def _file(name: str) -> str:
    return files("scrapy_simdedup.report").joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
