"""The first week: a new project, a crawl, the next crawl, its feeds without repeats, and what goes wrong meanwhile."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import perform_here
from helpers.pages import page
from helpers.scrapy_project import ScrapyProject
from helpers.site_server import Site

SPIDER = """
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Shop(CrawlSpider):
    name = "shop"
    start_urls = [{start!r}]
    rules = (Rule(LinkExtractor(allow="/product/"), callback="parse_product", follow=True),)

    def parse_product(self, response):
        texts = response.css("main p::text").getall()
        yield {{"url": response.url, "title": response.css("h1::text").get(), "text": " ".join(texts)}}
"""
PRODUCTS = [f"/product/{name}" for name in ("kettle", "lamp", "tent", "rope")]
ENDS = ("", "?print=1", "?utm_source=mail")
STORE = "SIMDEDUP_STORE=sqlite:///pages.sqlite"
INCREMENTAL = ("-s", "SIMDEDUP_AGAINST=history", "-s", "SIMDEDUP_UNCHANGED=drop")


def serve(site: Site, *products: str, visit: int = 0) -> None:
    paths = [product + end for product in products for end in ENDS]
    for path in paths:
        site[path] = page(path.partition("?")[0], (path, visit))
    site["/"] = page("home", visit, links=tuple(paths))


@pytest.fixture
def project(site: Site, tmp_path: Path) -> ScrapyProject:
    serve(site, *PRODUCTS)
    made = ScrapyProject.start(tmp_path / "project", [])
    (made.folder / "shop/spiders/shop.py").write_text(SPIDER.format(start=site.url("/")))
    return made


def items(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


def products(found: list[dict[str, Any]]) -> list[str]:
    return sorted("/" + item["url"].partition("?")[0].split("/", 3)[3] for item in found)


@pytest.mark.slow
def test_crawl_again_look_and_take_back(site: Site, project: ScrapyProject) -> None:
    feed = project.folder / "items.json"
    made = project.call("crawl", "shop", "-O", "items.json", "-s", STORE, "-s", "SIMDEDUP_RUN=monday")
    assert made.code == 0, made.log
    assert products(items(feed)) == sorted(PRODUCTS), "each once, of three URLs"
    assert "8 pages dropped (62 % of the judged)" in made.log

    serve(site, *PRODUCTS, "/product/saw", visit=1)
    site["/product/lamp"] = page("/product/lamp, and a new lampshade")
    tuesday = ("crawl", "shop", "-O", "items.json", "-s", STORE, "-s", "SIMDEDUP_RUN=tuesday", *INCREMENTAL)
    made = project.call(*tuesday)
    assert made.code == 0, made.log
    assert products(items(feed)) == ["/product/lamp", "/product/saw"], "what is new, and what changed"

    dropped = next(site.url(f"/product/tent{end}") for end in ENDS)
    store = ("--store", f"sqlite:///{(project.folder / 'pages.sqlite').as_posix()}")
    told = perform_here("explain", dropped, *store)
    assert (told.code, told.out.splitlines()[0]) == (0, dropped)
    assert perform_here("check", *store).code == 0
    nothing = perform_here("rollback", "thursday", *store)
    runs = "its latest runs are monday, tuesday"
    assert (nothing.code, nothing.out) == (1, f"the store has nothing of a run 'thursday'; {runs}\n")
    assert perform_here("rollback", "tuesday", *store).code == 0
    assert project.call(*tuesday).code == 0
    assert "/product/saw" in products(items(feed)), "the run that was taken back is made again"


def _as_it_is(content: bytes) -> bytes:
    return content


def _zstd(content: bytes) -> bytes:
    packed: bytes = pytest.importorskip("zstandard").ZstdCompressor().compress(content)
    return packed


def _unzstd(content: bytes) -> bytes:
    reader = pytest.importorskip("zstandard").ZstdDecompressor().stream_reader(io.BytesIO(content))
    unpacked: bytes = reader.read()
    return unpacked


def _read_csv(content: bytes) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def _read_lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


READERS: dict[str, Callable[[bytes], list[dict[str, Any]]]] = {
    "json": json.loads,
    "jsonl": _read_lines,
    "csv": _read_csv,
}
PACKERS = {"": (_as_it_is, _as_it_is), ".gz": (gzip.compress, gzip.decompress), ".zst": (_zstd, _unzstd)}


@pytest.mark.slow
@pytest.mark.parametrize("ending", PACKERS)
def test_feeds_that_were_crawled_without_it_lose_their_repeats(project: ScrapyProject, ending: str) -> None:
    """In every form that Scrapy writes, packed or not, with one process or two; Parquet is not Scrapy's."""
    pack, unpack = PACKERS[ending]
    pack(b"")
    outputs = [word for form in READERS for word in ("-O", f"all.{form}")]
    assert project.call("crawl", "shop", *outputs, "-s", "SIMDEDUP_ENABLED=False").code == 0
    assert len(items(project.folder / "all.json")) == len(PRODUCTS) * len(ENDS)
    for form, read in READERS.items():
        feed, kept = project.folder / f"feed.{form}{ending}", project.folder / f"kept.{form}{ending}"
        feed.write_bytes(pack((project.folder / f"all.{form}").read_bytes()))
        answer = perform_here("dedupe", feed, "-o", kept)
        assert answer.out == "12 items: 4 kept, 8 dropped (8 identical, 4 new)\n", (form, answer.err)
        assert products(read(unpack(kept.read_bytes()))) == sorted(PRODUCTS)
    made = project.call("simdedup", "dedupe", f"feed.json{ending}", "-o", "two.json", "-j", "2", "-s", STORE)
    assert (made.code, made.output) == (0, "12 items: 4 kept, 8 dropped (8 identical, 4 new)\n"), made.log
    kept = project.folder / f"kept.json{ending}"
    assert (project.folder / "two.json").read_bytes() == unpack(kept.read_bytes())
    assert not (project.folder / "pages.sqlite").exists(), "the store belongs to the crawls"


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["SIMDEDUP_DROP=nearly", "SIMDEDUP_STORE=sqlite:////proc/no/pages.sqlite"])
def test_what_goes_wrong_is_said_and_costs_no_feed(project: ScrapyProject, wrong: str) -> None:
    feed = project.folder / "items.json"
    feed.write_text("[]")
    made = project.call("crawl", "shop", "-O", "items.json", "-s", wrong)
    assert made.code == 1
    assert "The crawl does not begin: " in made.last_line
    assert feed.read_text() == "[]"
