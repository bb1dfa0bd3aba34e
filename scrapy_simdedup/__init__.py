"""Recognise pages whose content a crawl already has, and drop them.

Names are loaded when they are first used, so that ``scrapy`` commands that have nothing to do with this package do not
pay for numpy and lxml.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:  # for type checkers, which take "X as X" for an export
    from scrapy_simdedup.batch.things import dedupe as dedupe
    from scrapy_simdedup.crawl.components import Addon as Addon
    from scrapy_simdedup.crawl.components import DeliveryInnerMiddleware as DeliveryInnerMiddleware
    from scrapy_simdedup.crawl.components import DeliveryOuterMiddleware as DeliveryOuterMiddleware
    from scrapy_simdedup.crawl.components import NearDuplicateDownloaderMiddleware as NearDuplicateDownloaderMiddleware
    from scrapy_simdedup.crawl.exceptions import LinkNotFollowed as LinkNotFollowed
    from scrapy_simdedup.crawl.exceptions import NearDuplicateItem as NearDuplicateItem
    from scrapy_simdedup.crawl.exceptions import NearDuplicatePage as NearDuplicatePage
    from scrapy_simdedup.crawl.exceptions import SkippedRequest as SkippedRequest
    from scrapy_simdedup.crawl.pipeline import NearDuplicatePipeline as NearDuplicatePipeline
    from scrapy_simdedup.crawl.requests import CanonicalRequestFingerprinter as CanonicalRequestFingerprinter
    from scrapy_simdedup.detect.copy_check import CopyFacts as CopyFacts
    from scrapy_simdedup.detect.detector import NearDuplicateDetector as NearDuplicateDetector
    from scrapy_simdedup.detect.site_judge import SiteJudge as SiteJudge
    from scrapy_simdedup.detect.verdict import Verdict as Verdict
    from scrapy_simdedup.errors import FingerprintMismatch as FingerprintMismatch
    from scrapy_simdedup.errors import SettingError as SettingError
    from scrapy_simdedup.errors import SimdedupError as SimdedupError
    from scrapy_simdedup.errors import StoreBusy as StoreBusy
    from scrapy_simdedup.errors import StoreError as StoreError
    from scrapy_simdedup.fingerprint.fingerprint import Comparison as Comparison
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint as PageFingerprint
    from scrapy_simdedup.fingerprint.make import fingerprint_page as fingerprint_page
    from scrapy_simdedup.page.content import Content as Content
    from scrapy_simdedup.page.content import page_content as page_content
    from scrapy_simdedup.page.content import page_markdown as page_markdown
    from scrapy_simdedup.report.comparison import PageComparison as PageComparison
    from scrapy_simdedup.report.comparison import compare_pages as compare_pages
    from scrapy_simdedup.settings import DedupSettings as DedupSettings

_NAMES_BY_MODULE = {
    "batch.things": ["dedupe"],
    "crawl.exceptions": ["LinkNotFollowed", "NearDuplicateItem", "NearDuplicatePage", "SkippedRequest"],
    "crawl.components": [
        "Addon",
        "DeliveryInnerMiddleware",
        "DeliveryOuterMiddleware",
        "NearDuplicateDownloaderMiddleware",
    ],
    "crawl.pipeline": ["NearDuplicatePipeline"],
    "crawl.requests": ["CanonicalRequestFingerprinter"],
    "detect.detector": ["NearDuplicateDetector"],
    "detect.copy_check": ["CopyFacts"],
    "detect.site_judge": ["SiteJudge"],
    "detect.verdict": ["Verdict"],
    "errors": ["FingerprintMismatch", "SettingError", "SimdedupError", "StoreBusy", "StoreError"],
    "fingerprint.fingerprint": ["Comparison", "PageFingerprint"],
    "fingerprint.make": ["fingerprint_page"],
    "page.content": ["Content", "page_content", "page_markdown"],
    "report.comparison": ["PageComparison", "compare_pages"],
    "settings": ["DedupSettings"],
}
_MODULES = {name: f"{__name__}.{module}" for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
