"""What a site itself says about its URLs: a candidate, never the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simdedup.urls.parts import UrlParts
    from scrapy_simdedup.urls.site import Site

MAX_HINTED = 100
"""Hypotheses of a site that a hint may speak for."""


def take_hint(site: Site, url: UrlParts, same_as: UrlParts) -> None:
    """One URL claims to be another of the same path: up to three parts that they differ in may be irrelevant."""
    if (url.segments, url.rest) != (same_as.segments, same_as.rest):
        return
    mine, theirs = site.read(url), site.read(same_as)
    names = sorted(
        name for name in {**mine.shifts, **theirs.shifts} if mine.shifts.get(name) != theirs.shifts.get(name)
    )
    if not 1 <= len(names) <= 3 or len(site.hypotheses.hinted) >= MAX_HINTED:
        return
    parts = [site.part(name) for name in names]
    found = [part.irrelevant for part in parts if part is not None]
    if len(names) > 1 and None not in parts:
        found.append(site.hypotheses.together(tuple(names)))
    site.hypotheses.hinted.update(h for h in found if h is not None)
