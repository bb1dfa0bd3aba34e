"""What ``compare``, ``explain``, ``similar``, ``clusters`` and ``check`` say about a real crawl."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import REPEATS, Crawled, perform_here, simdedup, stored, with_store
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from helpers.site_server import Site
from scrapy_simdedup import compare_pages
from scrapy_simdedup.detect.events import COMPARED_JOURNAL, PageCompared


def note_compared(crawled: Crawled, url: str, **values: Any) -> None:
    """Let the store know what a run would have noted of one of its pages, were its text so."""
    ((site, record),) = [(site, record) for site, record in stored(crawled.store) if record.url == url]
    event = PageCompared(
        site=site,
        run=record.run,
        at=record.last_seen,
        url=url,
        key=record.key,
        original=crawled.url("a"),
        similarity=0.97,
        **values,
    )

    with_store(crawled.store, lambda store: store.put_note(COMPARED_JOURNAL, record.key, bytes(event)))


@pytest.mark.slow
class TestCompare:
    def test_tells_how_alike_two_files_are_and_what_differs(self, tmp_path: Path) -> None:
        (tmp_path / "a.html").write_text(page("a", 1))
        (tmp_path / "b.html").write_text(
            page("a", 2).replace("<title>", "<title>Newly ").replace("<h1>", "<h2>Newly</h2><h1>")
        )
        answer = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html")
        first, *lines = answer.out.splitlines()
        assert answer.code == 0
        assert first.startswith("identical: similarity 0.9")
        assert lines[0].startswith("Their headlines differ, so it also weighs"), "two pages cannot tell everything"
        assert "  [content]" in lines, "what differs is said with the part of the page that it is in"
        assert any(line.startswith("  boilerplate, folded: ") and "2 lines of footer" in line for line in lines)
        assert "+    1  Newly" in lines, "the blocks that decide are shown, with their weight"
        assert any(line.startswith("- 0.02  boilerplate, folded: ") for line in lines)

    def test_says_that_a_name_may_keep_pages_whose_headlines_are_those_of_the_whole_site(self, tmp_path: Path) -> None:
        description = "".join(f"<p>{' '.join(words(('description', part), 60))}</p>" for part in range(3))
        for name, product in (("a", "Amber lamp"), ("b", "Brass candle")):
            (tmp_path / f"{name}.html").write_text(f"<title>Shop</title><div><p>{product}</p>{description}</div>")
        lines = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html").out.splitlines()
        assert lines[0].endswith("a crawl would drop the later one")
        assert lines[1].startswith("Their headlines are the same. If most of the site has them, a name")

    def test_says_in_which_direction_text_would_be_lost(self, tmp_path: Path) -> None:
        comment = "And this is what a reader of the page had to say about all of it"
        (tmp_path / "a.html").write_text(page("a", 1))
        (tmp_path / "b.html").write_text(page("a", 2).replace("</article>", f"<p>{comment}</p></article>"))
        lines = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html").out.splitlines()
        assert "Without - a crawl loses nothing; without + a crawl loses 16 words, 16 of them in one line." in lines
        assert f"  + {comment}" in lines
        lines = perform_here("compare", tmp_path / "b.html", tmp_path / "a.html").out.splitlines()
        assert "Without - a crawl loses 16 words, 16 of them in one line; without + a crawl loses nothing." in lines
        found = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html", "--json").json
        (line,) = [line for line in found["own_lines"][1] if line[0] == "content"]
        assert line == ["content", comment, 16, 16]

    def test_text_that_stands_elsewhere_is_not_lost(self, tmp_path: Path) -> None:
        first, second, *_ = re.findall("<p>.*</p>", prose("a"))
        turned = page("a", 1).replace(first, "").replace(second, f"{second}{first}")
        (tmp_path / "a.html").write_text(page("a", 1))
        (tmp_path / "b.html").write_text(turned)
        out = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html").out
        assert "Without - a crawl loses nothing; without + a crawl loses nothing." in out
        assert "lines of words that the other page has elsewhere" in out

    def test_a_long_text_is_shown_around_the_words_that_differ(self, tmp_path: Path) -> None:
        text = [f"word{number}" for number in range(900)]
        for name, word in ("a", "red"), ("b", "blue"):
            (tmp_path / f"{name}.html").write_text(f"<pre>{' '.join([*text[:600], word, *text[600:]])}</pre>")
        out = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html").out
        around = [" ".join(text[588:600]), " ".join(text[600:612])]
        assert f"  - (1 of 901 words) … {around[0]} red {around[1]} …\n" in out
        assert f"  + (1 of 901 words) … {around[0]} blue {around[1]} …\n" in out
        assert max(map(len, out.splitlines())) <= 400

    def test_a_price_is_words_that_the_other_page_lacks(self, tmp_path: Path) -> None:
        for name, price in ("a", "29 EUR"), ("b", "sold out"):
            html = page("a", 1).replace("</article>", f"<p>{price}</p><p>The price today is {price}</p></article>")
            (tmp_path / f"{name}.html").write_text(html)
        out = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html").out
        assert "  - 29 EUR\n  + sold out\n" in out
        assert "  - (2 of 6 words) The price today is 29 EUR\n" in out
        assert "Without - a crawl loses 4 words, 2 of them in one line; without + a crawl loses 4 words" in out

    def test_says_that_pages_with_different_headlines_are_two(self, tmp_path: Path) -> None:
        (tmp_path / "a.html").write_text(page("a", 1))
        (tmp_path / "b.html").write_text(page("a", 2).replace("<h1>", "<h1>Newly "))
        answer = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html")
        assert answer.code == 1
        assert answer.out.splitlines()[1] == "Their h1s differ, so they count as two pages, however alike."

    def test_says_no_where_pages_are_not_identical(self, tmp_path: Path) -> None:
        (tmp_path / "a.html").write_text(page("a"))
        (tmp_path / "b.html").write_text(page("b"))
        answer = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html", "--json")
        assert answer.code == 1
        assert answer.json["kind"] == "different"
        assert answer.json["one"]["lines"][0][0] != "content"
        assert answer.json["one"]["lines"][0][2] == 0.02
        assert answer.json["one"]["words_by_role"]["content"] > 200

    def test_says_that_short_pages_cannot_be_judged(self, tmp_path: Path) -> None:
        """Also where they are the same: a crawl keeps them, and nobody can say that they differ."""
        for name in ("a.html", "b.html"):
            (tmp_path / name).write_text("<p>One two three four five")
        answer = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html")
        assert answer.code == 1
        why = "has 3 distinct shingles, too few to judge: 20 are needed"
        assert answer.out.splitlines()[0] == f"unjudged: each {why}; a crawl would keep both"
        (tmp_path / "b.html").write_text("<p>One two three four")
        answer = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html")
        few = why.replace("3 distinct shingles", "2 distinct shingles")
        first = f"unjudged: {tmp_path}/a.html {why}; {tmp_path}/b.html {few}; a crawl would keep both"
        assert answer.out.splitlines()[0] == first
        found = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html", "--json").json
        assert (found["kind"], found["similarity"], found["distance"]) == ("unjudged", None, None)
        assert repr(compare_pages("<p>Hello", "<p>Hello")).startswith(
            "<PageComparison unjudged, each has 1 distinct shingle,"
        )
        assert "too few to judge" in compare_pages("<p>Hello", "<p>Hello")._repr_html_()

    def test_takes_what_is_too_big_by_its_bytes(self, tmp_path: Path) -> None:
        for name in ("a.html", "b.html"):
            (tmp_path / name).write_text(page("a") + "x" * 2_000)
        (tmp_path / "c.html").write_text(page("c") + "x" * 2_000)
        small = ("-s", "SIMDEDUP_MAX_PAGE_BYTES=1000")
        answer = perform_here("compare", tmp_path / "a.html", tmp_path / "b.html", *small)
        assert answer.out.startswith("identical: similarity 1.000")
        answer = perform_here("compare", tmp_path / "a.html", tmp_path / "c.html", *small)
        assert answer.out.startswith("unjudged: each has more characters than are read; ")

    def test_reads_what_is_piped_in_and_fetches_urls(self, crawled: Crawled) -> None:
        answer = simdedup(
            *("compare", "-", crawled.url("a", 3), "--json"), cwd=crawled.directory, piped=page("a", 9).encode()
        )
        assert (answer.code, answer.json["kind"]) == (0, "identical"), answer.err

    def test_says_why_a_url_cannot_be_fetched(self, crawled: Crawled) -> None:
        answer = simdedup("compare", crawled.url("a"), crawled.site.url("/gone"), cwd=crawled.directory)
        assert answer.code == 2
        assert answer.err.endswith("/gone could not be fetched: answered with status 404\n")

    def test_leaves_the_project_s_store_alone(self, crawled: Crawled) -> None:
        settings = f"SIMDEDUP_STORE={crawled.store}", 'ADDONS={"scrapy_simdedup.Addon": 500}'
        before = stored(crawled.store)
        pages = crawled.url("a"), crawled.url("b")
        options = [word for setting in settings for word in ("-s", setting)]
        answer = simdedup("compare", *pages, *options, cwd=crawled.directory)
        assert answer.out.startswith("different: "), answer.err
        assert stored(crawled.store) == before


class TestExplain:
    def test_names_the_original_of_every_repeat(self, crawled: Crawled) -> None:
        for name, repeats in REPEATS.items():
            for number in range(1, repeats + 1):
                answer = crawled.call("explain", crawled.url(name, number), "--json")
                (found,) = answer.json
                assert (answer.code, found["dropped"], found["run"]) == (0, True, "monday")
                assert found["other"]["url"] == crawled.url(name)
                assert found["similarity"] >= 0.95

    def test_says_why_and_when(self, crawled: Crawled) -> None:
        answer = crawled.call("explain", crawled.url("b", 1))
        assert f"dropped: it repeats {crawled.url('b')}, with a similarity of 0.99" in answer.out
        assert "run monday; first seen 20" in answer.out
        assert "fetched once, its content never changed" in answer.out

    def test_says_the_threshold_of_its_kind_of_page(self, crawled: Crawled) -> None:
        own = 'SIMDEDUP_SITE_SETTINGS={"127.0.0.1": {"identical": 0.91}, "127.0.0.1/b?v=1": {"identical": 0.9}}'
        for number, threshold in (1, "0.9"), (2, "0.91"):
            answer = crawled.call("explain", crawled.url("b", number), "-s", own)
            assert f"from SIMDEDUP_IDENTICAL = {threshold} on" in answer.out

    def test_says_why_a_page_was_kept(self, crawled: Crawled) -> None:
        assert (
            "kept: nothing on its site was like it; it was delivered" in crawled.call("explain", crawled.url("a")).out
        )
        assert "it could not be judged (too_short)" in crawled.call("explain", crawled.url("short")).out

    def test_names_the_page_that_a_near_duplicate_is_most_like(self, crawled: Crawled) -> None:
        answer = crawled.call("explain", crawled.url("like-a"))
        assert "kept: it is merely similar to another page" in answer.out
        assert f"most like: {crawled.url('a')}" in answer.out

    def test_says_what_kept_a_near_page(self, crawled: Crawled) -> None:
        answer = crawled.call("explain", crawled.url("like-a"))
        assert "kept by its similarity, which is too low" in answer.out
        (found,) = crawled.call("explain", crawled.url("like-a"), "--json").json
        assert (found["kept_by"], found["other"]["url"]) == ("its similarity, which is too low", crawled.url("a"))

    def test_says_what_a_page_has_of_its_own(self, crawled: Crawled, tmp_path: Path) -> None:
        shutil.copytree(crawled.directory, tmp_path, dirs_exist_ok=True)
        copied = replace(crawled, directory=tmp_path)
        note_compared(copied, crawled.url("like-a"), reason="own_text", own_words=23, dropped=False)
        note_compared(copied, crawled.url("b", 1), reason=None, own_words=7, dropped=True)
        kept, dropped = (copied.call("explain", url).out for url in (crawled.url("like-a"), crawled.url("b", 1)))
        assert "kept: it says what the page that it is like does not; it was delivered" in kept
        assert "kept by own text: 23 words in one place that its original lacks" in kept
        assert "of its own it had 7 words" in dropped
        assert "of its own it had nothing that was noted" in copied.call("explain", crawled.url("b", 2)).out
        (found,) = copied.call("explain", crawled.url("b", 1), "--json").json
        assert (found["own_words"], found["kept_by"]) == (7, None)

    def test_names_stored_pages_that_begin_alike(self, crawled: Crawled) -> None:
        """As where the URL is written without its session id."""
        answer = crawled.call("explain", crawled.site.url("/b"))
        assert answer.code == 1
        likely = " or ".join(crawled.url("b", number) for number in (2, 1, 0))
        assert answer.err.endswith(f"went to another store; did you mean {likely}?\n")
        assert "did you mean" not in crawled.call("explain", crawled.site.url("/nowhere")).err

    @pytest.mark.parametrize("scheme", ["", "https://"])
    def test_names_the_page_where_the_scheme_is_another(self, scheme: str, crawled: Crawled) -> None:
        url = crawled.url("b")
        answer = crawled.call("explain", scheme + url.partition("://")[2])
        assert f"did you mean {url} or " in answer.err

    def test_says_no_about_a_page_that_never_came_by(self, crawled: Crawled) -> None:
        answer = crawled.call("explain", crawled.site.url("/never"))
        assert (answer.code, answer.out) == (1, "")
        assert "is not in the store" in answer.err


class TestSimilar:
    def test_lists_the_repeats_of_a_stored_page_first(self, crawled: Crawled) -> None:
        answer = crawled.call("similar", crawled.url("a", 2), "--json", "-n", REPEATS["a"])
        assert answer.code == 0
        assert {found["url"] for found in answer.json} == {crawled.url("a", n) for n in range(5)} - {
            crawled.url("a", 2)
        }
        assert all(found["similarity"] > 0.95 for found in answer.json)

    def test_says_no_where_nothing_is_near_for_its_kind_of_page(self, crawled: Crawled) -> None:
        assert crawled.call("similar", crawled.url("like-a")).code == 0
        for pattern, code in ("/like-a", 1), ("/a", 0):
            own = json.dumps({pattern: {"near": 0.95}})
            assert crawled.call("similar", crawled.url("like-a"), "-s", f"SIMDEDUP_SITE_SETTINGS={own}").code == code

    def test_reads_a_file_under_the_store_s_secret(self, crawled: Crawled, tmp_path: Path) -> None:
        file = tmp_path / "page.html"
        file.write_text(page("c", 77))
        answer = crawled.call("similar", file)
        first = answer.out.splitlines()[1]
        assert answer.code == 0
        assert first.split()[-1] in {crawled.url("c"), crawled.url("c", 1)}

    def test_says_no_where_nothing_is_near(self, crawled: Crawled, tmp_path: Path) -> None:
        file = tmp_path / "page.html"
        file.write_text(page("nothing like it"))
        assert crawled.call("similar", file).code == 1

    def test_says_that_a_page_without_text_is_like_no_other(self, crawled: Crawled, tmp_path: Path) -> None:
        file = tmp_path / "page.html"
        file.write_text("<p>Hello")
        answer = crawled.call("similar", file)
        assert answer.code == 2
        assert "it is unjudged (too_short)" in answer.err


class TestOtherScopes:
    def test_a_page_is_found_whatever_the_crawl_called_its_site(self, tmp_path: Path) -> None:
        feed, store = tmp_path / "feed.jsonl", f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
        urls = ["http://a.example/", "http://b.example/"]
        feed.write_text("".join(json.dumps({"url": url, "html": page("a", url)}) + "\n" for url in urls))
        perform_here("dedupe", feed, "--store", store, "-s", "SIMDEDUP_SCOPE=all")
        (explained,) = perform_here("explain", urls[1], "--store", store, "--json").json
        assert (explained["dropped"], explained["other"]["url"]) == (True, urls[0])
        (found,) = perform_here("similar", urls[0], "--store", store, "--json").json
        assert found["url"] == urls[1]


class TestClusters:
    def test_lists_the_originals_with_the_most_repeats_first(self, crawled: Crawled) -> None:
        found = crawled.call("clusters", "--json").json
        assert found["total"] == len(REPEATS)
        assert [(c["original"], c["repeats"]) for c in found["clusters"]] == [
            (crawled.url(name), repeats) for name, repeats in REPEATS.items()
        ]

    def test_shows_some_members_and_says_how_many_there_are(self, crawled: Crawled) -> None:
        answer = crawled.call("clusters", "-n", 1, "--members", 3)
        assert f"4 × {crawled.url('a')}" in answer.out
        assert "  and 1 more" in answer.out
        assert crawled.url("b") not in answer.out

    def test_says_no_about_a_site_without_repeats(self, crawled: Crawled) -> None:
        answer = crawled.call("clusters", "--site", "other.example")
        assert (answer.code, answer.out) == (1, "No page is repeated.\n")

    def test_lists_near_pages_with_what_kept_them(self, crawled: Crawled) -> None:
        found = crawled.call("clusters", "--near", "--json").json
        (near,) = found["near"]
        assert (found["total"], near["url"], near["original"]) == (1, crawled.url("like-a"), crawled.url("a"))
        assert 0.85 <= near["similarity"] < 0.95
        assert near["kept_by"] == "its similarity, which is too low"
        answer = crawled.call("clusters", "--near")
        assert answer.out.startswith(f"1 page kept that is near another\n\n{crawled.url('like-a')}\n  0.")
        answer = crawled.call("clusters", "--near", "--site", "other.example")
        assert (answer.code, answer.out) == (1, "No page that was kept is near another.\n")

    def test_lists_those_that_are_kept_for_their_own_text_first(self, crawled: Crawled, tmp_path: Path) -> None:
        shutil.copytree(crawled.directory, tmp_path, dirs_exist_ok=True)
        copied = replace(crawled, directory=tmp_path)
        note_compared(copied, crawled.url("b"), reason="own_text", own_words=23, dropped=False)
        found = copied.call("clusters", "--near", "-n", 1, "--json").json
        (near,) = found["near"]
        assert (found["total"], near["url"], near["own_words"]) == (2, crawled.url("b"), 23)
        answer = copied.call("clusters", "--near", "-n", 1)
        assert answer.out.startswith("2 pages kept that are near another; the 1 most similar:\n")
        assert "  kept by own text: 23 words in one place that its original lacks" in answer.out
        report = perform_here("report", "--json", "--store", copied.store).json
        assert [(page["url"], page["own_words"]) for page in report["near_pages"]] == [
            (crawled.url("b"), 23),
            (crawled.url("like-a"), report["near_pages"][1]["own_words"]),
        ]

    @on_asyncio
    async def test_says_that_twins_are_kept_by_what_makes_them_two(self, tmp_path: Path) -> None:
        with Site() as site:
            shop = Crawled(tmp_path, site)
            for number in range(6):
                site[f"/other/{number}"] = page(number)
            for size in "24", "28":
                site[f"/pan/{size}"] = re.sub("<h1>.*</h1>", f"<h1>Pan {size} cm</h1>", page("pan"))
            await shop.crawl()
            (near,) = shop.call("clusters", "--near", "--json").json["near"]
            assert (near["url"], near["original"]) == (site.url("/pan/28"), site.url("/pan/24"))
            assert near["kept_by"] == "another h1"
            assert "kept by another h1" in shop.call("explain", site.url("/pan/28")).out


class TestCheck:
    def test_counts_what_is_in_the_store(self, crawled: Crawled) -> None:
        answer = crawled.call("check", "--json")
        assert answer.code == 0
        assert (answer.json["pages"], answer.json["sites"], answer.json["orphans"]) == (12, 1, 0)
        assert answer.json["states"] == {"confirmed": 5, "duplicate": 7}
        assert answer.json["runs"] == {"monday": 12}

    def test_says_no_about_a_store_with_records_that_nobody_can_read(self, crawled: Crawled, tmp_path: Path) -> None:
        path = tmp_path / "copy.sqlite"
        copy = f"sqlite:///{path.as_posix()}"
        perform_here("import", "-", "--store", copy, piped=crawled.call("export").out.encode())
        with closing(sqlite3.connect(path)) as file, file:
            file.execute("UPDATE page SET fingerprint = x'ff' WHERE id = 1")
        answer = perform_here("check", "--store", copy)
        assert answer.code == 1
        assert "1 records hold no fingerprint of this version" in answer.out

    def test_says_that_a_damaged_file_is_damaged(self, tmp_path: Path) -> None:
        (tmp_path / "pages.sqlite").write_bytes(b"no database " * 1000)
        answer = perform_here("check", "--store", f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}")
        assert answer.code == 2
        assert "file is not a database" in answer.err
