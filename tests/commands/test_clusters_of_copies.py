"""What the commands say about clusters in which a better copy took the place of the first page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.command_line import Crawled, perform_here
from helpers.on_asyncio import wait_for
from helpers.pages import page
from helpers.site_server import Site

PATHS = ["/a?from=home", "/a?from=page1", "/a", "/a?from=page2"]
"""In the order in which they are fetched; the third is the best."""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """One content under four URLs."""
    with Site() as site:
        for number, path in enumerate(PATHS):
            site[path] = page("a", number)
        made = Crawled(tmp_path_factory.mktemp("copies"), site)
        wait_for(made.crawl(SIMDEDUP_RUN="monday", SIMDEDUP_PREFER="shorter_url"))
        yield made


def copied(copies: Crawled, directory: Path) -> str:
    store = f"sqlite:///{(directory / 'copy.sqlite').as_posix()}"
    perform_here("import", "-", "--store", store, piped=copies.call("export").out.encode())
    return store


def test_a_cluster_has_an_id_a_size_and_a_representative(copies: Crawled) -> None:
    found = copies.call("clusters", "--json").json
    (cluster,) = found["clusters"]
    assert found["total"] == 1
    assert (cluster["size"], cluster["repeats"]) == (4, 3)
    assert cluster["original"] == copies.site.url(PATHS[0])
    assert cluster["representative"] == copies.site.url(PATHS[2])
    assert {member["url"] for member in cluster["members"]} == set(copies.site.urls(*PATHS)) - {
        cluster["representative"]
    }
    assert len(cluster["id"]) == 12
    text = copies.call("clusters", "--members", 2).out
    assert f"3 × {cluster['representative']}\n" in text
    assert f"cluster {cluster['id']}, 4 pages, first {cluster['original']}\n" in text
    assert "and 1 more" in text


def test_another_store_knows_it_by_the_same_id(copies: Crawled, tmp_path: Path) -> None:
    store = copied(copies, tmp_path)
    assert perform_here("clusters", "--json", "--store", store).json == copies.call("clusters", "--json").json


def test_each_cluster_has_an_id_of_its_own(crawled: Crawled) -> None:
    clusters = crawled.call("clusters", "--json").json["clusters"]
    assert len({cluster["id"] for cluster in clusters}) == len(clusters) == 3
    assert all(cluster["representative"] == cluster["original"] for cluster in clusters)
    assert [cluster["size"] for cluster in clusters] == [5, 3, 2]


def test_the_report_shows_it(copies: Crawled, tmp_path: Path) -> None:
    assert copies.call("report", "-o", tmp_path / "report.html").code == 0
    (cluster,) = copies.call("clusters", "--json").json["clusters"]
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"Cluster {cluster['id']}, 4 pages" in html


def test_explain_says_that_it_took_the_place_of_the_first(copies: Crawled) -> None:
    answer = copies.call("explain", copies.site.url(PATHS[2]))
    assert "kept: it is a better copy of another page, whose place it took; it was delivered" in answer.out
    (found,) = copies.call("explain", copies.site.url(PATHS[3]), "--json").json
    assert found["other"]["url"] == copies.site.url(PATHS[2])


@pytest.mark.parametrize("path", PATHS)
def test_who_forgets_a_page_forgets_its_cluster(copies: Crawled, tmp_path: Path, path: str) -> None:
    """So that whichever of its URLs comes next is kept."""
    store = copied(copies, tmp_path)
    assert perform_here("forget", copies.site.url(path), "--store", store).code == 0
    assert perform_here("clusters", "--json", "--store", store).json["clusters"] == []
    found = perform_here("check", "--json", "--store", store).json
    assert (found["states"], found["orphans"]) == ({}, 0)


def test_a_run_that_is_taken_back_takes_no_better_copy_of_another_with_it(copies: Crawled, tmp_path: Path) -> None:
    """It was delivered, and still stands for its content."""
    lines = [json.loads(line) for line in copies.call("export").out.splitlines()]
    for line in lines[1:]:
        if "url" in line:  # the others say what is known of a site
            line["run"] = "tuesday" if line["url"] == copies.site.url(PATHS[2]) else "monday"
    store = f"sqlite:///{(tmp_path / 'two_runs.sqlite').as_posix()}"
    perform_here("import", "-", "--store", store, piped="\n".join(map(json.dumps, lines)).encode())
    (before,) = perform_here("clusters", "--json", "--store", store).json["clusters"]
    assert perform_here("rollback", "monday", "--store", store).code == 0
    found = perform_here("check", "--json", "--store", store).json
    assert (found["states"], found["orphans"]) == ({"confirmed": 1}, 0)
    answer = perform_here("explain", before["representative"], "--store", store)
    assert "kept: it is a better copy" in answer.out


def test_dedupe_keeps_better_copies_and_says_what_they_supersede(tmp_path: Path) -> None:
    feed = tmp_path / "feed.jsonl"
    urls = [f"http://a.example{path}" for path in PATHS]
    canonical = '<link rel="canonical" href="/a"><title>'
    lines = [{"url": url, "html": page("a", url).replace("<title>", canonical)} for url in urls]
    feed.write_text("".join(json.dumps(line) + "\n" for line in lines))
    verdicts = tmp_path / "verdicts.jsonl"
    options = "--verdicts", verdicts, "-o", tmp_path / "kept.jsonl"
    assert perform_here("dedupe", feed, *options, "-s", "SIMDEDUP_PREFER=canonical").code == 0
    found = [json.loads(line) for line in verdicts.read_text().splitlines()]
    assert [verdict["supersedes"] for verdict in found] == [None, None, urls[0], None]
    assert [verdict["is_duplicate"] for verdict in found] == [False, True, False, True]
