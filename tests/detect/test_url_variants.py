"""Pages whose URLs differ in one place: where most of them say different things, less text of its own keeps a page."""

from __future__ import annotations

import pytest

from helpers.pages import words
from scrapy_simdedup import DedupSettings
from scrapy_simdedup.detect.site_judge import SiteJudge
from scrapy_simdedup.detect.site_novelty import MAX_PLACES, MAX_VALUES, UrlVariants

SITE = "http://book.example"
LANGUAGES = ["en", "de", "fr", "hr"]


def said(about: object, count: int) -> str:
    return " ".join(words(about, count))


def chapter(number: int, language: str, *, translated: bool, own: str = "") -> str:
    """A chapter in English, but for what was translated."""
    text = "".join(f"<p>{said((number, part, translated and language), 50)}</p>" for part in range(6))
    title, book = said((number, "title"), 4), said((language, "book"), 3)
    return f"<title>{title}</title><main><p>{book}</p><h1>{title}</h1>{own}{text}</main>"


def judged(pages: dict[str, str]) -> dict[str, bool]:
    """By URL, whether each page is dropped."""
    judge = SiteJudge(DedupSettings(), b"secret", "run")
    judge.begin("book.example")
    fetched = enumerate(pages.items())
    found = {}
    for time, (url, html) in fetched:
        fp = judge.fingerprint(html, url=url)
        found[url] = judge.judge(fp, url=url, key=url.encode(), time=float(time)).is_duplicate
    return found


def book(url: str, *, translated: bool) -> dict[str, str]:
    """A book in four languages; one chapter of it has nothing but two headings in Croatian, one not even these."""
    pages = {
        SITE + url.format(language=language, number=number): chapter(
            number, language, translated=translated and language != "en"
        )
        for number in range(20)
        for language in LANGUAGES
    }
    captions = "".join(f"<h2>{said(('caption', number), 3)}</h2>" for number in range(2))
    for number, own in ((50, captions), (51, "")):
        for language in "en", "hr":
            html = chapter(number, language, translated=False, own=own if language == "hr" else "")
            pages[SITE + url.format(language=language, number=number)] = html
    return pages


@pytest.mark.parametrize("url", ["/{language}/chapter-{number}.html", "/chapter-{number}?lang={language}"])
def test_two_headings_keep_a_page_where_its_place_tells_contents_apart(url: str) -> None:
    dropped = judged(book(url, translated=True))
    assert [at for at, is_dropped in dropped.items() if is_dropped] == [SITE + url.format(language="hr", number=51)]


@pytest.mark.parametrize("url", ["/{language}/chapter-{number}.html", "/chapter-{number}?lang={language}"])
def test_they_keep_none_where_the_place_never_mattered(url: str) -> None:
    """A session, a print view, where a visitor comes from."""
    dropped = judged(book(url, translated=False))
    assert sum(dropped.values()) == 20 * (len(LANGUAGES) - 1) + 2


def test_a_slug_tells_nothing_however_different_the_pages_are() -> None:
    variants = UrlVariants()
    for month in range(12):
        for day in range(5):
            variants.kept(f"{SITE}/2026/{month}/story-{month}-{day}")
    assert not variants.tell_apart(f"{SITE}/2026/3/story-3-1", [f"{SITE}/2026/3/story-3-2"])


def test_a_place_tells_nothing_where_most_variants_were_dropped() -> None:
    variants = UrlVariants()
    for number in range(20):
        variants.kept(f"{SITE}/{number}?size=S")
        if number < 8:
            variants.kept(f"{SITE}/{number}?size=M")
    sizes = f"{SITE}/1?size=L", [f"{SITE}/1?size=S"]
    assert variants.tell_apart(*sizes)
    for number in range(8, 20):
        variants.dropped(f"{SITE}/{number}?size=M", f"{SITE}/{number}?size=S")
    assert not variants.tell_apart(*sizes)


def test_versions_of_one_page_are_no_variants_of_each_other() -> None:
    """As where each run is compared with those before, and pages change."""
    variants = UrlVariants()
    for _ in range(3):
        for number in range(20):
            variants.kept(f"{SITE}/{number}?size=S")
            variants.dropped(f"{SITE}/{number}?size=M", f"{SITE}/{number}?size=S")
    assert not variants.tell_apart(f"{SITE}/1?size=M", [f"{SITE}/1?size=S"])


def test_two_places_at_once_are_no_variants() -> None:
    variants = UrlVariants()
    for number in range(20):
        for language in LANGUAGES:
            variants.kept(f"{SITE}/{language}/{number}")
    assert variants.tell_apart(f"{SITE}/en/3", [f"{SITE}/hr/3"])
    assert not variants.tell_apart(f"{SITE}/en/3", [f"{SITE}/hr/4"])
    assert not variants.tell_apart(f"{SITE}/en/3", [f"{SITE}/en/3/print"])
    assert not variants.tell_apart(f"{SITE}/en/3", [f"{SITE}/en/3"])


def test_what_is_known_of_a_site_is_bounded() -> None:
    variants = UrlVariants()
    for number in range(2_000):
        variants.kept(f"{SITE}/{number}/{number % 7}/x?session={number}&p{number}=1")
    assert variants.size < MAX_PLACES * 60_000
    assert not variants.tell_apart(f"{SITE}/1/1/x?session=1", [f"{SITE}/1/1/x?session={MAX_VALUES}"])
    variants.kept("http://[broken")
    variants.kept(SITE + "/" + 3_000 * "x")
