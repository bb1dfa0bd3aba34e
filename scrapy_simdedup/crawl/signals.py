"""Signals for those who build on the plugin; connect with ``crawler.signals.connect(handler, signal)``."""

from __future__ import annotations

near_duplicate_dropped = object()
"""A page was dropped. Arguments: ``response`` (:class:`scrapy.http.Response`), ``verdict`` and ``spider``."""
page_changed = object()
"""A page differs from what its URL gave before. Arguments: ``response``, ``verdict`` and ``spider``."""
better_copy_found = object()
"""A page is a better copy of one that was delivered, by ``SIMDEDUP_BETTER``: it is kept, and takes the place of that at
``verdict.supersedes`` once it is delivered itself. Arguments: ``response``, ``verdict`` and ``spider``."""
site_redesigned = object()
"""Half of a site's known pages came in a new template. Arguments: ``redesign``
(:class:`~scrapy_simdedup.crawl.redesigns.Redesign`) and ``spider``."""
simdedup_wall_suspected = object()
"""Most of what a site gave lately is one content. Arguments: ``wall`` (:class:`~scrapy_simdedup.detect.stubs.Wall`) and
``spider``."""
