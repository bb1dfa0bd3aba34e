"""With Readability, what lies outside of the main content is no longer firm."""

from __future__ import annotations

import pytest

from helpers.pages import prose, words
from scrapy_simdedup.page import main_content
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Page, read_page

ARTICLE = f"<div class=content><h1>Headline</h1>{prose('article', 300)}</div><div class=footer>Imprint</div>"
TEASERS = "<div>" + "".join(f"<div><p>{' '.join(words(n, 9))}</p></div>" for n in range(3)) + "</div>"


def kinds(html: str) -> dict[str, BlockClass]:
    """The kind of each block, by its text."""
    return {block.text: block.block_class for block in read_page(html, extractor="readability").blocks}


def test_the_main_content_stays_firm_and_other_paragraphs_become_loose() -> None:
    """Teasers of other articles are paragraphs too, and say less about the page."""
    roles = {block.text: block.block_class for block in read_page(ARTICLE + TEASERS).blocks}
    found = kinds(ARTICLE + TEASERS)
    teasers = [" ".join(words(n, 9)) for n in range(3)]
    assert {roles[teaser] for teaser in teasers} == {BlockClass.CONTENT}
    assert {found[teaser] for teaser in teasers} == {BlockClass.UNMARKED}
    assert {kind for text, kind in found.items() if text not in (*teasers, "Imprint")} == {BlockClass.CONTENT}


def test_nothing_rises() -> None:
    """What roles call frame or loose stays so, also inside of the main content."""
    html = ARTICLE.replace("</div>", "<div>Loose text</div><aside>Aside</aside></div>", 1) + "<nav>Menu</nav>"
    before = {block.text: block.block_class for block in read_page(html).blocks}
    assert all(kind <= before[text] for text, kind in kinds(html).items())
    assert kinds(html)["Menu"] is kinds(html)["Aside"] is BlockClass.BOILERPLATE


def test_only_letters_are_compared() -> None:
    """Readability cuts and joins blocks: text beside inline elements becomes paragraphs of its own."""
    inline = f"<div>{' '.join(words(1, 30))} <b>bold</b> <a href=/x/y>link</a> tail<p>more</p></div>"
    html = ARTICLE.replace("class=content", "class=content role=main").replace("</h1>", f"</h1>{inline}")
    assert kinds(html)[f"{' '.join(words(1, 30))} bold link tail"] is BlockClass.CONTENT


def test_where_the_text_under_the_headline_is_not_found_the_kinds_stay() -> None:
    """The terms that every page of a shop carries may be longer than what the page is about."""
    html = f"<h1>Product</h1><div><p>{' '.join(words('own', 30))}</p></div><div>{prose('terms', 600)}</div>"
    assert read_page(html, extractor="readability") == read_page(html)


@pytest.mark.parametrize("problem", ["error", "effort"])
def test_where_it_fails_or_would_take_too_long_the_kinds_stay(
    problem: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An error must not cost the page its fingerprint."""

    def fail(_: object) -> Page:
        raise RuntimeError("a bug of ours")

    if problem == "error":
        monkeypatch.setattr(main_content, "main_content", fail)
    else:
        monkeypatch.setattr(main_content, "MAX_MATCHING_COST", 1_000)
    html = ARTICLE + TEASERS
    assert read_page(html, extractor="readability") == read_page(html)
    assert ("a bug of ours" in caplog.text) == (problem == "error")


@pytest.mark.parametrize("html", ["<p>word</p>", "<nav>Menu</nav>", "<div>word</div>", "<title>T</title>"])
def test_pages_with_next_to_nothing(html: str) -> None:
    """All that there is stays what it is."""
    assert read_page(html, extractor="readability") == read_page(html)
