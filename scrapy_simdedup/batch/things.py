"""Taking the repeats out of things that are there already: texts, pages, items, or the rows of a table."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeVar

from itemadapter import ItemAdapter, is_item
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.request import fingerprint as request_fingerprint

from scrapy_simdedup.crawl.items import comparable_item, item_url
from scrapy_simdedup.crawl.requests import page_text
from scrapy_simdedup.detect.names import site_of, url_key, without_surrogates
from scrapy_simdedup.detect.site_judge import SiteJudge
from scrapy_simdedup.detect.verdict import Verdict
from scrapy_simdedup.display import did_you_mean, nearest
from scrapy_simdedup.errors import SettingError, SimdedupError
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import body_digest, fingerprint, fingerprint_texts
from scrapy_simdedup.page.metadata import declared_canonical_url
from scrapy_simdedup.settings import DedupSettings, Scope
from scrapy_simdedup.unjudged import UnjudgedReason

Thing = TypeVar("Thing")
HTML_FIELDS = ("html", "body")
"""The fields in which an item is likely to hold a whole page."""
MAX_KNOWN_NAMES = 1_000
"""Names of fields from which one is suggested for a field that no item has."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An item of a feed, a record of an archive, or anything else that is compared."""

    raw: Any
    """The entry as it was read, to be written again."""
    url: str = ""
    """The URL of the entry's page; empty if it names none."""
    html: str | None = None
    texts: tuple[str, ...] = ()
    """The texts of an item that holds no page."""
    identity: str = ""
    """What copies of such an item have in common to the letter: its numbers."""
    unjudged: UnjudgedReason | None = None
    time: str | None = None
    """When the page was fetched, as an archive says."""
    item: Any = None
    """The fields of an item by their names; None for a record of an archive, and for what is no item."""


class ItemFields:
    """The fields of items that are compared.

    ``html`` is the field that holds a page; None tries :data:`HTML_FIELDS`. ``texts`` make an item that holds no page;
    none: all fields that hold no URL. Fields by the class of items are taken together, as the items of a feed have no
    class. With ``all_exist`` each of these fields has to be in some item; else it is enough that some item has one.
    """

    def __init__(
        self,
        html: str | None = None,
        texts: Sequence[str] | Mapping[str, Sequence[str]] = (),
        *,
        all_exist: bool = True,
    ) -> None:
        if isinstance(texts, Mapping):
            texts = list(dict.fromkeys(chain(*texts.values())))
        self._html, self._texts, self._all_exist = html, tuple(texts), all_exist
        self._missing = {*texts, *([html] if html else ())}
        self._asked_for = len(self._missing)
        self._known: dict[str, None] = {}

    def entry(self, item: Any, raw: Any) -> FeedEntry:
        """The entry of an item; anything but a mapping is no item."""
        if not isinstance(item, dict):
            return FeedEntry(raw, unjudged="no_item")
        if self._missing:
            self._missing.difference_update(item)
            if len(self._known) < MAX_KNOWN_NAMES:
                self._known.update(dict.fromkeys(map(str, item)))
        url = item_url(item)
        names = [self._html] if self._html else [] if self._texts else HTML_FIELDS
        page = next((item[name] for name in names if isinstance(item.get(name), (str, bytes))), None)
        if page is None:
            texts, identity = comparable_item(item, self._texts)
            return FeedEntry(raw, url, texts=texts, identity=identity, unjudged=None if texts else "empty", item=item)
        if isinstance(page, str):
            return FeedEntry(raw, url, html=page, item=item)
        html = decoded(page, url)
        return FeedEntry(raw, url, html=html, unjudged="undecodable" if html is None else None, item=item)

    def check(self) -> None:
        """Check that the items that were read have the fields, where there were any items."""
        if self._known and self._missing and (self._all_exist or len(self._missing) == self._asked_for):
            name = min(self._missing)
            raise SimdedupError(f"no item has a field {name!r}{did_you_mean(nearest(name, self._known))}")


def decoded(body: bytes, url: str = "") -> str | None:
    """Bytes as text, decoded as a page in a crawl; None if that fails."""
    try:
        return page_text(HtmlResponse(url or "about:blank", body=body))
    except Exception:  # noqa: BLE001 - the codecs of Python have errors of all kinds for a wrong encoding
        return None


class Deduper:
    """Judges entries one after the other; those without the URL of a page are compared as the pages of one site.

    ``site`` is the name of that site.
    """

    def __init__(self, judge: SiteJudge, site: str) -> None:
        self._judge, self._addresses = judge, EntryAddresses(site, judge.run)

    def judge(self, entry: FeedEntry, fp: PageFingerprint | None = None) -> Verdict:
        """The verdict on an entry that can be judged; with its fingerprint, where that is made already."""
        judge = self._judge
        key, site = self._addresses.of(entry, judge.settings.scope)
        judge.begin(site, forget=False)  # the sites of a feed take turns
        if fp is None and entry.html is not None:
            fp = judge.known_fingerprint(body_digest(entry.html, judge.secret), url=entry.url, key=key)
        fp = fp or entry_fingerprint(entry, judge.settings_for(entry.url), judge.settings, judge.secret)
        canonical = canonical_of(entry, judge.settings_for(entry.url))
        verdict = judge.judge(fp, url=entry.url, key=key, time=time.time(), canonical=canonical)
        return self._addresses.as_repeat(verdict, site, judge.settings)


class EntryAddresses:
    """The key and the site of each entry of a feed; ``site`` is that of entries without the URL of a page."""

    def __init__(self, site: str, run: str) -> None:
        self._site, self._run, self._number = site, run, 0

    def of(self, entry: FeedEntry, scope: Scope = "domain") -> tuple[bytes, str]:
        """The key of an entry and its site; an entry without a page and its URL is no later version of another one."""
        if entry.html is not None and entry.url:
            return request_key(entry.url), site_of(without_surrogates(entry.url), scope)
        self._number += 1
        name = f"{self._run} {self._number}"
        return hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=16).digest(), self._site

    def as_repeat(self, verdict: Verdict, site: str, settings: DedupSettings) -> Verdict:
        """The verdict as it is meant for what is there already, instead of for a crawl."""
        if verdict.kind == "stub" and site == self._site:
            # What a site shows under many URLs may be a captcha; a text that comes often is a repeat.
            is_identical = (verdict.similarity or 0.0) >= settings.identical
            return verdict._replace(kind="identical" if is_identical else "near", is_duplicate=True)
        return again_in_run(verdict, self._run)


def again_in_run(verdict: Verdict, run: str) -> Verdict:
    """The verdict on a page of an archive: a crawl requests a URL once; the same content once more is a repeat."""
    again = verdict.kind == "unchanged" and verdict.original_run == run
    return verdict._replace(is_duplicate=True) if again else verdict


def entry_fingerprint(
    entry: FeedEntry, of_page: DedupSettings, of_items: DedupSettings, secret: bytes
) -> PageFingerprint:
    """The fingerprint of an entry that can be judged: a page under the settings of its URL, or else an item."""
    if entry.html is None:
        return fingerprint_texts(entry.texts, of_items, secret, identity=entry.identity)
    return fingerprint(entry.html, of_page, secret)


def canonical_of(entry: FeedEntry, settings: DedupSettings) -> str | None:
    """The canonical URL that the page of an entry declares, where anybody asks for it."""
    return declared_canonical_url(entry.html, entry.url) if entry.html is not None and settings.prefer else None


def request_key(url: str) -> bytes:
    """The key that a crawl gives the page at a URL: Scrapy's fingerprint of the request for it."""
    try:
        return request_fingerprint(Request(url))
    except ValueError:  # no URL that could be fetched
        return url_key(url)


def forgetful_settings(settings: DedupSettings, first: FeedEntry | None) -> DedupSettings:
    """Settings under which the same entries always get the same verdicts, in a store that starts empty.

    The key of the hashes is made of the first entry. So it is the same each time, and nobody knows it who could build a
    page that resembles another.
    """
    content = repr(first and (first.url, first.html, first.texts))
    secret = hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=16).hexdigest()
    run = settings.run or "dedupe"  # one run alone: nothing has a past that it would be compared with
    return replace(settings, store="memory:", secret=settings.secret or secret, run=run, unchanged_by="similarity")


def dedupe(things: Iterable[Thing], fields: str | Sequence[str] | None = None, **settings: Any) -> Iterator[Thing]:
    """Take the repeats out of things, as ``list(dedupe(texts))``: of near-duplicates the first one is given.

    One thing is read at a time, and given before the next is read, in their order. Only fingerprints are remembered,
    as long as the iterator is used. The same things always give the same result.

    >>> list(dedupe(["a rose is a rose", "a daisy is none", "a rose is a rose"]))
    ['a rose is a rose', 'a daisy is none']

    Args:
        things: what is compared. A text that begins with ``<`` is a page; any other text is compared word by word. A
            tuple is ``(url, html)``. Items are dictionaries, dataclasses and what else Scrapy takes for items: one with
            a field ``html`` or ``body`` is a page, any other is compared by its texts. A data frame of pandas or polars
            gives its rows as dictionaries. Bytes are decoded as Scrapy decodes pages. None and empty texts are kept.
        fields: the fields of items whose texts are compared; None takes all that hold no URL.
        settings: any setting that fits as a keyword, in lower case without its prefix: ``drop="near"``.

    Raises:
        SettingError: a setting cannot be used.
        SimdedupError: no item has one of the fields; raised after the last thing.
        TypeError: a thing is nothing that can be compared.
    """
    checked = DedupSettings.from_keywords(**settings)
    if checked.store not in {None, "memory:"}:
        remedy = "leave it out: what was seen is remembered only meanwhile; a NearDuplicateDetector has a store"
        raise SettingError("SIMDEDUP_STORE", type(checked.store).__name__, remedy)
    named = [fields] if isinstance(fields, str) else fields or ()
    return _kept(_rows(things), ItemFields(None, named), checked)


def _kept(things: Iterator[Any], fields: ItemFields, settings: DedupSettings) -> Iterator[Any]:
    deduper: Deduper | None = None
    for thing in things:
        entry = _entry(thing, fields)
        if entry.unjudged:
            yield thing
            continue
        if deduper is None:
            settings = forgetful_settings(settings, entry)
            deduper = Deduper(SiteJudge(settings, (settings.secret or "").encode(), settings.run or ""), "things")
        if not deduper.judge(entry).is_duplicate or settings.mode == "observe":
            yield thing
    fields.check()


def _rows(things: Iterable[Any]) -> Iterator[Any]:
    """The things; of a data frame of polars or pandas its rows, as dictionaries."""
    if hasattr(things, "iter_rows") and hasattr(things, "columns"):
        return iter(things.iter_rows(named=True))
    if hasattr(things, "itertuples") and hasattr(things, "columns"):
        names = list(things.columns)
        return (dict(zip(names, row, strict=True)) for row in things.itertuples(index=False, name=None))
    return iter(things)


def _entry(thing: Any, fields: ItemFields) -> FeedEntry:
    if thing is None:
        return FeedEntry(thing, unjudged="empty")
    if isinstance(thing, (str, bytes)):
        return _text_entry(thing)
    if isinstance(thing, tuple) and not hasattr(thing, "_asdict"):
        match thing:
            case (str(url), (str() | bytes()) as page):
                html = page if isinstance(page, str) else decoded(page, url)
                return FeedEntry(thing, url, html=html, unjudged="undecodable" if html is None else None)
            case (_, row) if hasattr(row, "to_dict"):  # as DataFrame.iterrows gives it
                return replace(_entry(row, fields), raw=thing)
    item = _item(thing)
    if item is None:
        remedy = "give texts, bytes, (url, html), items, or a data frame"
        raise TypeError(f"a {type(thing).__name__} cannot be compared: {remedy}")
    # What a table lacks is NaN there, and no text.
    lacks = (name for name, value in item.items() if isinstance(value, float) and math.isnan(value))
    return fields.entry({**item, **dict.fromkeys(lacks)}, thing)


def _text_entry(thing: str | bytes) -> FeedEntry:
    text = decoded(thing) if isinstance(thing, bytes) else thing
    if text is None:
        return FeedEntry(thing, unjudged="undecodable")
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        return FeedEntry(thing, html=text)
    return FeedEntry(thing, texts=(text,), unjudged=None if text.strip() else "empty")


def _item(thing: Any) -> Mapping[Any, Any] | None:
    """The fields of a thing by their names; None if it has none."""
    if isinstance(thing, Mapping):
        return thing
    for method in ("_asdict", "to_dict"):  # of a named tuple, and of a row of pandas
        if callable(getattr(thing, method, None)):
            found = getattr(thing, method)()
            return found if isinstance(found, dict) else None
    return ItemAdapter(thing) if is_item(thing) else None
