"""Signals for those who build on the plugin; connect with ``crawler.signals.connect(handler, signal)``."""

from __future__ import annotations

near_duplicate_dropped = object()
"""A page was dropped. Arguments: ``response`` (:class:`scrapy.http.Response`), ``verdict`` and ``spider``."""
