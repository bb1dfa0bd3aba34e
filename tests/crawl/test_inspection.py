"""What a person looks at by hand is never dropped and never recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.pages import page
from helpers.site_server import Site
from helpers.warm_python import run_python

PROJECT = {
    "scrapy.cfg": "[settings]\ndefault = looked.settings\n",
    "looked/__init__.py": "",
    "looked/settings.py": (
        'BOT_NAME = "looked"\n'
        'SPIDER_MODULES = ["looked.spiders"]\n'
        'ADDONS = {"scrapy_simdedup.Addon": 500}\n'
        'SIMDEDUP_STORE = "sqlite:///pages.sqlite"\n'
        'SIMDEDUP_AGAINST = "history"\n'
        'LOG_LEVEL = "INFO"\n'
        "TELNETCONSOLE_ENABLED = False\n"
    ),
    "looked/spiders/__init__.py": "",
}
SPIDER = '''
import scrapy


class Looked(scrapy.Spider):
    name = "looked"
    start_urls = ["{one}"]

    def parse(self, response):
        """Yields the page's address.

        @url {again}
        @returns items 1 1
        """
        yield {{"url": response.url}}
'''


@pytest.fixture
def project(site: Site, tmp_path: Path) -> Path:
    site["/one"], site["/again"] = page("one", 1), page("one", 2)
    for name, text in PROJECT.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "looked/spiders/looked.py").write_text(SPIDER.format(one=site.url("/one"), again=site.url("/again")))
    return tmp_path


def scrapy(project: Path, *arguments: str) -> str:
    done = run_python(["-m", "scrapy", *arguments], cwd=project)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_shell_fetch_parse_and_check_show_a_page_that_a_crawl_would_drop(site: Site, project: Path) -> None:
    again = site.url("/again")
    scrapy(project, "crawl", "looked")
    assert "Served at" in scrapy(project, "fetch", "--nolog", again)
    assert again in scrapy(project, "shell", "--nolog", "-c", "response.url", again)
    assert again in scrapy(project, "parse", "--nolog", "--spider", "looked", again)
    assert "OK" in scrapy(project, "check", "looked")
    crawled = scrapy(project, "crawl", "looked", "-O", "items.json")
    assert "1 unchanged" in crawled, "looking at pages left no trace in the store"
