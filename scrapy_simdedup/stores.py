"""The public names for writing a store; the guide "Write your own store" has an example."""

from __future__ import annotations

from scrapy_simdedup.detect.verdict import PageRef
from scrapy_simdedup.errors import StoreBusy, StoreError
from scrapy_simdedup.store.base import FingerprintStore, LogPart, Notes, Record, Tail, store_errors

__all__ = [
    "FingerprintStore",
    "LogPart",
    "Notes",
    "PageRef",
    "Record",
    "StoreBusy",
    "StoreError",
    "Tail",
    "store_errors",
]
