"""Text in ``<noscript>`` is read where it is the page, and nowhere else."""

from __future__ import annotations

import pytest

from helpers.pages import prose, words
from scrapy_simdedup import fingerprint_page, page_markdown
from scrapy_simdedup.page.page import read_page

SCRIPTS = "<section id='main'></section><script src='/app.js'></script>"
PLEA = "<p>You need to enable JavaScript to run this app. In the settings of the browser, look for JavaScript.</p>"


def forum(seed: object, count: int = 120) -> str:
    """A page as Discourse serves it: scripts for readers, the posts of the topic for search engines."""
    return f"""<html><head><title>Topic {seed}</title></head><body>{SCRIPTS}
    <noscript data-path="/t/{seed}"><header><a href="/">Forum</a></header>
    <div id="main-outlet" role="main"><h1>Topic {seed}</h1><div class="topic-body">{prose(seed, count)}</div></div>
    <footer><p>Powered by Discourse, best viewed with JavaScript enabled</p></footer></noscript></body></html>"""


def texts(html: str) -> str:
    return " ".join(block.text for block in read_page(html).blocks)


def test_a_forum_that_scripts_build_is_read() -> None:
    """For its Markdown, too."""
    page = read_page(forum("one"))
    assert page.unjudged is None
    assert page.h1 == "Topic one"
    assert words("one", 120)[-1] in page_markdown(forum("one"))


def test_topics_of_such_a_forum_are_told_apart() -> None:
    one, again, other = map(fingerprint_page, (forum(1), forum(1).replace("/app.js", "/app-2.js"), forum(2)))
    assert one.compare(again).kind == "identical"
    assert one.compare(other).kind == "different"


@pytest.mark.parametrize(
    "html",
    [
        SCRIPTS + f"<noscript>{PLEA}</noscript>",
        SCRIPTS + f"<noscript><main><h1>No scripts</h1>{PLEA * 12}</main></noscript>",
        SCRIPTS + "<noscript><img src=/pixel.gif><iframe src=/tags></iframe></noscript>",
        f"<main>{prose('a')}</main><noscript><article>{prose('b', 90)}</article></noscript>",
        f"<p>Some more of it.</p><noscript>{prose('b', 30)}</noscript>",
    ],
)
def test_what_stands_in_for_scripts_stays_out(html: str) -> None:
    """Pleas, pixels, and what repeats a part of a page that has a text of its own."""
    assert texts(html) == texts(html.partition("<noscript>")[0])


def test_a_plea_makes_no_two_pages_one() -> None:
    """An application says the same on each of its pages."""
    one, other = (fingerprint_page(f"<title>{name}</title>{SCRIPTS}<noscript>{PLEA * 5}</noscript>") for name in "ab")
    assert one.compare(other).kind == "different"
