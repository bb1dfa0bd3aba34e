"""Jobs of Scrapyd: settings are texts, the folder is that of Scrapyd, and nobody reads the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.pages import page
from helpers.scrapyd_server import ScrapydServer, file_url
from helpers.site_server import Site

pytestmark = pytest.mark.slow

pytest.importorskip("scrapyd")


@pytest.fixture(scope="module")
def scrapyd() -> Iterator[ScrapydServer]:
    with ScrapydServer() as server:
        server.deploy()
        yield server


@pytest.fixture
def urls(site: Site) -> list[str]:
    for path in ("/a", "/a?v=1", "/a?v=2", "/b"):
        site[path] = page(path[:2], path)
    return site.urls(*site.answers)


def test_settings_are_texts_and_a_store_with_a_full_path_serves_the_next_job(
    scrapyd: ScrapydServer, urls: list[str], tmp_path: Path
) -> None:
    texts = {
        "SIMDEDUP_STORE": file_url(tmp_path / "pages.sqlite"),
        "SIMDEDUP_SITE_SETTINGS": '{"127.0.0.1": {"max_copies": 2}}',
        "SIMDEDUP_IDENTICAL": "0.97",
        "SIMDEDUP_TTL": "None",
        "SIMDEDUP_REPORT": f"{(tmp_path / 'reports').as_posix()}/%(name)s-%(_job)s.html",
    }
    job = scrapyd.run(urls, **texts)
    assert job.exit_code == 0, job.log
    assert job.urls == [urls[0], urls[1], urls[3]]
    assert "4 pages judged" in job.log
    (report,) = (tmp_path / "reports").iterdir()
    assert report.name == "pages-job-1.html"
    assert scrapyd.run(urls, **texts, SIMDEDUP_UNCHANGED="drop").urls == []


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("SIMDEDUP_IDENTICAL=95%", "SIMDEDUP_IDENTICAL = '95%' cannot be used"),
        ("SIMDEDUP_STORE=sqlite:////proc/pages.sqlite", "/proc/pages.sqlite"),
    ],
)
def test_a_job_that_cannot_begin_has_died_for_scrapyd(
    scrapyd: ScrapydServer, urls: list[str], site: Site, setting: str, says: str
) -> None:
    job = scrapyd.run(urls, **dict([setting.split("=", 1)]))
    assert job.exit_code == 1
    assert says in job.log.splitlines()[-1]
    assert (job.urls, site.requested) == ([], [])
