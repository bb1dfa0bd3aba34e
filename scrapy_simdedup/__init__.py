"""Recognise pages whose content a crawl already has, and drop them.

Names are loaded when they are first used, so that ``scrapy`` commands that have nothing to do with this package do not
pay for numpy and lxml.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from scrapy_simdedup.addon import Addon
    from scrapy_simdedup.crawl.downloader import NearDuplicateDownloaderMiddleware
    from scrapy_simdedup.crawl.exceptions import NearDuplicateItem, NearDuplicatePage, SkippedRequest
    from scrapy_simdedup.crawl.fingerprinter import CanonicalRequestFingerprinter
    from scrapy_simdedup.crawl.pipeline import NearDuplicatePipeline
    from scrapy_simdedup.crawl.spider import DeliveryInnerMiddleware, DeliveryOuterMiddleware
    from scrapy_simdedup.detect.better import CopyFacts
    from scrapy_simdedup.detect.detector import NearDuplicateDetector
    from scrapy_simdedup.detect.verdict import Verdict
    from scrapy_simdedup.errors import FingerprintMismatch, SettingError, SimdedupError, StoreBusy, StoreError
    from scrapy_simdedup.fingerprint.fingerprint import Comparison, PageFingerprint
    from scrapy_simdedup.fingerprint.making import fingerprint_page
    from scrapy_simdedup.page.markdown import page_markdown
    from scrapy_simdedup.report.comparison import PageComparison, compare_pages
    from scrapy_simdedup.settings import DedupSettings

_HOME = {
    "Addon": "addon",
    "CanonicalRequestFingerprinter": "crawl.fingerprinter",
    "Comparison": "fingerprint.fingerprint",
    "CopyFacts": "detect.better",
    "DedupSettings": "settings",
    "DeliveryInnerMiddleware": "crawl.spider",
    "DeliveryOuterMiddleware": "crawl.spider",
    "FingerprintMismatch": "errors",
    "NearDuplicateDetector": "detect.detector",
    "NearDuplicateDownloaderMiddleware": "crawl.downloader",
    "NearDuplicateItem": "crawl.exceptions",
    "NearDuplicatePage": "crawl.exceptions",
    "NearDuplicatePipeline": "crawl.pipeline",
    "PageComparison": "report.comparison",
    "PageFingerprint": "fingerprint.fingerprint",
    "SettingError": "errors",
    "SimdedupError": "errors",
    "SkippedRequest": "crawl.exceptions",
    "StoreBusy": "errors",
    "StoreError": "errors",
    "Verdict": "detect.verdict",
    "compare_pages": "report.comparison",
    "fingerprint_page": "fingerprint.making",
    "page_markdown": "page.markdown",
}

__all__ = [
    "Addon",
    "CanonicalRequestFingerprinter",
    "Comparison",
    "CopyFacts",
    "DedupSettings",
    "DeliveryInnerMiddleware",
    "DeliveryOuterMiddleware",
    "FingerprintMismatch",
    "NearDuplicateDetector",
    "NearDuplicateDownloaderMiddleware",
    "NearDuplicateItem",
    "NearDuplicatePage",
    "NearDuplicatePipeline",
    "PageComparison",
    "PageFingerprint",
    "SettingError",
    "SimdedupError",
    "SkippedRequest",
    "StoreBusy",
    "StoreError",
    "Verdict",
    "compare_pages",
    "fingerprint_page",
    "page_markdown",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
