"""A request fingerprinter to which URLs that are equal by the rules of URLs alone are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import RequestFingerprinter

from scrapy_simdedup.crawl.refusal import refusing
from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.settings import PREFIX, DedupSettings
from scrapy_simdedup.urls import canonical_url

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.utils.request import RequestFingerprinterProtocol


class CanonicalRequestFingerprinter:
    """``REQUEST_FINGERPRINTER_CLASS = "scrapy_simdedup.CanonicalRequestFingerprinter"``.

    Before Scrapy's fingerprinter, or the one that ``SIMDEDUP_REQUEST_FINGERPRINTER`` names, sees a request, its URL
    loses the fragment, the default port, dot segments and needless percent-encoding, an international host name is
    written in ASCII, parameters are sorted, and ``?a`` becomes ``?a=``. The request itself stays as it is.

    Raises:
        SettingError: there is no such fingerprinter.
    """

    def __init__(self, inner: RequestFingerprinterProtocol) -> None:
        self._inner = inner
        self._known: WeakKeyDictionary[Request, bytes] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CanonicalRequestFingerprinter:
        """Called by Scrapy."""
        with refusing(crawler):
            return cls(build_from_crawler(cls._inner_class(crawler), crawler))

    @classmethod
    def _inner_class(cls, crawler: Crawler) -> type[RequestFingerprinterProtocol]:
        path = DedupSettings.from_settings(crawler.settings).request_fingerprinter
        try:
            inner = RequestFingerprinter if path is None else load_object(path)
        except (ImportError, NameError, ValueError) as exc:
            raise SettingError(f"{PREFIX}REQUEST_FINGERPRINTER", path, f"name a class that exists ({exc})") from exc
        if inner is cls:
            raise SettingError(f"{PREFIX}REQUEST_FINGERPRINTER", path, "name the fingerprinter behind this one")
        return cast("type[RequestFingerprinterProtocol]", inner)

    def fingerprint(self, request: Request) -> bytes:
        """The request's fingerprint, of its canonical URL unless its meta says ``verbatim_url``."""
        known = self._known.get(request)
        if known is None:
            url = None if request.meta.get("verbatim_url") else canonical_url(request.url)
            asked = request if url is None or url == request.url else request.replace(url=url)
            known = self._known[request] = self._inner.fingerprint(asked)
        return known
