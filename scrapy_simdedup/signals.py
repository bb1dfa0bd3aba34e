"""Signals for those who build on the plugin, and the values that they carry.

Connect with ``crawler.signals.connect(handler, signal)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_simdedup.display import shorten

near_duplicate_dropped: object = object()
"""A page was dropped. Arguments: ``response`` (:class:`scrapy.http.Response`), ``verdict`` and ``spider``."""
page_changed: object = object()
"""A page differs from an earlier version of its URL. Arguments: ``response``, ``verdict`` and ``spider``."""
better_copy_found: object = object()
"""A page is a better copy of one that was delivered, by ``SIMDEDUP_PREFER``: it is kept, and takes the place of that at
``verdict.supersedes`` once it is delivered itself. Arguments: ``response``, ``verdict`` and ``spider``."""
site_redesigned: object = object()
"""Half of a site's known pages have a new template. Arguments: ``redesign`` (:class:`Redesign`) and ``spider``."""
wall_suspected: object = object()
"""Most of a site's recent pages have one content. Arguments: ``wall`` (:class:`Wall`) and ``spider``."""


@dataclass(frozen=True, slots=True)
class Redesign:
    """A site that has a new template."""

    site: str
    pages: int
    """Known pages that were fetched again."""
    share: float
    """The share of these pages whose template changed, 0..1."""


@dataclass(frozen=True, slots=True)
class Wall:
    """A site that answers with one content, whatever it is asked for: a captcha, a login page or a ban."""

    site: str
    share: float
    """Of the site's recent pages, those with that content, 0..1."""
    samples: tuple[str, ...]
    """A few of their URLs."""

    def __repr__(self) -> str:
        return f"<Wall on {self.site}, {self.share:.0%} of its pages, such as {shorten(str(*self.samples[:1]))}>"
