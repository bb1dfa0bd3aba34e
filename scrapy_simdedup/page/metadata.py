"""What a page says about itself beside its text: its identity, its canonical URL, and metadata such as its author.

The identity tells it from a page with the same text, such as an article number or a date. The canonical URL is often a
wrong one, so it is verified like any guess.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from email.utils import parsedate_to_datetime
from functools import lru_cache
from html import unescape
from itertools import chain, islice, product
from typing import Any, NamedTuple, cast
from urllib.parse import urljoin

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simdedup.page.parse import mentions, utf8

IS_PROPERTY = re.compile(r"[A-Za-z][A-Za-z0-9_]*").fullmatch
"""Whether a place is the name of a property of JSON-LD. Any other place is a CSS selector."""
_WRAPPER = re.compile(r"\A(?:\s|/\*|\*/|//|<!--|<!\[CDATA\[)+")
"""What templates put before JSON-LD: white space, the beginning of a comment or of CDATA."""
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
"""Takes control characters in texts, and leaves numbers as they are written, however long."""
_VALUE_KEYS = ("@value", "@id", "name")
"""Keys of a JSON-LD object that hold its name; the first one present counts."""
_IDENTIFIERS = {
    "name": (
        *("sku", "productID", "mpn", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "isbn"),
        *("vehicleIdentificationNumber", "startDate"),
    ),
    "title": ("identifier",),
}
"""Properties of schema.org that tell a thing from others of its name, by the property that names it: those of products,
books, cars and events, and of jobs. What has a name and an ``identifier`` may be the author of the page."""
_HAS_IDENTIFIER = re.compile(rf'"(?:{"|".join(chain(*_IDENTIFIERS.values()))})"').search
OFFER_PROPERTIES = ("price", "lowPrice", "highPrice", "availability")
_IN_MICRODATA = frozenset({"name", "offers", *_IDENTIFIERS["name"], *OFFER_PROPERTIES})
_HAS_ITEMPROP = re.compile(rf"""itemprop=["']?(?:{"|".join(sorted(_IN_MICRODATA - {"name"}))})\b""").search
_with_itemprop = cast("Callable[[HtmlElement], list[HtmlElement]]", etree.XPath("descendant::*[@itemprop]"))
_VALUE_ATTRIBUTES = ("content", "datetime", "href")
MAX_HEADLINES, MAX_PROPERTIES, MAX_STEPS, MAX_TEXTS = 5, 2_000, 50, 10
"""Headlines and elements with a property of microdata that are looked at; of each how many elements around it, and how
many texts in it."""
_BETWEEN_WORDS = re.compile(r"\W+")
MAX_HEAD = 65_536
"""Characters of a page in which its canonical URL is looked for, and what it asks of search engines."""
_LINK, _META = re.compile(r"<link\b[^<>]*>", re.IGNORECASE), re.compile(r"<meta\b[^<>]*>")
_ATTRIBUTE = re.compile(r"""(?<![\w-])([a-z]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""", re.IGNORECASE)
"""An attribute with its whole name: ``data-href`` is not ``href``, and a name tried from each of its letters takes
quadratic time."""


def find_identity(root: HtmlElement, places: Sequence[str]) -> str:
    """The values that a page has in some places, together; empty if it has none of them. Never raises.

    Places are names of properties of JSON-LD, such as ``sku``, and CSS selectors, such as ``.date::attr(datetime)``.
    """
    properties = _find_properties(root, {place for place in places if IS_PROPERTY(place)})
    found = [properties.get(place, "") if IS_PROPERTY(place) else _select(root, place) for place in places]
    return "\0".join(found) if any(found) else ""


def declared_identity(root: HtmlElement, html: str, h1: str, title: str, item: dict[str, Any]) -> str:
    """What the page's data say of the thing that the page is named after, to tell it from others of its name.

    Such as the article number of a product, and the date of an event. The first headline that has the name of such a
    thing counts. Empty where none has, or names several; what stands beside the page's own thing has another name.
    Where JSON-LD says nothing, the ``item`` of microdata does, see :func:`item_around`. Never raises.
    """
    things = set[tuple[str, str]]()
    of_json_ld = html.split("ld+json")[1:] if mentions(utf8(html, "replace"), b"+json") else ()
    if any(_HAS_IDENTIFIER(rest.partition("</script")[0]) for rest in of_json_ld):
        for value, naming in product(_json_ld(root), _IDENTIFIERS):
            name = _spaced_words(unescape(_text(value.get(naming))))
            if name.strip():
                things.update((name, identity) for identity in _identities(value, naming))
    for headline in map(_spaced_words, (h1, title) if things else ()):
        found = {identity for name, identity in things if name in headline}
        if found:
            return found.pop() if len(found) == 1 else ""
    if not item or _spaced_words(_text(item.get("name"))) not in _spaced_words(h1):
        return ""
    found = set(_identities(item, "name"))
    return found.pop() if len(found) == 1 else ""


def has_microdata(html: str) -> bool:
    """Whether a page may have an identifier or an offer in microdata: told without a walk, as most pages have none."""
    return "itemprop=" in html and _HAS_ITEMPROP(html) is not None


def item_around(root: HtmlElement, h1: str) -> dict[str, Any]:
    """The item of microdata in which the h1 stands, with its name, its identifiers, and its ``offers``; often empty.

    Lists of other things have microdata as well, but no h1. A property with several values says nothing.
    """
    headlines = islice(root.iter("h1"), MAX_HEADLINES)
    item = next((_scope(found) for found in headlines if _spaced_words(_beginning(found)) == _spaced_words(h1)), None)
    if item is None:
        return {}
    found: dict[HtmlElement, dict[str, set[str]]] = {item: {}}
    for element in _with_itemprop(item)[:MAX_PROPERTIES]:
        scope, names = _scope(element), _IN_MICRODATA.intersection(element.get("itemprop", "").split())
        if "offers" in names and scope is item and element.get("itemscope") is not None:
            found[element] = {}
        elif names and scope in found:
            value = next(filter(None, map(element.get, _VALUE_ATTRIBUTES)), None) or _beginning(element)
            if len(value) > MAX_VALUE_LENGTH:  # of elements in each other, each would be read with all in it
                return {}
            for name in names:
                found[scope].setdefault(name, set()).add(_one_line(value))
    own, *offers = ({of: texts.pop() for of, texts in said.items() if len(texts) == 1} for said in found.values())
    return {**own, "offers": offers}


def _scope(element: HtmlElement) -> HtmlElement | None:
    """The item of microdata around an element."""
    around = islice(element.iterancestors(), MAX_STEPS)
    return next((outer for outer in around if outer.get("itemscope") is not None), None)


def _beginning(element: HtmlElement) -> str:
    return "".join(islice(element.itertext(), MAX_TEXTS))


def _identities(value: dict[str, Any], naming: str) -> Iterator[str]:
    """What identifies an object; where nothing does, what identifies each of its offers."""
    own = _joined_identifiers(value, naming)
    if own:
        yield own
        return
    offers = value.get("offers")
    for offer in offers if isinstance(offers, list) else [offers]:
        if isinstance(offer, dict) and (of_offer := _joined_identifiers(offer, naming)):
            yield of_offer


def _joined_identifiers(value: dict[str, Any], naming: str) -> str:
    return "\0".join(f"{of} {text}" for of in _IDENTIFIERS[naming] if (text := _identifier(value.get(of))))


def _identifier(value: Any) -> str:
    """The text of a property that identifies something; an address is none, as each URL of a page has its own."""
    text = _text(value.get("value") if isinstance(value, dict) and "value" in value else value)
    return "" if "://" in text else text


def _spaced_words(text: str) -> str:
    return f" {' '.join(filter(None, _BETWEEN_WORDS.split(text.casefold())))} "


def _select(root: HtmlElement, css: str) -> str:
    try:
        matches = _xpath(css)(root)
    except etree.XPathError:  # what the page makes of the selector is no reason to lose the page
        return ""
    for match in cast("Iterable[Any]", matches):
        text = _one_line(match if isinstance(match, str) else "".join(match.itertext()))
        if text:
            return text
    return ""


@lru_cache(64)
def _xpath(css: str) -> etree.XPath:
    from parsel.csstranslator import HTMLTranslator  # noqa: PLC0415 - few ask for it

    return etree.XPath(HTMLTranslator().css_to_xpath(css), smart_strings=False)


def _find_properties(root: HtmlElement, names: set[str]) -> dict[str, str]:
    """The values of some properties in the page's JSON-LD: of the outermost object that has one, the first of these.

    Takes linear time: each object is looked at once, level by level, without recursion.
    """
    found: dict[str, str] = {}
    for value in _json_ld(root) if names else ():
        for name in names & value.keys():
            text = _text(value[name])
            if text:
                found.setdefault(name, text)
        if len(found) == len(names):
            break
    return found


def _json_ld(root: HtmlElement) -> Iterator[dict[str, Any]]:
    """The objects of the page's JSON-LD, the outermost first."""
    scripts = (script for script in root.iter("script") if "ld+json" in script.get("type", "").lower())
    queue = deque(filter(None, (_load(script.text or "") for script in scripts)))
    while queue:
        value = queue.popleft()
        if isinstance(value, list):
            queue.extend(value)
        elif isinstance(value, dict):
            yield value
            queue.extend(value.values())


def _load(text: str) -> Any:
    """The value of a text of JSON, numbers as they are written; None for what is none, or is nested too deep."""
    try:
        return _DECODER.raw_decode(_WRAPPER.sub("", text))[0]  # whatever is behind it
    except (ValueError, RecursionError):
        return None


def _text(value: Any) -> str:
    """The text of a property: of several values the first; of an object what it is called."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = next((value[key] for key in _VALUE_KEYS if key in value), None)
    return "" if value is None or isinstance(value, (list, dict)) else _one_line(str(value))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def declared_canonical_url(html: str, url: str) -> str | None:
    """The URL of a page's ``rel=canonical``, else of its ``hreflang=x-default``; None where it declares neither.

    The HTML is searched and not a parsed page, because workers and known bytes spare the parsing.

    >>> declared_canonical_url('<link href="/a?b=1&amp;c=2" rel=canonical>', "https://site.example/a?c=2&b=1&sid=7")
    'https://site.example/a?b=1&c=2'
    """
    default = None
    for tag in _LINK.findall(html[:MAX_HEAD]):
        attributes = attributes_of_tag(tag)
        relations = attributes.get("rel", "").lower().split()
        if "canonical" in relations:
            return _absolute_url(url, attributes.get("href", ""))
        if "alternate" in relations and attributes.get("hreflang", "").lower() == "x-default":
            default = default or _absolute_url(url, attributes.get("href", ""))
    return default


def asks_not_to_be_listed(html: str) -> bool:
    """Whether a page asks search engines to leave it out, as views of other pages do.

    >>> asks_not_to_be_listed('<meta content="NOINDEX, follow" name=robots>'), asks_not_to_be_listed("<p>noindex")
    (True, False)
    """
    raw = utf8(html, "replace")
    if not (mentions(raw, b"noindex", 6) or mentions(raw, b"NOINDEX", 6) or mentions(raw, b"NoIndex")):
        return False  # as most pages do; a copy in lower case is dear
    metas = map(attributes_of_tag, _META.findall(html[:MAX_HEAD].lower()))
    return any("noindex" in meta.get("content", "") for meta in metas if meta.get("name") == "robots")


def attributes_of_tag(tag: str) -> dict[str, str]:
    """The attributes in a start tag as it is written, by their names in lower case.

    >>> attributes_of_tag('<link REL=icon href="/a?b&amp;c">')
    {'rel': 'icon', 'href': '/a?b&c'}
    """
    return {name.lower(): unescape(one or two or three) for name, one, two, three in _ATTRIBUTE.findall(tag)}


def _absolute_url(url: str, href: str) -> str | None:
    try:
        return urljoin(url, href.strip()) if href.strip() else None
    except ValueError:
        return None


MAX_VALUE_LENGTH = 1_000
"""Characters of a title, a name or an address; longer ones are none."""
MAX_AUTHORS = 20
_ARTICLE_TYPE = re.compile(r"Article|Posting|Report|Review$|Recipe|Thesis|Chapter|Book$")
_OTHER_TYPE = re.compile(r"Product|Event|Movie|Course|JobPosting|Question|HowTo|Video|Podcast|Dataset|Place|Page")
"""Types of JSON-LD that stand for the page, those of texts before others."""
_META_NAMES = {
    "title": ("og:title", "twitter:title", "dc.title", "citation_title", "headline"),
    "author": ("author", "article:author", "dc.creator", "citation_author", "parsely-author", "sailthru.author"),
    "date": (
        *("article:published_time", "og:published_time", "datepublished", "dc.date", "dcterms.date", "citation_date"),
        *("citation_publication_date", "parsely-pub-date", "sailthru.date", "pubdate", "publishdate", "date"),
    ),
    "language": ("og:locale", "content-language", "dc.language"),
    "site_name": ("og:site_name", "application-name"),
    "canonical": ("og:url",),
}
"""The names of ``<meta>`` elements by what they say, the best first; OpenGraph, Dublin Core and those of newspapers."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_ISO_DATE = re.compile(r"(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?:[T ]+(\d{2}:\d{2}\S*(?: ?[+-]\d{2}:?\d{2})?))?")


def find_metadata(root: HtmlElement, url: str = "") -> dict[str, str]:
    """The metadata of a page, from its JSON-LD, OpenGraph, other ``<meta>`` elements, and HTML itself.

    They have the names of the fields of :class:`~scrapy_simdedup.page.content.Content`, and are ``""`` where the page
    does not say them.
    """
    named = _named_metas(root)
    data = _main_object(root)
    link = next((link.get("href") for link in root.iter("link") if "canonical" in _words(link.get("rel"))), None)
    time = next((time.get("datetime") for time in root.iter("time") if time.get("itemprop") == "datePublished"), None)

    def first(field: str, *values: str | None) -> str:
        candidates = (_value(value) for value in (*values, *map(named.get, _META_NAMES[field])))
        return next(filter(None, candidates), "")

    titles = _title(root)
    languages = (root.get("lang"), root.get("{http://www.w3.org/XML/1998/namespace}lang"), root.get("xml:lang"))
    dates = (_text(data.get("datePublished")), time, *map(named.get, _META_NAMES["date"]))
    canonical = _absolute_url(url, link or "") or _absolute_url(url, first("canonical")) or ""
    return {
        "title": first("title", _text(data.get("headline"))) or _value(_text(data.get("name"))) or _value(titles),
        "author": _authors(data.get("author"), *map(named.get, _META_NAMES["author"])),
        "date": next(filter(None, map(_date, dates)), ""),
        "language": _language(first("language", *languages, _text(data.get("inLanguage")))),
        "site_name": first("site_name", _text(data.get("publisher"))),
        "canonical": canonical if _IS_WEB_ADDRESS(canonical) and len(canonical) <= MAX_VALUE_LENGTH else "",
    }


_title = cast("Callable[[HtmlElement], str]", etree.XPath("string((head | body)/title)", smart_strings=False))
_IS_WEB_ADDRESS = re.compile(r"https?://[^\s<>]+").fullmatch


def _words(text: str | None) -> list[str]:
    return (text or "").lower().split()


def _named_metas(root: HtmlElement) -> dict[str, str]:
    """The content of the ``<meta>`` elements by their names in lower case; of several the first that is not blank."""
    named: dict[str, str] = {}
    for meta in root.iter("meta"):
        content = meta.get("content")
        if content and not content.isspace():
            for attribute in ("property", "name", "itemprop", "http-equiv"):
                name = meta.get(attribute)
                if name:
                    named.setdefault(name.strip().lower(), content)
    return named


def _main_object(root: HtmlElement) -> dict[str, Any]:
    """The object of the page's JSON-LD that stands for the page; empty if none does.

    Takes linear time, as in :func:`_find_properties`.
    """
    second: dict[str, Any] = {}
    for value in _json_ld(root):
        kinds = value.get("@type")
        named = map(str, kinds if isinstance(kinds, list) else [kinds])
        if any(map(_ARTICLE_TYPE.search, named)):
            return value
        if not second and _OTHER_TYPE.search(str(kinds)):
            second = value
    return second


_TYPES_OF_PAGES = {
    "posting": (
        *("Article", "NewsArticle", "BlogPosting", "TechArticle", "ScholarlyArticle", "ReportageNewsArticle"),
        *("OpinionNewsArticle", "AnalysisNewsArticle", "LiveBlogPosting"),
    ),
    "thread": ("DiscussionForumPosting",),
    "questions": ("QAPage",),
    "faq": ("FAQPage",),
    "replies": ("Comment", "Answer"),
    "product": ("Product", "ProductGroup"),
    "list": ("ItemList", "CollectionPage"),
    "blog": ("Blog",),
    "site": ("WebSite",),
    "page": ("WebPage",),
    "og_article": ("og:article",),
    "og_website": ("og:website",),
    "og_product": ("og:product",),
    "og_none": ("og:",),
}
"""By what a page may be, the types of schema.org and of OpenGraph that say so. Those of microdata would take as long as
a third of the model does."""
KINDS_OF_PAGES = {name: kind for kind, names in _TYPES_OF_PAGES.items() for name in names}
MAX_DESCRIPTIONS = 10
MIN_DESCRIPTION_LENGTH, MAX_DESCRIPTION_LENGTH, DESCRIPTION_BEGINNING = 25, 2_000, 40
"""Characters of a description that says something, that are read, and of its beginning: its end is often cut off."""
_TAG = re.compile(r"<[^<>]*>")


class Declared(NamedTuple):
    """What a page declares of its main content."""

    kinds: frozenset[str] = frozenset()
    """Values of ``KINDS_OF_PAGES``."""
    descriptions: tuple[str, ...] = ()
    """What is written for search engines and for those who share the page, often how its main content begins."""

    @property
    def is_article(self) -> bool:
        """Whether the page calls itself an article, and nothing of which what others wrote is a part."""
        return bool(self.kinds & {"posting", "og_article"}) and not self.kinds & {"thread", "questions", "product"}


def find_declared(root: HtmlElement) -> Declared:
    """What a page declares of its main content, in the ``<meta>`` elements of its head and by JSON-LD. Never raises."""
    head = root.find("head")
    named = {} if head is None else _named_metas(head)
    og_type = named.get("og:type", "").strip().lower()
    types = {f"og:{'product' if 'product' in og_type else og_type}"}
    texts = [named.get(name, "") for name in ("description", "og:description", "twitter:description")]
    for value in _json_ld(root):
        of = value.get("@type")
        types.update(str(name).rpartition("/")[2] for name in (of if isinstance(of, list) else [of]))
        texts.append(_text(value.get("description")))
    read = (_one_line(_TAG.sub(" ", unescape(text[:MAX_DESCRIPTION_LENGTH]))) for text in texts)
    descriptions = dict.fromkeys(text for text in read if len(text) >= MIN_DESCRIPTION_LENGTH)
    kinds = frozenset(KINDS_OF_PAGES[of] for of in types & KINDS_OF_PAGES.keys())
    return Declared(kinds, tuple(islice(descriptions, MAX_DESCRIPTIONS)))


def _authors(declared: Any, *named: str | None) -> str:
    """The names of authors; addresses of their profiles are none."""
    many = declared if isinstance(declared, list) else [declared]
    for texts in ([_text(author) for author in many[:MAX_AUTHORS]], *([text or ""] for text in named)):
        names = [name for text in texts if (name := _value(text)) and "://" not in name]
        if names:
            return ", ".join(dict.fromkeys(names))
    return ""


def _date(text: str | None) -> str:
    """A date as ISO 8601 writes it; "" for what is none."""
    text = _value(text)
    found = _ISO_DATE.match(text)
    if found:
        year, month, day, time = found.groups()
        with suppress(ValueError):
            made = date(int(year), int(month), int(day)).isoformat()
            return f"{made}T{time.replace(' ', '')}" if time else made
    elif text:
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            return parsedate_to_datetime(text).isoformat()
    return ""


def _language(text: str) -> str:
    return text.replace("_", "-") if _LANGUAGE.fullmatch(text) else ""


def _value(text: str | None) -> str:
    """A value in one line, without references; "" for one that is too long."""
    if not text or len(text) > 2 * MAX_VALUE_LENGTH:
        return ""
    made = _one_line(unescape(text))
    return made if len(made) <= MAX_VALUE_LENGTH else ""
