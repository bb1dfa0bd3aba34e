"""Stores and exports that earlier versions wrote can be read, and mean what they meant."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from data.make_stored_data import PAGES, SITE
from helpers.command_line import perform_here, stored
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from scrapy_simdedup import NearDuplicateDetector

DATA = Path(__file__).parent.parent / "data"
VERSIONS = sorted(path.parent.name for path in DATA.glob("*/pages.sqlite"))


@pytest.fixture(params=[f"{version} {form}" for version in VERSIONS for form in ("store", "export")])
def old_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A copy of what a version wrote."""
    version, form = request.param.split()
    url = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    if form == "store":
        shutil.copy(DATA / version / "pages.sqlite", tmp_path)
    else:
        answer = perform_here("import", DATA / version / "pages.jsonl", "--store", url)
        assert answer.code == 0, answer.err
    return url


def test_there_is_something_to_read() -> None:
    assert VERSIONS


def test_an_old_store_is_sound(old_store: str) -> None:
    assert perform_here("check", "--store", old_store).code == 0


def test_its_records_say_what_they_said(old_store: str) -> None:
    found = {(record.url.removeprefix(SITE), record.run): record for _, record in stored(old_store)}
    states = {key: (record.state, record.kind, record.visits) for key, record in found.items()}
    assert states["/a", "tuesday"] == ("confirmed", "unchanged", 2)
    assert states["/a?print", "tuesday"] == ("duplicate", "identical", 2)
    assert states["/b", "tuesday"] == ("confirmed", "changed", 2)
    assert states["/short", "tuesday"] == ("confirmed", "unchanged", 2)
    assert found["/a?print", "tuesday"].original == found["/a", "tuesday"].key
    assert found["/b", "tuesday"].last_changed == found["/b", "tuesday"].first_seen + 86_400
    assert not any(record.state == "confirmed" for (path, _), record in found.items() if path == "/lost")


@on_asyncio
async def test_a_crawl_goes_on_with_it(old_store: str) -> None:
    """Known pages are known, what changed shows, and a new address of a known content is a repeat."""
    detector = NearDuplicateDetector(old_store, run="wednesday", against="history")
    await detector.open()
    verdicts = {path: (await detector.judge(html, url=SITE + path)).kind for path, html in PAGES.items()}
    repeat = await detector.judge(page("a", 3), url=f"{SITE}/a?again")
    await detector.close()
    assert verdicts == {
        "/a": "unchanged",
        "/a?print": "identical",
        "/b": "changed",
        "/lost": "new",
        "/short": "unchanged",
    }
    assert (repeat.kind, repeat.is_duplicate, repeat.original) == ("identical", True, f"{SITE}/a")
