"""Signals for those who build on the plugin; connect with ``crawler.signals.connect(handler, signal)``."""

from __future__ import annotations

near_duplicate_dropped = object()
"""A page was dropped. Arguments: ``response`` (:class:`scrapy.http.Response`), ``verdict`` and ``spider``."""
page_changed = object()
"""A page differs from what its URL gave before. Arguments: ``response``, ``verdict`` and ``spider``."""
simdedup_wall_suspected = object()
"""Most of what a site gave lately is one content. Arguments: ``wall`` (:class:`~scrapy_simdedup.detect.stubs.Wall`) and
``spider``."""
