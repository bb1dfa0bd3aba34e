"""The example project keeps its promises, and keeps them again when it is run again."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import perform_here, stored
from helpers.servers import executable
from helpers.warm_python import run_python

EXAMPLE = Path(__file__).parent.parent / "example_project"
LINE = re.compile(r"^ {2}(kept|BROKEN) +(.+?) +(\d+) of (\d+)", re.MULTILINE)


Item = dict[str, Any]
Change = Callable[[list[Item]], list[Item]]


@dataclass(frozen=True)
class Demonstration:
    """What ``python run.py`` left behind."""

    exit_code: int
    table: dict[str, tuple[str, int, int]]
    """Word, kept and of, by promise."""
    delivered: Counter[str]
    """How often each id is in the items file."""
    log: str


def items_of(project: Path) -> list[Item]:
    lines = (project / "data" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def demonstrate(project: Path) -> Demonstration:
    done = run_python([project / "run.py"], cwd=project)
    table = {name: (word, int(kept), int(of)) for word, name, kept, of in LINE.findall(done.stdout)}
    return Demonstration(done.returncode, table, Counter(item["id"] for item in items_of(project)), done.stderr)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("demo") / "example_project"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("data", ".scrapy", "__pycache__"))
    return copy


@pytest.fixture(scope="module")
def runs(project: Path) -> list[Demonstration]:
    """Two demonstrations, one after the other, with the same store."""
    return [demonstrate(project), demonstrate(project)]


def ids(*kinds: str) -> set[str]:
    """Ids by what lies in the content folder, without the project's own reader."""
    content = EXAMPLE / "website" / "content"
    files = [path for kind in kinds for path in content.glob(f"*/{kind}/*.txt")]
    return {path.relative_to(content).with_suffix("").as_posix() for path in files}


@pytest.mark.slow
class TestTheDemonstration:
    @pytest.mark.parametrize("number", [0, 1])
    def test_ends_well_with_every_promise_kept(self, runs: list[Demonstration], number: int) -> None:
        """The exit code is 0 and no line of the table says otherwise, the first time and the second."""
        run = runs[number]
        assert {name: row for name, row in run.table.items() if row[0] != "kept"} == {}, run.log
        assert len(run.table) == 13
        assert run.exit_code == 0

    @pytest.mark.parametrize("number", [0, 1])
    def test_delivers_every_article_and_product_once(self, runs: list[Demonstration], number: int) -> None:
        """The items file itself has each of them exactly once, the twins and the translations among them."""
        delivered = runs[number].delivered
        assert {name: delivered[name] for name in ids("articles", "products") if delivered[name] != 1} == {}

    @pytest.mark.parametrize("number", [0, 1])
    def test_recognises_most_pages_as_repeats(self, runs: list[Demonstration], number: int) -> None:
        """At least 70 % of what was fetched never reached the spider."""
        _, dropped, fetched = runs[number].table["pages recognised as repeats"]
        assert fetched > 500
        assert dropped >= 0.7 * fetched

    def test_gives_the_same_result_twice(self, runs: list[Demonstration]) -> None:
        """What the first run left in the store takes nothing from the second."""
        first, second = runs
        assert first.table == second.table
        assert first.delivered == second.delivered

    def test_ends_with_the_summary_of_the_plugin(self, runs: list[Demonstration]) -> None:
        """The log's last records are the plugin's figures and Scrapy's good-bye."""
        assert "Near-duplicates:" in "\n".join(runs[0].log.splitlines()[-25:])

    def test_logs_no_error(self, runs: list[Demonstration]) -> None:
        """The endless page is cut off with a warning; nothing else goes wrong."""
        log = runs[0].log.splitlines()
        assert [line for line in log if " ERROR: " in line or "Traceback" in line] == []

    def test_every_dropped_page_is_explained_by_an_address_of_the_same_page(
        self, runs: list[Demonstration], project: Path
    ) -> None:
        """``scrapy simdedup explain`` names the right original for each of them."""
        store = f"sqlite:///{(project / 'data' / 'pages.sqlite').as_posix()}"
        code = "import json; from website.addresses import all_addresses; print(json.dumps(all_addresses()))"
        printed = run_python(["-c", code], cwd=project)
        id_of = {"/": "en/index", **json.loads(printed.stdout)}
        explained = 0
        for record in (record for _, record in stored(store) if record.state == "duplicate"):
            (found,) = perform_here("explain", record.url, "--store", store, "--json").json
            dropped, original = (re.sub("^https?://[^/]+", "", url) for url in (record.url, found["other"]["url"]))
            assert found["dropped"]
            if dropped in id_of:
                explained += 1
                assert id_of.get(original, original) == id_of[dropped], found["why"]
        assert explained > 300


@pytest.mark.slow
def test_skipping_known_urls_saves_two_fifths_of_the_requests_and_no_item(
    runs: list[Demonstration], tmp_path: Path
) -> None:
    """``scrapy crawl shop -s SIMDEDUP_URL_LEARNING=skip`` says how many."""
    project = tmp_path / "example_project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("data", ".scrapy", "__pycache__"))
    with subprocess.Popen(
        [sys.executable, "-m", "website.server"], cwd=project, stdout=subprocess.PIPE, text=True
    ) as shop:
        try:
            assert shop.stdout is not None
            site = shop.stdout.readline().strip()
            words = ["crawl", "shop", "-a", f"site={site}", "-s", "SIMDEDUP_URL_LEARNING=skip", "-s", "STATS_DUMP=1"]
            done = run_python(["-m", "scrapy", *words], cwd=project)
        finally:
            shop.terminate()
    assert done.returncode == 0, done.stderr
    (saved,) = re.findall(r"URLs: (\d+) fetches saved", done.stderr)
    (made,) = re.findall(r"'response_received_count': (\d+)", done.stderr)
    _, _, without = runs[0].table["pages recognised as repeats"]
    assert int(made) + int(saved) == without
    assert int(saved) >= 0.4 * without
    items = items_of(project)
    assert Counter(item["id"] for item in items) == runs[0].delivered


@pytest.mark.slow
class TestTheTableOfPromises:
    """It can say that something broke."""

    @pytest.fixture
    def broken_by(self, project: Path, runs: list[Demonstration], tmp_path: Path) -> Callable[[Change], list[str]]:
        """The names of the promises that break when the delivered items are changed."""

        def broken(change: Change) -> list[str]:
            changed = tmp_path / "items.jsonl"
            lines = [json.dumps(item) + "\n" for item in change(items_of(project))]
            changed.write_text("".join(lines), encoding="utf-8")
            code = (
                "import pathlib, sys; from check import promises; from website.addresses import all_addresses\n"
                "visited = list(all_addresses())\n"
                "for promise in promises(pathlib.Path(sys.argv[1]), visited, len(visited)):\n"
                "    if not promise.holds: print(promise.name)"
            )
            return run_python(["-c", code, changed], cwd=project).stdout.splitlines()

        return broken

    def test_has_nothing_against_what_was_delivered(self, broken_by: Callable[[Change], list[str]]) -> None:
        assert broken_by(lambda items: items) == []

    def test_misses_a_twin(self, broken_by: Callable[[Change], list[str]]) -> None:
        """A dropped twin breaks two promises: it is a product, and it is on the list."""
        assert broken_by(without("en/products/brook-kettle-1-7")) == [
            "articles and products delivered exactly once",
            "not dropped: product twins, one number apart",
        ]

    def test_misses_a_listing(self, broken_by: Callable[[Change], list[str]]) -> None:
        assert broken_by(without("zh/products")) == ["not dropped: listing pages"]

    def test_notices_a_second_copy(self, broken_by: Callable[[Change], list[str]]) -> None:
        """An article that was delivered twice was not delivered exactly once."""

        def twice(items: list[Item]) -> list[Item]:
            return [*items, *(item for item in items if item["id"] == "en/articles/map-and-compass")]

        assert broken_by(twice) == ["articles and products delivered exactly once"]

    def test_notices_a_missing_paragraph(self, broken_by: Callable[[Change], list[str]]) -> None:
        """An article that lost a paragraph on its way was not delivered."""

        def shortened(items: list[Item]) -> list[Item]:
            (article,) = (item for item in items if item["id"] == "en/articles/pickling-cucumbers")
            article["text"] = article["text"].rpartition("\n\n")[0]
            return items

        assert broken_by(shortened) == ["articles and products delivered exactly once"]


def without(page_id: str) -> Change:
    return lambda items: [item for item in items if item["id"] != page_id]


@pytest.fixture(scope="module")
def workers_data(project: Path) -> Path:
    """What ``python run_workers.py`` left behind."""
    executable("redis-server", "redis-server", "/usr/bin")
    pytest.importorskip("scrapy_redis")
    done = run_python([project / "run_workers.py"], cwd=project)
    table = LINE.findall(done.stdout)
    assert {word for word, *_ in table} == {"kept"}, done.stdout + done.stderr
    assert len(table) == 11
    assert done.returncode == 0
    return project / "data"


@pytest.mark.slow
@pytest.mark.redis
class TestTwoWorkers:
    """``python run_workers.py``: two crawlers share requests and fingerprints, and end when there is nothing to do."""

    def test_deliver_every_article_and_product_once_between_them(self, workers_data: Path) -> None:
        files = sorted(workers_data.glob("worker-*.jsonl"))
        assert len(files) == 2
        lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
        delivered = Counter(json.loads(line)["id"] for line in lines)
        assert {name: delivered[name] for name in ids("articles", "products") if delivered[name] != 1} == {}

    def test_share_the_work(self, workers_data: Path) -> None:
        """Each fetched pages that the other did not, each dropped some, and each was spared some."""
        logs = [log.read_text(encoding="utf-8") for log in sorted(workers_data.glob("worker-*.log"))]
        judged, dropped, skipped = (
            [int(re.findall(rf"(\d+) {what}", log)[-1]) for log in logs]
            for what in ("pages judged", "pages dropped", "skipped")
        )
        assert min(judged) > 20
        assert min(dropped) > 0
        assert min(skipped) > 0
        assert sum(judged) < 500, "a worker alone that skips nothing judges some 540"

    def test_log_no_error(self, workers_data: Path) -> None:
        lines = [
            line for log in workers_data.glob("worker-*.log") for line in log.read_text(encoding="utf-8").splitlines()
        ]
        assert [line for line in lines if " ERROR: " in line or "Traceback" in line] == []
