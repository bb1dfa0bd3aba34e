"""Whoever mistypes a setting reads one sentence at the end of the log, and the exit code is 1."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.pages import page
from helpers.scrapy_project import ScrapyProject
from helpers.site_server import Site
from helpers.warm_python import run_python

WRONG = {
    "SIMDEDUP_MODE=page": "'pages', 'items', 'observe'",
    "SIMDEDUP_MODES=pages": "did you mean SIMDEDUP_MODE?",
    "SIMDEDUP_STORE=pages.sqlite": "write 'sqlite:///pages.sqlite'",
    "SIMDEDUP_CONFIRM=feed": "add a feed to FEEDS",
    "SIMDEDUP_URL_RULES=nowhere.json": "name a JSON file that can be read",
}
PROCESS = """
import sys
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

class Pages(Spider):
    name = "pages"
    start_urls = ["data:,page"]

    def parse(self, response):
        print("parsed")

kind, *middlewares = sys.argv[1:]
settings = {"SIMDEDUP_MODE": "page", "TWISTED_REACTOR_ENABLED": kind != "reactorless"}
if middlewares:
    settings["SPIDER_MIDDLEWARES"] = dict(zip(middlewares, (-100_000, 100_000)))
else:
    settings["ADDONS"] = {"scrapy_simdedup.Addon": 500}
if kind == "select":
    settings["TWISTED_REACTOR"] = "twisted.internet.selectreactor.SelectReactor"
process = (AsyncCrawlerProcess if kind == "reactorless" else CrawlerProcess)(settings)
process.crawl(Pages)
process.start()
print("bootstrap failed:", process.bootstrap_failed)
"""


@pytest.fixture
def project(site: Site, tmp_path: Path) -> ScrapyProject:
    site["/one"] = page("one")
    return ScrapyProject.start(tmp_path / "project", site.urls("/one"))


def told_once(log: str, remedy: str) -> None:
    """The log ends with a sentence that is nowhere else in it."""
    last = log.rstrip().splitlines()[-1]
    assert "CRITICAL: The crawl does not begin: SIMDEDUP_" in last
    assert remedy in last
    assert log.count("cannot be used") == 1
    assert "Traceback" not in log
    assert "Unhandled" not in log


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_scrapy_crawl_ends_with_one_sentence_and_exit_code_1(site: Site, project: ScrapyProject, wrong: str) -> None:
    made = project.call("crawl", "pages", "-s", wrong)
    assert made.code == 1
    told_once(made.log, WRONG[wrong])
    assert site.requested == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["asyncio", "reactorless", "select", "by hand"])
def test_so_does_a_script_with_crawler_process(kind: str) -> None:
    names = ["DeliveryOuterMiddleware", "DeliveryInnerMiddleware"] if kind == "by hand" else []
    arguments = [kind, *(f"scrapy_simdedup.{name}" for name in names)]
    done = run_python(["-c", PROCESS, *arguments])
    assert done.returncode == 0
    told_once(done.stderr, "'pages', 'items', 'observe'")
    assert done.stdout == "bootstrap failed: True\n"


@pytest.mark.slow
def test_an_error_of_the_users_own_keeps_its_traceback() -> None:
    """Also where Twisted logs it right after one of ours."""
    own = PROCESS.replace("process.crawl(Pages)", "process.crawl(Pages)\nprocess.crawl(Broken)").replace(
        "kind, *", "class Broken(Pages):\n    def __init__(self):\n        raise ZeroDivisionError('mine')\n\nkind, *"
    )
    command = [sys.executable, "-c", own, "asyncio"]  # an interpreter that ends by itself collects what was forgotten
    log = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stderr
    assert "Unhandled error in Deferred" in log
    assert "ZeroDivisionError: mine" in log
    assert log.count("cannot be used") == 1
