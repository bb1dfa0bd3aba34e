"""A project as ``scrapy startproject`` makes it, and ``scrapy`` called in it as a user calls it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from helpers.warm_python import run_python

SPIDER = """
import scrapy


class Pages(scrapy.Spider):
    name = "pages"
    start_urls = {urls!r}

    def parse(self, response):
        yield {{"url": response.url}}
"""
SETTINGS = """
DOWNLOAD_DELAY = 0
TELNETCONSOLE_ENABLED = False
CONCURRENT_ITEMS = 4
RETRY_ENABLED = False
CONCURRENT_REQUESTS = 1
"""


@dataclass(frozen=True)
class Called:
    """What came of a call of ``scrapy``."""

    code: int
    output: str
    log: str

    @property
    def last_line(self) -> str:
        """The last line of the log."""
        return self.log.rstrip().splitlines()[-1]


@dataclass(frozen=True)
class ScrapyProject:
    """A project in a folder, with a spider ``pages``."""

    folder: Path

    @classmethod
    def start(cls, folder: Path, urls: list[str], **settings: object) -> ScrapyProject:
        """``scrapy startproject``, a spider of some URLs, and the add-on's line."""
        shutil.copytree(started().name, folder, dirs_exist_ok=True)
        (folder / "shop/spiders/pages.py").write_text(SPIDER.format(urls=urls))
        path = folder / "shop/settings.py"
        text = path.read_text()
        line = 'ADDONS = {"scrapy_simdedup.Addon": 500}'
        text = text.replace("ADDONS = {}", line) if "ADDONS = {}" in text else f"{text}\n{line}\n"
        lines = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
        path.write_text(text + SETTINGS + lines)
        return cls(folder)

    def call(self, *arguments: str) -> Called:
        """``scrapy ARGUMENTS`` in the folder."""
        return call(self.folder, *arguments)


@cache
def started() -> TemporaryDirectory[str]:
    """A folder with what ``scrapy startproject`` makes, which takes as long as a crawl."""
    folder = TemporaryDirectory()
    made = call(Path(folder.name), "startproject", "shop", folder.name)
    assert made.code == 0, made.log
    return folder


def call(folder: Path, *arguments: str) -> Called:
    """``scrapy ARGUMENTS`` in a folder."""
    done = run_python(["-m", "scrapy", *arguments], cwd=folder)
    return Called(done.returncode, done.stdout, done.stderr)
