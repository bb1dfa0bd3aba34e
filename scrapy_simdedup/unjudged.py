"""Why a page is kept without being compared by its text, and all that follows from each reason.

A new reason is written in two places: here, and in the code that finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

UnjudgedReason: TypeAlias = Literal[
    "binary",
    "cut",
    "empty",
    "error",
    "head",
    "imported",
    "no_item",
    "no_page",
    "not_html",
    "opted_out",
    "status",
    "store_error",
    "too_big",
    "too_many_attributes",
    "too_many_elements",
    "too_many_links",
    "too_much_text",
    "too_short",
    "undecodable",
    "unended",
    "unknown",
    "unparsable",
    "unreadable",
    "worker_died",
    "worker_timeout",
]
"""The reasons, as stats, verdicts and stored fingerprints name them."""


@dataclass(frozen=True, slots=True)
class Unjudged:
    """What one reason implies; whoever adds a reason decides whether its pages are compared, and counted."""

    meaning: str
    """What is wrong with the page, as the end of a sentence that begins with "the page"."""
    compared_by_body: bool = False
    """Whether the page is a repeat of another that is the same byte for byte: it has content, but no text to trust."""
    counted: bool = True
    """Whether stats and reports count the page as unjudged; others were never to be judged."""
    remedy: str = ""
    """The remedy for users; empty where there is none."""


UNJUDGED: dict[UnjudgedReason, Unjudged] = {
    "binary": Unjudged(
        "is labelled as HTML, and holds the bytes of something else",
        remedy="see what the server sends, and whether it is packed twice",
    ),
    "cut": Unjudged(
        "came in part, or the parser had to cut it",
        compared_by_body=True,
        remedy="see whether the server ends its responses too soon, or a tag, comment or script of the page never ends",
    ),
    "empty": Unjudged("has no text of its own", remedy="where scripts make the text, render the page"),
    "error": Unjudged("met a failure of this package", remedy="see the log, and report it"),
    "head": Unjudged("is the names of a feed's columns", counted=False),
    "imported": Unjudged("was delivered by another tool, which remembered no content"),
    "no_item": Unjudged("is no item"),
    "no_page": Unjudged("is a record of an archive that holds no page", counted=False),
    "not_html": Unjudged(
        "is JSON, XML, text or a file", remedy="compare the items that are made of it, with NearDuplicatePipeline"
    ),
    "opted_out": Unjudged("is of a request with simdedup=False", counted=False),
    "status": Unjudged(
        "has no status of 2xx",
        remedy="see which statuses the stats count: a server that refuses a crawler may want it slower, or logged in",
    ),
    "store_error": Unjudged("met a failure of the store", remedy="see the log for what the store said"),
    "too_big": Unjudged(
        "has more characters than are read", compared_by_body=True, remedy="raise SIMDEDUP_MAX_PAGE_BYTES"
    ),
    "too_many_attributes": Unjudged("has a tag with more attributes than are read", compared_by_body=True),
    "too_many_elements": Unjudged("has more elements than are read", compared_by_body=True),
    "too_many_links": Unjudged("has more links than are read", compared_by_body=True),
    "too_much_text": Unjudged("has more text than is read", compared_by_body=True),
    "too_short": Unjudged(
        "has fewer than SIMDEDUP_MIN_WORDS distinct shingles",
        remedy="where scripts make the text, render the page; else lower SIMDEDUP_MIN_WORDS",
    ),
    "undecodable": Unjudged(
        "names an encoding that is none, or not its own",
        remedy="set the right encoding in a downloader middleware, by response.replace(encoding=...)",
    ),
    "unended": Unjudged(
        "may have come in part, as nothing shows that its end is there",
        remedy="see how it ends: without a length only end tags, or pages that ended alike, show that all is there; the"
        " guide on tuning has a middleware for servers that are sound",
    ),
    "unknown": Unjudged("is unjudged for a reason that was not told"),
    "unparsable": Unjudged("made the parser fail"),
    "unreadable": Unjudged("was fingerprinted in a way that is not known here"),
    "worker_died": Unjudged("ended the worker process that read it"),
    "worker_timeout": Unjudged("took a worker process too long", remedy="raise SIMDEDUP_WORKER_TIMEOUT"),
}
COMPARED_BY_BODY = frozenset(reason for reason, implied in UNJUDGED.items() if implied.compared_by_body)
"""The reasons of pages that repeat only pages with the same bytes."""
OF_OWN_PAST = frozenset({None, "empty", "too_short", "unended"})
"""What pages are judged as whose text is compared with what their own URLs gave before."""
