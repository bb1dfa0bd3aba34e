"""The command as Scrapy sees it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.command_line import Crawled, perform_here, simdedup
from scrapy_simdedup.commands import actions

pytestmark = pytest.mark.slow


def test_loading_it_brings_nothing_that_other_commands_would_pay_for() -> None:
    script = (
        "import sys, scrapy.commands; before = set(sys.modules); import scrapy_simdedup.commands; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=180)
    assert done.stdout.split() == ["scrapy_simdedup", "scrapy_simdedup.commands"]


def test_other_commands_load_nothing_more_with_it_than_without(tmp_path: Path) -> None:
    """``scrapy version`` is as fast as ever: two small modules of ours, and what they need is there already."""
    script = "\n".join(
        (
            "import sys, scrapy.cmdline",
            "found = scrapy.cmdline.entry_points(group='scrapy.commands')",
            "others = [command for command in found if command.name != 'simdedup']",
            "if sys.argv.pop() == 'without': scrapy.cmdline.entry_points = lambda group: others",
            "try: scrapy.cmdline.execute(['scrapy', 'version'])",
            "finally: print(*sys.modules)",
        )
    )
    loaded = []
    for way in ("with", "without"):
        command = [sys.executable, "-c", script, way]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=180)
        loaded.append(set(done.stdout.split()))
    assert loaded[0] - loaded[1] == {"scrapy_simdedup", "scrapy_simdedup.commands"}


def test_scrapy_lists_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scrapy"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=180
    )
    assert "simdedup " in done.stdout


def test_its_help_names_every_action_with_what_it_does(tmp_path: Path) -> None:
    answer = simdedup("-h", cwd=tmp_path)
    words = " ".join(answer.out.split())
    assert answer.code == 0
    for name, action in actions().items():
        assert f"{name} " in words
        assert action.summary in words


@pytest.mark.parametrize("name", actions())
def test_every_action_takes_a_store_and_gives_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        perform_here(name, "-h")
    said = capsys.readouterr().out
    assert "--store URL" in said
    assert "--json" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["check"], "name a store that lasts"),
        (["check", "--store", "memory:"], "name a store that lasts"),
        (["check", "--store", "sqlite:///gone.sqlite"], "there is no such file"),
        (["check", "--store", "paper://x"], "write a store URL such as"),
        (["compare", "gone.html", "gone.html"], "gone.html: No such file or directory"),
        (["check", "-s", "SIMDEDUP_BITS=12"], "write 64 or 128"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(arguments: list[str], sentence: str) -> None:
    answer = perform_here(*arguments)
    assert answer.code == 2
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
    assert not Path("gone.sqlite").exists(), "nothing is created by asking"


def test_a_store_that_does_not_last_is_named_without_its_password() -> None:
    answer = perform_here("check", "--store", "memory:user:hunter2@host")
    assert "memory:***@host" in answer.err
    assert "hunter2" not in answer.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["check", "everything"], "unrecognized arguments: everything"),
        (["chek"], "invalid choice: 'chek'"),
        ([], "the following arguments are required: <action>"),
    ],
)
def test_what_nobody_understands_is_refused(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    answer = simdedup(*arguments, cwd=tmp_path)
    assert answer.code == 2
    assert sentence in answer.err
    assert "Traceback" not in answer.err


def test_a_bug_is_not_taken_for_the_answer_no(crawled: Crawled, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(call: object) -> int:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setitem(actions(), "check", replace(actions()["check"], run=bug))
    answer = crawled.call("check")
    assert answer.code == 2
    assert "ZeroDivisionError: a bug of ours" in answer.err


def test_settings_may_stand_on_either_side_of_the_action(crawled: Crawled) -> None:
    setting = f"SIMDEDUP_STORE={crawled.store}"
    before = perform_here("-s", setting, "check", "--json")
    behind = perform_here("check", "--json", "-s", setting)
    assert before.json == behind.json
    assert before.json["sound"]


def test_the_project_says_where_the_store_is(crawled: Crawled, tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project.settings\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/__init__.py").touch()
    (tmp_path / "project/settings.py").write_text(f'SIMDEDUP_STORE = "{crawled.store}"\n')
    assert simdedup("check", "--json", cwd=tmp_path).json["pages"] == 12


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_reason_for_a_traceback(crawled: Crawled) -> None:
    command = f"{sys.executable} -m scrapy simdedup export --store {crawled.store} | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=180)
    assert done.stderr == ""
