"""Requests and their responses: which are judged or skipped, which handler gets them, which are one, or known before.

A *handler* is the spider and the callback that get a page. Pages of one handler are handled alike.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import RequestFingerprinter, RequestFingerprinterProtocol
from w3lib.url import canonicalize_url

from scrapy_simdedup.crawl.exceptions import refusing
from scrapy_simdedup.crawl.items import adapter_of
from scrapy_simdedup.detect.events import pack_value
from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.page.parse import ending, remember_utf8
from scrapy_simdedup.settings import PREFIX, DedupSettings
from scrapy_simdedup.store.base import FingerprintStore, whole_log
from scrapy_simdedup.unjudged import UnjudgedReason
from scrapy_simdedup.urls import canonical_url

META_OPT_OUT = "simdedup"
"""``Request.meta["simdedup"] = False`` opts a request out."""
_INCOMPLETE = frozenset({"dataloss", "download_stopped"})
"""Scrapy's flags of responses of which something is known to be missing."""
_UNDECLARED_LENGTH = "partial"
"""Scrapy's flag of a response that ended with its connection: whole or cut, the server did not say how long it is."""
PARTIAL_CONTENT = 206
_WHOLE_RANGE = re.compile(rb"\s*bytes\s+0-(\d{1,18})/(\d{1,18})\s*", re.IGNORECASE)
_END_TAG = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_NO_CONTENT = re.compile(r"\s+|<!--.*?-->|<(script|style|noscript)\b[^>]*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
"""What may stand behind the end of a page: white space, comments with the time it took, scripts that count visitors."""
MAX_BEHIND_END = 20_000
"""Characters behind the end of a page that are looked at."""
ENDING_SIZE, PAGES_OF_ENDING = 80, 3
"""The last characters of a page by which it is told how it ends, and pages that end alike before the next is whole."""
MAX_HOSTS, MAX_ENDINGS = 1_000, 100
"""Hosts whose endings are remembered, the latest, and different endings of a host."""
_WEB_CODECS = frozenset(
    (
        "utf-8 utf-8-sig utf-16 utf-16-be utf-16-le ascii cp866 koi8-r koi8-u mac-roman mac-cyrillic cp874 tis-620"
        " gb2312 gbk gb18030 big5 big5hkscs euc-jp iso2022-jp shift-jis cp932 euc-kr cp949"
    ).split()
) | {*(f"iso8859-{part}" for part in range(1, 17) if part != 12), *(f"cp{page}" for page in range(1250, 1259))}
"""Python's names of the encodings of the web, which are those of WHATWG's Encoding Standard. The other codecs that a
server may name, such as punycode, make of a page what no browser shows, or a part of it."""
_UNICODE = frozenset({"ascii", "utf-8"})
"""Guesses that Scrapy makes only where the whole page fits."""
_SPECIAL_META_KEYS = ("is_start_request", "redirect_times", "redirect_urls", "retry_times", "verbatim_url")
"""Entries in the meta of requests that stand for something that was begun, or for that exact URL."""
MAX_HANDLER_NAME = 200
"""Characters of the name of a handler; what would be longer ends there."""


def is_page(request: Request) -> bool:
    """Whether a response to this request can be a page at all; what robots.txt and media pipelines fetch is none."""
    return request.callback is not NO_CALLBACK and request.method != "HEAD"


def is_opted_in(request: Request) -> bool:
    """Whether the user has not opted the request out."""
    return request.meta.get(META_OPT_OUT) is not False


def read_response(request: Request, response: Response, endings: PageEndings) -> tuple[str, UnjudgedReason | None]:
    """The text of a page as it is judged, and None; or no text, and the reason why the response is kept unjudged.

    A page that is ``unended`` has its text, by which it is compared with its own past alone.
    """
    if not is_opted_in(request):
        return "", "opted_out"
    if not 200 <= response.status < 300:
        return "", "status"
    if not isinstance(response, HtmlResponse):
        return "", "not_html"
    if _INCOMPLETE.intersection(response.flags) or (response.status == PARTIAL_CONTENT and not _has_all(response)):
        return "", "cut"
    has_length, text = _has_declared_length(response), page_text(response)
    if text is None:
        return "", "undecodable"
    is_whole = has_length or endings.is_whole(text, urlsplit(response.url).netloc)
    return text, None if is_whole else "unended"


def _has_all(response: Response) -> bool:
    """Whether a response with a range of a page has the whole page, as where a request asks for ``bytes=0-``."""
    found = _WHOLE_RANGE.fullmatch(response.headers.get("Content-Range") or b"")
    return found is not None and int(found[1]) + 1 == int(found[2])


def _has_declared_length(response: Response) -> bool:
    """Whether the server said where the response ends; otherwise the end of its connection is all that tells.

    Of Scrapy's handlers only that of Twisted has a flag for it. It does not show the headers about the connection.
    """
    headers = response.headers
    if "Content-Length" in headers or "Transfer-Encoding" in headers:
        return True
    ends_with_connection = response.protocol == "HTTP/1.0" or (headers.get("Connection") or b"").lower() == b"close"
    return _UNDECLARED_LENGTH not in response.flags and not ends_with_connection


def page_text(response: HtmlResponse) -> str | None:
    """The text of a response as it is judged; None where its encoding is none of the web, or does not fit.

    Where neither the server nor the page names its encoding, Scrapy guesses it page by page, so that copies may get
    different ones. A guess of one byte a character is read as Windows-1252: wrong for Russian, but the same for all.
    """
    try:
        declared = response._declared_encoding()  # noqa: SLF001 - each question looks for it anew
        # Asked first: some of the other codecs take quadratic time.
        codec = codecs.lookup(declared or response.encoding).name.replace("_", "-")
        if declared is None and codec not in _UNICODE and len(response.text) == len(response.body):
            return response.body.decode("cp1252", "replace")
        if codec not in _WEB_CODECS:
            return None
        text = response.text
    except (LookupError, ValueError):
        return None
    # Where nothing was replaced, and no mark at the beginning was left out, the page in UTF-8 is the body.
    if codec == "utf-8" and "\ufffd" not in text and not response.body.startswith(codecs.BOM_UTF8):
        remember_utf8(text, response.body)
    return text


def ends_as_page(html: str) -> bool:
    """Whether the end of a page is there, so that its connection was not cut before.

    >>> ends_as_page("<p>All of it.</body></html><!-- 0.2 s -->"), ends_as_page("<p>Half of")
    (True, False)
    """
    tail = html[-MAX_BEHIND_END:]
    ends = [found.end() for found in _END_TAG.finditer(tail)]
    if not ends:
        return False
    at = ends[-1]
    while found := _NO_CONTENT.match(tail, at):
        at = found.end()
    return at == len(tail)


class PageEndings:
    """Tells whole pages from halves of pages where a server does not say how long they are.

    HTML allows to leave out the last end tags, and by itself such a page cannot be told from half of one. But pages of
    one template end alike, and connections break anywhere. So where no page of a host has its end tags, a page is whole
    if it ends as :data:`PAGES_OF_ENDING` earlier ones did: with the same characters, or behind the same element, such
    as a footer, if nothing follows that on any page, and what is around it ends on none.
    """

    def __init__(self) -> None:
        self._hosts: dict[str, _HostEndings | None] = {}
        """How pages of a host ended; None once one of them had its end tag."""

    def is_whole(self, html: str, host: str) -> bool:
        """Whether the end of a page is there, as far as it and earlier pages of its host tell."""
        if ends_as_page(html):
            self._hosts[host] = None
            return True
        if host not in self._hosts and len(self._hosts) >= MAX_HOSTS:
            del self._hosts[next(iter(self._hosts))]
        known = self._hosts.setdefault(host, _HostEndings())
        return known is not None and known.is_known(html)


class _HostEndings:
    """How often pages of a host ended in each way."""

    def __init__(self) -> None:
        self._characters: Counter[str] = Counter()
        self._elements: Counter[str] = Counter()
        self._refuted: set[str] = set()
        """What is at the end of some pages, and in the middle of others."""

    def is_known(self, html: str) -> bool:
        """Whether enough earlier pages ended in the same way; the page is counted."""
        html, end = _NUMBER.sub("#", html.rstrip()), ending(html)
        characters, elements = html[-ENDING_SIZE:], set[str]() if end.last is None else {end.last, *end.open}
        _make_room(self._characters)
        _make_room(self._elements)
        self._characters[characters] += 1
        self._elements.update(elements)
        self._refuted &= self._elements.keys() | self._characters.keys()
        self._refuted |= end.elsewhere & self._elements.keys()
        common = (way for way, count in self._characters.items() if count >= PAGES_OF_ENDING)
        self._refuted.update(way for way in common if -1 < html.find(way) < len(html) - len(way))
        is_last = end.last is not None and self._elements[end.last] > PAGES_OF_ENDING and not self._refuted & elements
        return is_last or (self._characters[characters] > PAGES_OF_ENDING and characters not in self._refuted)


def _make_room(times: Counter[str]) -> None:
    """Where there are too many ways to end, forget those of one page; all, if most are those of several."""
    if len(times) >= MAX_ENDINGS:
        for way in [way for way, count in times.items() if count == 1]:
            del times[way]
        if len(times) > MAX_ENDINGS // 2:
            times.clear()


def is_inspection(request: Request) -> bool:
    """Whether a person looks at this page with ``scrapy shell``, ``fetch``, ``view``, ``parse`` or ``check``.

    Scrapy has no name for these; their callbacks differ: the shell passes a Deferred's method, the others functions of
    their own modules. Such pages are tagged, never dropped and never recorded.
    """
    callback = request.callback
    if callback is None:
        return False
    owner = type(getattr(callback, "__self__", None)).__module__
    home = getattr(callback, "__globals__", {}).get("__name__", "")
    return (
        owner.startswith(("twisted.internet.defer", "_asyncio", "asyncio.", "scrapy.commands.", "scrapy.shell"))
        or home.startswith(("scrapy.commands.", "scrapy.shell", "scrapy.contracts"))
        or "SCRAPY_CHECK" in os.environ
    )


def is_inspection_crawl(crawler: Crawler) -> bool:
    """Whether Scrapy crawls for ``scrapy shell``, ``fetch``, ``view``, ``parse`` or ``check``.

    All but the shell put a function of their own modules in the place of the spider's ``start``. The shell brings a
    dupefilter of its own.
    """
    home = getattr(getattr(crawler.spidercls, "start", None), "__module__", None) or ""
    priority = crawler.settings.getpriority("DUPEFILTER_CLASS")
    return home.startswith("scrapy.commands.") or priority == SETTINGS_PRIORITIES["command"]


def is_ordinary(request: Request) -> bool:
    """Whether a request asks for a page, as one for a link does, and its callback said nothing special about it."""
    is_get = request.method == "GET" and not request.body
    return is_get and not request.dont_filter and is_page(request) and is_opted_in(request)


def is_skippable(request: Request) -> bool:
    """Whether a request is an ordinary one, which a callback yielded for a link."""
    is_special = any(request.meta.get(name) for name in _SPECIAL_META_KEYS)
    return is_ordinary(request) and not is_special and not is_inspection(request)


def serialize_request(request: Request, spider: Spider | None) -> dict[str, Any]:
    """The request as plain values from which it can be made later; a ValueError names the first that is none."""
    try:
        values = {name: value for name, value in _to_dict(request, spider).items() if value}
    except ValueError as exc:
        raise ValueError("its callback or errback is no method of the spider") from exc
    try:
        values["headers"] = {
            name.decode("ascii"): [value.decode("ascii") for value in found]
            for name, found in values.get("headers", {}).items()
        }
    except UnicodeDecodeError as exc:
        raise ValueError("a header is no ASCII") from exc
    for name, value in values.items():
        for part, held in value.items() if isinstance(value, dict) else [(None, value)]:
            try:
                pack_value({part: held})
            except (TypeError, RecursionError) as exc:  # noqa: PERF203 - the first one is the last
                place = name if part is None else f"{name}[{part!r:.40}]"
                raise ValueError(f"{place} holds what has no plain form ({type(held).__name__})") from exc
    return values


class _Methods(SimpleNamespace):
    """Some methods of a spider, which has no other attributes."""

    def __dir__(self) -> list[str]:
        return list(vars(self))


def _to_dict(request: Request, spider: Spider | None) -> dict[str, Any]:
    """``Request.to_dict``, which has Scrapy get every attribute of the spider to find the two methods of a request.

    So it is first given only those that have the names of these methods.
    """
    names = (getattr(handler, "__name__", "") for handler in (request.callback, request.errback))
    methods = _Methods(**{name: getattr(spider, name) for name in names if hasattr(spider, name)})
    try:
        return request.to_dict(spider=cast("Spider", methods))
    except ValueError:
        return request.to_dict(spider=spider)


def handler_name(request: Request, spider: Spider | None) -> str:
    """The name of a request's handler, such as ``shop parse_product``, the same in every process and run.

    A request without a callback is for ``parse``. Requests of a CrawlSpider's rules are told apart by the rules'
    callbacks, and by whether the rules follow links. Arguments are no part of a handler: neither ``cb_kwargs``, nor
    what a lambda or a ``partial`` brings along.
    """
    callback: Any = request.callback or "parse"
    rules: Any = getattr(spider, "_rules", None)
    number = request.meta.get("rule")
    is_of_rule = isinstance(rules, list) and callback == getattr(spider, "_callback", None)
    if is_of_rule and isinstance(number, int) and 0 <= number < len(rules):
        rule = rules[number]
        name = f"rule {_callback_name(rule.callback or '', spider)}{' and follow' if rule.follow else ''}"
    else:
        name = _callback_name(callback, spider)
    return f"{getattr(spider, 'name', '')} {name}"[:MAX_HANDLER_NAME]


def _callback_name(callback: Callable[..., Any] | str, spider: Spider | None) -> str:
    while isinstance(callback, partial):
        callback = callback.func
    if isinstance(callback, str):
        return callback
    owner, name = getattr(callback, "__self__", None), getattr(callback, "__qualname__", None)
    if owner is spider:
        return str(getattr(callback, "__name__", name))
    if name is None:  # an object that can be called
        return f"{type(callback).__module__}.{type(callback).__qualname__}"
    name = f"{getattr(callback, '__module__', '')}.{name}"
    if "<l" not in name:
        return name
    # Lambdas, and functions that a function made: of several with one name, line and annotations tell them apart.
    line = getattr(getattr(callback, "__code__", None), "co_firstlineno", 0)
    annotations = getattr(callback, "__annotations__", {}).values()
    types = " ".join(str(getattr(hint, "__qualname__", hint)) for hint in annotations)
    return f"{name}:{line} {types}".rstrip()


def passes_item_on(request: Request, response: Response) -> bool:
    """Whether a request that a callback made brings an item along, or a part of one, for another callback to finish.

    That is what ``cb_kwargs`` are for. In ``meta`` it is an item that the response did not bring itself.
    """
    if request.cb_kwargs:
        return True
    known = response.meta
    return any(
        known.get(name) is not value and not str(name).startswith("simdedup") and adapter_of(value) is not None
        for name, value in request.meta.items()
    )


class CanonicalRequestFingerprinter:
    """``REQUEST_FINGERPRINTER_CLASS = "scrapy_simdedup.CanonicalRequestFingerprinter"``.

    Before Scrapy's fingerprinter, or the one that ``SIMDEDUP_REQUEST_FINGERPRINTER`` names, sees a request, its URL
    loses the fragment, the default port, dot segments and needless percent-encoding, an international host name is
    written in ASCII, parameters are sorted, and ``?a`` becomes ``?a=``. The request itself stays as it is.
    """

    def __init__(self, inner: RequestFingerprinterProtocol) -> None:
        self._inner = inner
        self._known: WeakKeyDictionary[Request, bytes] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CanonicalRequestFingerprinter:
        """Called by Scrapy."""
        name = f"{PREFIX}REQUEST_FINGERPRINTER"
        with refusing(crawler):
            path = DedupSettings.from_settings(crawler.settings).request_fingerprinter
            try:
                inner = RequestFingerprinter if path is None else load_object(path)
            except (ImportError, NameError, ValueError) as exc:
                raise SettingError(name, path, f"name a class that exists ({exc})") from exc
            if inner is cls:
                raise SettingError(name, path, "name the fingerprinter behind this one")
            return cls(build_from_crawler(cast("type[RequestFingerprinterProtocol]", inner), crawler))

    def fingerprint(self, request: Request) -> bytes:
        """The request's fingerprint, of its canonical URL unless its meta says ``verbatim_url``."""
        known = self._known.get(request)
        if known is None:
            url = None if request.meta.get("verbatim_url") else canonical_url(request.url)
            asked = request if url is None or url == request.url else request.replace(url=url)
            known = self._known[request] = self._inner.fingerprint(asked)
        return known


IMPORTED_LOG = "imported:"
"""The log of the imported keys, beside those of the sites: the site of a key is not known."""
PLUGIN_META_KEYS = ("deltafetch_key", "crawl_once_key")
"""Entries of a request's meta in which users of other plugins name a page themselves."""


class ImportedPages:
    """When each page was delivered by another plugin; only the keys that it gave their requests are known."""

    def __init__(self) -> None:
        self.times: dict[bytes, float] = {}
        """Seconds since the epoch by key; empty where nothing was imported."""

    async def load(self, store: FingerprintStore) -> None:
        """Read what ``scrapy simdedup migrate`` wrote; a StoreError if the store fails."""
        async for record in whole_log(store, IMPORTED_LOG):
            if not record.forgotten:
                self.times[record.key] = record.first_seen

    def delivered_at(self, request: Request, key: bytes) -> float | None:
        """When the request's page was delivered; None if no other plugin delivered it."""
        given = [found for name in PLUGIN_META_KEYS if (found := request.meta.get(name))]
        keys = [*(name if isinstance(name, bytes) else str(name).encode() for name in given), key]
        with suppress(ValueError):  # a URL that cannot be taken apart
            # Scrapy's fingerprints until 2.6, and those of its function request_fingerprint() until that went.
            parts = request.method.encode(), canonicalize_url(request.url).encode(), request.body
            old = hashlib.sha1(b"".join(parts), usedforsecurity=False)
            keys += [old.digest(), old.hexdigest().encode()]
        return next((self.times[name] for name in keys if name in self.times), None)
