"""A page that says what its original does not is kept, and it is said everywhere what kept it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import Crawled, perform_here
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, words
from helpers.site_server import Site

COMMENT = " ".join(words("what a reader says", 60)).capitalize()


def commented() -> str:
    """The article again, with a reader's comment where comments stand."""
    comments = f'<section class="comments"><p>{COMMENT}</p></section>'
    return page("a").replace("</article>", f"</article>{comments}")


def printed() -> str:
    """The article again, without what stands around it."""
    return re.sub("<(nav|aside|footer).*</.*>", "", page("a"))


@on_asyncio
async def test_a_comment_keeps_a_page_and_a_print_view_has_nothing_of_its_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Site() as site:
        for number in range(8):  # so that it is known what the site repeats
            site[f"/{number}"] = page(number)
        site["/a"], site["/a?print=1"], site["/a?comments=1"] = page("a"), printed(), commented()
        blog, feed = Crawled(tmp_path, site), tmp_path / "dropped.jl"
        written = {"SIMDEDUP_DROPPED_FEED": str(feed), "SIMDEDUP_REPORT": str(tmp_path / "report.json")}
        done = await blog.crawl(**written, SIMDEDUP_SECRET="known", LOG_LEVEL="INFO")
        assert done.stat("pages/kept_reason_count/own_text") == 1
        assert site.url("/a?comments=1") in done.urls
        assert "  1 near page kept for text of its own\n" in caplog.text
        (dropped,) = [json.loads(line) for line in feed.read_text().splitlines()]
        assert (dropped["url"], dropped["own_words"]) == (site.url("/a?print=1"), 0)
        (near,) = blog.call("clusters", "--near", "--json").json["near"]
        assert (near["url"], near["original"]) == (site.url("/a?comments=1"), site.url("/a"))
        assert 40 <= near["own_words"] <= 62, "it is an estimate"
        explained = blog.call("explain", site.url("/a?comments=1")).out
        assert "kept: it says what the page that it is like does not" in explained
        assert f"kept by own text: {near['own_words']} words" in explained
        report: Any = json.loads((tmp_path / "report.json").read_text())
        assert [shown["url"] for shown in report["near_pages"]] == [site.url("/a?comments=1")]
        assert [shown["own_words"] for shown in report["audit"]] == [0]


def test_compare_says_which_of_two_pages_would_be_dropped(tmp_path: Path) -> None:
    one, other = tmp_path / "article.html", tmp_path / "longer.html"
    one.write_text(page("a", 1, count=800))
    other.write_text(page("a", 2, count=800).replace("</article>", f"<p>{COMMENT}</p></article>"))
    answer = perform_here("compare", one, other)
    assert answer.code == 1
    assert answer.out.startswith("near: similarity 0.9")
    assert "a crawl would drop - if it comes after +, and keep both if + comes later\n" in answer.out
    assert "without + a crawl loses 60 words, 60 of them in one line." in answer.out
    loose = perform_here("compare", one, other, "-s", "SIMDEDUP_NOVEL_WORDS=None")
    assert loose.out.startswith("identical: similarity 0.9")
    assert "a crawl would drop the later one\n" in loose.out
