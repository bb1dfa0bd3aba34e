"""A crawl whose store cannot be opened ends with exit code 1, and last week's feed is still there."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.pages import page
from helpers.scrapy_project import ScrapyProject
from helpers.site_server import Site
from helpers.warm_python import run_python

OLD = '[{"url": "of last week"}]'
NOWHERE = "redis://127.0.0.1:1/0"
SELECT = "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor"
PROCESS = """
import sys
from scrapy import Spider
from scrapy.crawler import CrawlerProcess

class Pages(Spider):
    name = "pages"
    start_urls = ["data:,page"]

process = CrawlerProcess({
    "ADDONS": {"scrapy_simdedup.Addon": 500},
    "SIMDEDUP_STORE": sys.argv[1],
    "FEEDS": {sys.argv[2]: {"format": "json", "overwrite": True}},
})
process.crawl(Pages)
process.start()
sys.exit(process.bootstrap_failed)
"""


@pytest.fixture
def project(site: Site, tmp_path: Path) -> ScrapyProject:
    site["/one"] = page("one")
    made = ScrapyProject.start(tmp_path / "project", site.urls("/one"))
    (made.folder / "items.json").write_text(OLD)
    (made.folder / "job").mkdir()
    (made.folder / "job/simdedup.sqlite").write_bytes(b"no database" * 100)
    (made.folder / "file").touch()
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ([f"SIMDEDUP_STORE={NOWHERE}"], "check that the server runs"),
        ([f"SIMDEDUP_STORE={NOWHERE}", "TWISTED_REACTOR_ENABLED=False"], "check that the server runs"),
        ([f"SIMDEDUP_STORE={NOWHERE}", SELECT], "needs asyncio"),
        (["SIMDEDUP_STORE=sqlite:///file/pages.sqlite"], "sqlite:///file/pages.sqlite"),
        (["SIMDEDUP_STORE=sqlite:///file/pages.sqlite", SELECT], "sqlite:///file/pages.sqlite"),
        (["JOBDIR=job"], "name another file"),
    ],
)
def test_the_old_feed_stays_and_the_exit_code_is_1(
    site: Site, project: ScrapyProject, settings: list[str], sentence: str
) -> None:
    options = [word for setting in settings for word in ("-s", setting)]
    for command in (["crawl", "pages"], ["runspider", "shop/spiders/pages.py"]):
        made = project.call(*command, "-O", "items.json", *options)
        (told,) = [line for line in made.log.splitlines() if "CRITICAL" in line]
        assert "The crawl does not begin" in told
        assert sentence in told
        assert "Traceback" not in made.log
        assert made.code == 1
        assert (project.folder / "items.json").read_text() == OLD
    assert site.requested == []


@pytest.mark.slow
def test_so_does_a_script(project: ScrapyProject) -> None:
    done = run_python(["-c", PROCESS, NOWHERE, "items.json"], cwd=project.folder)
    assert done.returncode == 1
    assert "check that the server runs" in done.stderr.splitlines()[-1]
    assert (project.folder / "items.json").read_text() == OLD


@pytest.mark.slow
def test_a_store_that_can_be_opened_is_crawled_with(project: ScrapyProject) -> None:
    made = project.call("crawl", "pages", "-O", "items.json", "-s", "SIMDEDUP_STORE=sqlite:///new/pages.sqlite")
    assert made.code == 0
    assert "/one" in (project.folder / "items.json").read_text()
