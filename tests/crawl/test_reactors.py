"""Verdicts and deliveries are the same on asyncio, on a plain Twisted reactor, and without a reactor."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.crawl_script import run
from helpers.pages import page
from helpers.site_server import Site

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["asyncio", "plain", "reactorless"])
@pytest.mark.parametrize("store", ["memory:", "sqlite"])
def test_verdicts_do_not_depend_on_the_event_loop(site: Site, kind: str, store: str, tmp_path: Path) -> None:
    if store == "sqlite":
        store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    for number, path in enumerate(("/one?fails", "/one?a", "/one?b", "/two")):
        site[path] = page(path[:4], number)
    urls = site.urls("/one?fails", "/one?a", "/one?b", "/two")
    done = run(kind, urls, SIMDEDUP_STORE=store)
    assert sorted(done["items"]) == [urls[1], urls[3]]
    assert done["stats"]["simdedup/pages/dropped"] == 1
    assert done["stats"]["simdedup/confirmed"] == 2
    assert done["stats"]["simdedup/released_reason_count/callback_error"] == 1


def test_a_job_that_is_resumed_knows_what_it_delivered(site: Site, tmp_path: Path) -> None:
    site["/one"], site["/one?again"] = page("one", 1), page("one", 2)
    jobdir = str(tmp_path / "job")
    first = run("asyncio", site.urls("/one"), JOBDIR=jobdir)
    assert first["items"] == site.urls("/one")
    second = run("asyncio", site.urls("/one?again"), JOBDIR=jobdir)
    assert second["items"] == []
    assert second["stats"]["simdedup/pages/identical"] == 1


def test_another_run_on_the_same_store_delivers_everything_again(site: Site, tmp_path: Path) -> None:
    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    site["/one"], site["/one?again"] = page("one", 1), page("one", 2)
    urls = site.urls("/one", "/one?again")
    for visit in ("new", "unchanged"):
        done = run("asyncio", urls, SIMDEDUP_STORE=store)
        assert done["items"] == urls[:1]
        assert done["stats"][f"simdedup/pages/{visit}"] == 1
        assert done["stats"]["simdedup/pages/identical"] == 1
