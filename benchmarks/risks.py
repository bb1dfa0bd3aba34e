"""Generated sites, one kind for each risk: of every document several versions, and the next document beside it.

Documents are seeded: the same seed gives the same pages on every machine.
"""

from __future__ import annotations

import hashlib
import random
import re
from typing import TYPE_CHECKING

from labelled import Labelled, Pair
from pages import Language, Page, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Versions = Iterator[tuple[str, str]]
    """The first version with any label, and others with what they are to it."""
    Risk = Callable[[Site, random.Random, int], Versions]

DOCUMENTS = 8
"""Of a site; five pages must be known before the site's own text is."""
TERMS = 1_500
"""Words that every product page of a shop carries; 80 are its own."""
_ARTICLE = re.compile(r"<article>(.*?)</article>", re.DOTALL)
_NAMES = re.compile(r' (class|id)="([^"]*)"')


def generated(seed: int = 1, *, sites: int = 2, documents: int = DOCUMENTS) -> Labelled:
    """Sites of every risk.

    Args:
        seed: of everything.
        sites: for each risk.
        documents: of a site.
    """
    made = Labelled()
    for group, risk in RISKS.items():
        for number in range(sites):
            name = f"{re.sub('[^a-z]+', '-', group.lower())}-{number}.example"
            site = Site(name, f"{seed} {number}")
            script = SCRIPTS.get(group)
            if script is not None:
                site.language = script(f"{seed} {number}")
            others: list[str] = []
            for document in range(documents):
                versions = risk(site, random.Random(f"{seed} {name} {document}"), document)
                others += _add(made, group, f"{name}/{document}", versions, others)
    return made


def _add(made: Labelled, group: str, document: str, versions: Versions, others: Sequence[str]) -> list[str]:
    """Add a document, of which all versions differ from all ``others``; the names of its versions."""
    names = []
    for version, (label, html) in enumerate(versions):
        name = f"{document}/{version}"
        made.pages[name] = Page(f"https://{name}", html)
        if version:
            made.pairs.append(Pair(names[0], name, label, group))
        made.pairs += [Pair(other, name, "different", group) for other in others]
        names.append(name)
    return names


# ------------------------------------------------------------------------------------ what wraps a text


def advertisements(site: Site, _rng: random.Random, number: int) -> Versions:
    yield "", site.page(number).html
    yield "same", site.page(number, 1).html


def hashed_names(site: Site, rng: random.Random, number: int) -> Versions:
    for label, html in advertisements(site, rng, number):
        yield label, _NAMES.sub(_hashed, html)


def no_names(site: Site, rng: random.Random, number: int) -> Versions:
    for label, html in advertisements(site, rng, number):
        yield label, _NAMES.sub("", html)


def amp(site: Site, _rng: random.Random, number: int) -> Versions:
    page = site.page(number).html
    yield "", page
    head = f'<!doctype html><html amp lang="en"><head><title>{_title(page)}</title></head>'
    body = f'<amp-sidebar id="s"><ul><li><a href="/">{site.menu[0]}</a></li></ul></amp-sidebar>'
    image = '<amp-img src="/a.jpg" width="9" height="9"></amp-img>'
    yield "same", f"{head}<body>{body}<article>{_article(page)}{image}</article></body></html>"


def printed(site: Site, _rng: random.Random, number: int) -> Versions:
    page = site.page(number).html
    yield "", page
    source = f"<p>Printed from https://{site.name}/articles/{number}</p>"
    yield "same", f"<html><head><title>{_title(page)}</title></head><body>{_article(page)}{source}</body></html>"


def feed(site: Site, _rng: random.Random, number: int) -> Versions:
    page = site.page(number).html
    yield "", page
    more = f'<p><a href="https://{site.name}/{number}">{" ".join(site.menu[:2])}</a></p>'
    yield "same", re.sub("<h1>.*?</h1>", "", _article(page)) + more


def cookies(site: Site, rng: random.Random, number: int) -> Versions:
    page = site.page(number).html
    yield "", page
    say = site.language.sentence
    said = " ".join(f"{say(rng, 14)} Cookies {say(rng, 8)}" for _ in range(3))
    notice = f'<div class="x{rng.getrandbits(24):x}"><p>{said}</p></div>'
    yield "same", page.replace("<main>", f"{notice}<main>")


def notice_in_main(site: Site, rng: random.Random, number: int) -> Versions:
    page = site.page(number).html
    yield "", page
    yield "same", page.replace("<article>", f"<article><p>{site.language.sentence(rng, 8)}</p>")


def redesign(site: Site, _rng: random.Random, number: int) -> Versions:
    old = site.page(number).html
    yield "", old
    new = Site(f"new {site.name}").page(number).html
    yield "same", _NAMES.sub(_hashed, _with_article(new, _article(old), _title(old)))


# ------------------------------------------------------------------------------------ what a text is


def shared_prose(site: Site, rng: random.Random, _number: int) -> Versions:
    name = " ".join(site.language.say(rng, 3)).capitalize()
    yield from _with_terms(site, rng, f"<h1>{name}</h1>", name)


def one_title(site: Site, rng: random.Random, _number: int) -> Versions:
    yield from _with_terms(site, rng, "", site.name)


def edits(site: Site, rng: random.Random, number: int) -> Versions:
    page = site.page(number).html
    yield "", page
    yield "same", _edited(page, site.language, rng, 0.03)
    yield "edited", _edited(page, site.language, rng, 0.15)


def tables(site: Site, rng: random.Random, number: int) -> Versions:
    head = "".join(f"<th>{' '.join(site.language.say(random.Random(f'{site.name} {at}'), 2))}</th>" for at in range(6))
    rows = "".join(
        f"<tr><td>{' '.join(site.language.say(rng, 2))}</td>"
        + "".join(f"<td>{rng.randint(0, 99_999) / 100}</td>" for _ in range(5))
        + "</tr>"
        for _ in range(40)
    )
    yield from _wrapped(site, rng, number, "Figures", f"<table><tr>{head}</tr>{rows}</table>")


def code(site: Site, rng: random.Random, number: int) -> Versions:
    parts = []
    for _ in range(8):
        say = site.language.say
        lines = (f"{say(rng, 1)[0]}.{say(rng, 1)[0]}({', '.join(say(rng, 2))})  # {say(rng, 1)[0]}" for _ in range(9))
        parts.append(f"<p>{site.language.sentence(rng, 12)}</p><pre><code>{chr(10).join(lines)}</code></pre>")
    yield from _wrapped(site, rng, number, "Reference", "".join(parts))


def gallery(site: Site, rng: random.Random, number: int) -> Versions:
    figures = (
        f'<figure><img src="/{at}.jpg" alt=""><figcaption>{site.language.sentence(rng, 9)}</figcaption></figure>'
        for at in range(12)
    )
    yield from _wrapped(site, rng, number, "Pictures", "".join(figures))


def questions(site: Site, rng: random.Random, number: int) -> Versions:
    texts = ["".join(f"<p>{site.language.sentence(rng, 25)}</p>" for _ in range(3)) for _ in range(4)]
    name = site.language.sentence(rng, 7)
    for version, label in enumerate(("", "same")):
        seen = random.Random(f"{rng.random()} {version}")
        posts = "".join(
            f'<div class="post"><div class="votes">{seen.randint(0, 99)}</div>{text}'
            f"<span>{seen.randint(2, 59)} min</span></div>"
            for text in texts
        )
        yield label, _with_article(site.page(number, version).html, f"<h1>{name}</h1>{posts}", name)


def calendar(site: Site, rng: random.Random, number: int) -> Versions:
    days = (
        f"<td><b>{day}</b>{f'<p>{site.language.sentence(rng, 6)}</p>' if rng.random() < 0.5 else ''}</td>"
        + ("</tr><tr>" if day % 7 == 0 else "")
        for day in range(1, 31)
    )
    yield from _wrapped(site, rng, number, f"Month {number}", f"<table><tr>{''.join(days)}</tr></table>")


def search_results(site: Site, rng: random.Random, number: int) -> Versions:
    query = " ".join(site.language.say(rng, 2))
    hits = "".join(
        f'<div class="hit"><h3><a href="/{at}">{site.language.sentence(rng, 6)}</a></h3>'
        f"<p>{site.language.sentence(rng, 12)} <em>{query}</em> {site.language.sentence(rng, 10)}</p></div>"
        for at in range(10)
    )
    for version, label in enumerate(("", "same")):
        took = f"<p>10 results for {query} in 0.{rng.randint(10, 99)} s</p>"
        yield label, _with_article(site.page(number, version).html, f"<h1>{query}</h1>{took}{hits}", query)


def tag_listings(site: Site, rng: random.Random, number: int) -> Versions:
    """Posts have several tags: of what a tag lists, half is in the next one's list, too."""
    posts = []
    for at in range(10 * number, 10 * number + 20):
        post = random.Random(f"{site.name} post {at}")
        heading = f'<h2><a href="/p/{at}">{site.language.sentence(post, 7)}</a></h2>'
        posts.append(f"{heading}<p>{site.language.sentence(post, 25)}</p>")
    yield from _wrapped(site, rng, number, " ".join(site.language.say(rng, 1)), "".join(posts))


def next_of_listing(site: Site, rng: random.Random, number: int) -> Versions:
    items = "".join(
        f'<li><a href="/{at}">{site.language.sentence(rng, 9)}</a> {site.language.sentence(rng, 12)}</li>'
        for at in range(20)
    )
    yield from _wrapped(site, rng, number, "All articles", f"<ul>{items}</ul>")


RISKS: dict[str, Risk] = {
    "other advertisements": advertisements,
    "hashed names": hashed_names,
    "no names": no_names,
    "AMP version": amp,
    "print version": printed,
    "HTML of a feed": feed,
    "a notice about cookies": cookies,
    "a notice inside main": notice_in_main,
    "redesign without names": redesign,
    "1,500 words on every page": shared_prose,
    "the same under one title": one_title,
    "3 and 15 % edited": edits,
    "tables": tables,
    "code": code,
    "galleries": gallery,
    "questions and answers": questions,
    "calendars": calendar,
    "search results": search_results,
    "tag listings": tag_listings,
    "pages of a listing": next_of_listing,
    "right to left": advertisements,
    "Thai": advertisements,
    "mixed scripts": advertisements,
}


# ------------------------------------------------------------------------------------ languages


class Script(Language):
    """Made-up words of other letters."""

    letters = ""
    joint = " "

    def __init__(self, seed: object) -> None:
        super().__init__(seed)
        rng = random.Random(f"script {seed}")
        self.words = ["".join(rng.choices(self.letters, k=rng.randint(2, 8))) for _ in self.words]

    def sentence(self, rng: random.Random, count: int) -> str:
        return self.joint.join(self.say(rng, count))


class Hebrew(Script):
    letters = "".join(map(chr, range(0x5D0, 0x5EB)))


class Thai(Script):
    letters = "".join(map(chr, range(0xE01, 0xE2F)))
    joint = ""


class Mixed(Script):
    letters = "abcdefghijklmnop" + "".join(map(chr, range(0x430, 0x450))) + "".join(map(chr, range(0x4E00, 0x4E40)))


SCRIPTS: dict[str, type[Script]] = {"right to left": Hebrew, "Thai": Thai, "mixed scripts": Mixed}


# ------------------------------------------------------------------------------------ pieces of pages


def _with_terms(site: Site, rng: random.Random, heading: str, title: str) -> Versions:
    """A short text above the terms of its shop; the second time with a counter."""
    language, common = site.language, random.Random(f"terms {site.name}")
    terms = "".join(f"<p>{language.sentence(common, 40)}</p>" for _ in range(TERMS // 40))
    own = "".join(f"<p>{language.sentence(rng, 40)}</p>" for _ in range(2))
    for label, seen in (("", ""), ("same", f"<p>{rng.randint(2, 99)} {language.sentence(rng, 6)}</p>")):
        yield label, _with_article(site.page(0).html, f"{heading}{own}{seen}<div>{terms}</div>", title)


def _wrapped(site: Site, rng: random.Random, number: int, name: str, body: str) -> Versions:
    """A text between two sets of advertisements."""
    name = f"{name} {' '.join(site.language.say(rng, 2))}"
    for version, label in enumerate(("", "same")):
        yield label, _with_article(site.page(number, version).html, f"<h1>{name}</h1>{body}", name)


def _article(html: str) -> str:
    found = _ARTICLE.search(html)
    assert found is not None
    return found[1]


def _title(html: str) -> str:
    return html.partition("<title>")[2].partition("</title>")[0]


def _with_article(html: str, article: str, title: str) -> str:
    html = html.replace(f"<title>{_title(html)}</title>", f"<title>{title}</title>")
    return _ARTICLE.sub(lambda _: f"<article>{article}</article>", html)


def _hashed(match: re.Match[str]) -> str:
    names = (hashlib.md5(name.encode()).hexdigest()[:6] for name in match[2].split())
    return f' {match[1]}="{" ".join(f"x{name}" for name in names)}"'


def _edited(html: str, language: Language, rng: random.Random, share: float) -> str:
    """The page with neighbouring words of its article exchanged, some places of them, ``share`` of all in the end."""
    parts = re.split(r"(<[^>]*>)", _article(html))
    left = share * sum(len(part.split()) for part in parts[::2])
    for at in rng.sample(range(0, len(parts), 2), len(parts[::2])):
        said = parts[at].split()
        if left > 0 and len(said) >= 8:
            new = language.say(rng, min(len(said), round(left) + 1))
            parts[at] = " ".join([*new, *said[len(new) :]])
            left -= len(new)
    return _with_article(html, "".join(parts), _title(html))
