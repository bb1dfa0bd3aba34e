"""Scrapyd for tests, on a free loopback port, with projects as they are deployed: as eggs."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from helpers.servers import Server, wait_until

PROJECT = {
    "pages_project/__init__.py": "",
    "pages_project/settings.py": """
SPIDER_MODULES = ["pages_project.spiders"]
ADDONS = {"scrapy_simdedup.Addon": 500}
CONCURRENT_REQUESTS = 1
TELNETCONSOLE_ENABLED = False
RETRY_ENABLED = False
""",
    "pages_project/spiders/__init__.py": """
from scrapy import Spider


class Pages(Spider):
    name = "pages"

    def __init__(self, urls, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = urls.split()

    def parse(self, response):
        yield {"url": response.url}
""",
}


class Job:
    """A job that is over."""

    def __init__(self, server: ScrapydServer, name: str) -> None:
        self.log = (server.directory / "logs/pages_project/pages" / f"{name}.log").read_text(encoding="utf-8")
        feed = server.directory / "items/pages_project/pages" / f"{name}.jl"
        lines = feed.read_text(encoding="utf-8").splitlines() if feed.exists() else []
        self.urls: list[str] = [json.loads(line)["url"] for line in lines]
        ended = re.search(rf"Process (?:finished:|died: exitstatus=(\d+)) .*job='{name}'", server.log)
        assert ended, server.log
        self.exit_code = int(ended[1] or 0)


class ScrapydServer(Server):
    """Runs the jobs of one project with one spider, ``pages``, which fetches given URLs."""

    def __init__(self) -> None:
        super().__init__()
        self.command = [sys.executable, "-m", "scrapyd"]
        self._jobs = 0
        (self.directory / "scrapyd.conf").write_text(
            "[scrapyd]\nbind_address = 127.0.0.1\nitems_dir = items\npoll_interval = 0.1\nmax_proc = 1\n"
            f"http_port = {self.port}\njobs_to_keep = 100\n",
            encoding="utf-8",
        )

    @property
    def log(self) -> str:
        """What Scrapyd itself logged."""
        return (self.directory / "log").read_text(encoding="utf-8")

    def is_ready(self) -> bool:
        try:
            return bool(self.ask("daemonstatus")["status"] == "ok")
        except URLError:
            return False

    def ask(self, verb: str, *, post: dict[str, Any] | None = None, **query: str) -> Any:
        url = f"http://127.0.0.1:{self.port}/{verb}.json?{urlencode(query)}"
        with urlopen(url, urlencode(post, doseq=True).encode() if post else None, timeout=60) as answer:
            found = json.load(answer)
        assert found["status"] == "ok", found
        return found

    def deploy(self) -> None:
        """Upload the project."""
        egg = io.BytesIO()
        with zipfile.ZipFile(egg, "w") as archive:
            archive.writestr("EGG-INFO/PKG-INFO", "Metadata-Version: 1.0\nName: pages_project\nVersion: 1.0\n")
            archive.writestr("EGG-INFO/entry_points.txt", "[scrapy]\nsettings = pages_project.settings\n")
            for path, text in PROJECT.items():
                archive.writestr(path, text)
        self.ask("addversion", post={"project": "pages_project", "version": "1", "egg": egg.getvalue()})

    def run(self, urls: list[str], **settings: str) -> Job:
        """Run a job to its end; settings are texts, as Scrapyd has no others."""
        self._jobs += 1
        name = f"job-{self._jobs}"
        given = [f"{key}={value}" for key, value in settings.items()]
        job = {"project": "pages_project", "spider": "pages", "jobid": name, "urls": " ".join(urls), "setting": given}
        self.ask("schedule", post=job)
        wait_until(lambda: name in {job["id"] for job in self.ask("listjobs", project="pages_project")["finished"]})
        return Job(self, name)


def file_url(path: Path) -> str:
    """The URL of a store in a file, from the root, as a job's folder is that of Scrapyd."""
    return f"sqlite:///{path.as_posix()}"
