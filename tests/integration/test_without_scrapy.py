"""Other crawlers get the verdicts of a crawl, as the guide shows it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import in_a_thread
from helpers.documents import ROOT, blocks_of
from helpers.pages import page
from helpers.site_server import Site

GUIDE = ROOT / "docs" / "guides" / "without-scrapy.md"
EXAMPLES = {block.file: block.text for block in blocks_of(GUIDE) if block.file}
CONTENTS = ("kettle", "lamp", "tent")


def crawl_of(example: str) -> Any:
    """The function ``crawl`` of one of the guide's files."""
    names: dict[str, Any] = {}
    exec(compile(EXAMPLES[example], example, "exec"), names)
    return names["crawl"]


@pytest.fixture
def urls(site: Site) -> list[str]:
    """Three contents under three URLs each, and error pages that are all alike."""
    paths = [f"/{name}{end}" for name in CONTENTS for end in ("", "?print=1", "?session=7f3a")]
    for path in paths:
        site[path] = page(path.partition("?")[0], path)
    for number in range(3):
        site[f"/gone/{number}"] = (404, {"Content-Type": "text/html"}, page("gone", number).encode())
    site["/"] = page("home", links=(*paths, *(f"/gone/{number}" for number in range(3))), count=80)
    return site.urls("/", *paths, *(f"/gone/{number}" for number in range(3)))


def contents(site: Site, found: list[str]) -> list[str]:
    return sorted(url.removeprefix(site.root).partition("?")[0] for url in found)


EACH_ONCE = sorted(["/", *(f"/{name}" for name in CONTENTS)])


def test_the_examples_take_about_fifteen_lines() -> None:
    assert sorted(EXAMPLES) == ["one_by_one.py", "with_crawl4ai.py", "with_crawlee.py", "with_httpx.py"]
    for name, text in EXAMPLES.items():
        lines = [line for line in text.splitlines()[1:] if line.strip()]
        assert 10 <= len(lines) <= 17, name


def test_pages_one_after_the_other(site: Site, urls: list[str]) -> None:
    pytest.importorskip("httpx")
    assert contents(site, crawl_of("one_by_one.py")(urls)) == EACH_ONCE


def test_httpx(site: Site, urls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run has the first one's pages in its store, and is complete all the same."""
    pytest.importorskip("httpx")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        saved: list[str] = []
        crawl = crawl_of("with_httpx.py")
        in_a_thread(lambda crawl=crawl, saved=saved: asyncio.run(crawl(urls, lambda r: saved.append(str(r.url)))))
        assert contents(site, saved) == EACH_ONCE
    assert (tmp_path / "pages.sqlite").exists()


@pytest.mark.slow
def test_crawlee(site: Site, urls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its handlers run at the same time, so copies that are fetched together may both be kept."""
    pytest.importorskip("crawlee")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CRAWLEE_STORAGE_DIR", str(tmp_path / "storage"))
    found = in_a_thread(lambda: asyncio.run(crawl_of("with_crawlee.py")([site.url("/")])))
    assert set(contents(site, found)) == set(EACH_ONCE)
    assert len(found) < len(urls) - 3
    assert {path for path in site.requested if "gone" in path}, "what is gone was fetched, and is no page"
