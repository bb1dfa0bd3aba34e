"""What a crawl learned about URLs, and what it skipped, survives it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helpers.pages import page
from helpers.servers import wait_until
from helpers.site_server import Site
from helpers.url_site import Magazine, url_notes
from helpers.warm_python import start_python
from scrapy_simdedup.detect.events import SeenUrl, SkippedUrl, UrlEvent

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

SCRIPT = Path(__file__).parents[1] / "helpers" / "url_script.py"

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal"), pytest.mark.slow]


class Job:
    """A crawl in a process of its own, with a job directory."""

    def __init__(self, site: Site, directory: Path) -> None:
        self.site, self.exported = site, directory / "exported"
        self.settings: dict[str, Any] = {
            "JOBDIR": str(directory / "job"),
            "SIMDEDUP_URL_LEARNING": "skip",
            "SIMDEDUP_SECRET": "x",
        }
        self.store = directory / "job" / "simdedup.sqlite"
        self.said = directory / "said"
        self.process: BaseProcess | None = None

    def start(self, path: str = "/", kind: str = "asyncio") -> None:
        environment = os.environ | {"SETTINGS": json.dumps(self.settings)}
        environment.pop("COVERAGE_PROCESS_START", None)  # a killed process leaves half-written data files
        self.said.unlink(missing_ok=True)
        words = [SCRIPT, kind, self.site.root, path, self.exported]
        self.process = start_python(words, env=environment, streams=[Path(os.devnull), self.said])

    def end(self, number: int | None = None) -> dict[str, int]:
        """Wait for its end, or bring it about; its stats, if it has any."""
        assert self.process is not None
        assert self.process.pid is not None
        if number is not None:
            os.kill(self.process.pid, number)
        self.process.join(180)
        assert self.process.exitcode is not None
        said = self.said.read_text()
        return json.loads(said.splitlines()[-1]) if said else {}

    @property
    def contents(self) -> set[str]:
        return set(self.exported.read_text().split("\n")) - {""}

    def notes(self) -> list[UrlEvent]:
        return url_notes(self.store)

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()


@pytest.fixture
def job(site: Site, tmp_path: Path) -> Iterator[Job]:
    with Job(site, tmp_path) as made:
        yield made


def skipped(job: Job) -> list[str]:
    return [note.url.removeprefix(job.site.root) for note in job.notes() if isinstance(note, SkippedUrl)]


@pytest.mark.slow
def test_what_a_killed_crawl_skipped_wrongly_is_fetched_by_the_one_that_takes_it_up(site: Site, job: Job) -> None:
    """The scheduler of the second process has none of these requests, and the dupefilter knows them all."""
    magazine = Magazine(site, 160, ("", "&view=full"))
    site["/last"] = lambda _: time.sleep(3600) or ""
    site["/"] = page("/", count=120, links=(*magazine.listings, "/last"))
    job.settings["CONCURRENT_REQUESTS"] = 2  # one of them is held up by the server
    job.settings["SIMDEDUP_CONFIRM"] = "callback"  # lists give no items
    job.start()
    wait_until(lambda: "/last" in site.requested)
    wait_until(lambda: len(job.notes()) == len(magazine.addresses))
    job.end(signal.SIGKILL)
    before = skipped(job)
    assert len(before) > 40
    assert all("view" in path or path + "&view=full" in site.requested for path in before)

    site.requested.clear()
    magazine.relevant = 60  # what was skipped of these was another page after all
    more = Magazine(site, 60, ("", "&view=full"), relevant=0, prefix="/story?id=99", listing="/more")
    site["/second"] = page("/second", count=120, links=tuple(more.listings))
    job.start("/second")
    stats = job.end()
    assert stats["simdedup/urls/readmitted"] > 10
    assert set(before) & set(site.requested)
    lost = {magazine.content(path) for path in before} | more.contents
    assert lost <= job.contents


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_crawl_that_is_ended_in_its_middle_goes_on_with_its_rules(site: Site, job: Job, number: int) -> None:
    """After a SIGKILL Scrapy's own queue is lost, so that the second crawl meets every link again."""
    magazine = Magazine(site, 60)
    if number == signal.SIGKILL:
        job.settings["DUPEFILTER_CLASS"] = "scrapy.dupefilters.BaseDupeFilter"
    job.start()
    wait_until(lambda: len(site.requested) > 120)
    job.end(number)
    before = skipped(job)
    assert len(before) > 10

    site.requested.clear()
    job.start()
    stats = job.end()
    assert job.contents == magazine.contents
    assert stats["simdedup/urls/skipped"] > 10
    assert len(set(before) & set(site.requested)) < 0.5 * len(before)
    assert all(isinstance(note, SeenUrl | SkippedUrl) for note in job.notes())


@pytest.mark.slow
def test_going_on_without_skipping_makes_all_that_was_skipped(site: Site, job: Job) -> None:
    magazine = Magazine(site, 40)
    job.start()
    assert job.end()["simdedup/urls/skipped"] > 40
    before = skipped(job)
    site.requested.clear()
    job.settings["SIMDEDUP_URL_LEARNING"] = "observe"
    job.start()
    job.end()
    assert set(before) <= set(site.requested)
    assert skipped(job) == []
    assert {magazine.content(path) for path in before} <= job.contents


@pytest.mark.parametrize("kind", ["plain", "reactorless"])
def test_skipping_works_on_every_reactor_and_without_one(site: Site, job: Job, kind: str) -> None:
    magazine = Magazine(site, 40)
    job.start(kind=kind)
    assert job.end()["simdedup/urls/skipped"] > 40
    assert job.contents == magazine.contents
