"""What is said reads well on a terminal, in a file and in a program."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import threading
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import Crawled
from helpers.pages import page
from helpers.warm_python import start_python
from scrapy_simdedup.commands import console as module
from scrapy_simdedup.commands.console import Bad, Console, StyledLine, format_table, positive_int, printable, read_share


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(*arguments: object, cwd: Path, **environment: str) -> str:
    """What ``scrapy simdedup ...`` writes on a terminal of 100 columns."""
    ours, its = pytest.importorskip("pty").openpty()
    variables = {**os.environ, "COLUMNS": "100", "TERM": "xterm", "NO_COLOR": "", **environment}
    said: list[bytes] = []

    def listen() -> None:
        try:
            while part := os.read(ours, 65_536):
                said.append(part)
        except OSError:  # Linux says so when the last writer has closed it
            pass

    listener = threading.Thread(target=listen)
    listener.start()
    words = ["-m", "scrapy", "simdedup", *arguments]
    process = start_python(words, cwd=cwd, env=variables, streams=[Path(os.ttyname(its))] * 3)
    process.join(120)
    os.close(its)
    listener.join(30)
    os.close(ours)
    return b"".join(said).decode()


class TestTables:
    def test_numbers_stand_on_the_right_and_nothing_is_a_dash(self) -> None:
        rows = [(1234567, "one", 0.5), (8, None, None)]
        assert list(format_table(("#pages", "name", "#similarity"), rows)) == [
            "    pages  name  similarity",
            "1,234,567  one        0.500",
            "        8  -              -",
        ]

    def test_a_line_that_is_too_long_for_the_terminal_is_cut(self) -> None:
        _, line = format_table(("#n", "url"), [(1, "http://a.example/" + "x" * 100)], width=20)
        assert line == "1  http://a.example…"

    def test_they_can_stand_under_something(self) -> None:
        assert list(format_table(("name",), [("one",)], indent="  ")) == ["  name", "  one"]


class TestAnswers:
    def test_what_would_steer_a_terminal_is_taken_out(self) -> None:
        assert printable("\x1b[31mred\x07\u202e\n東京") == "\ufffd[31mred\ufffd\ufffd\n東京"

    def test_what_stands_out_is_coloured_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        out = Terminal()
        Console(out, io.StringIO(), as_json=False).print_answer(None, [StyledLine("yes"), "so", Bad("\x1b[0mno")])
        assert out.getvalue() == "\x1b[1myes\x1b[0m\nso\n\x1b[31m\ufffd[0mno\x1b[0m\n"

    @pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
    def test_nothing_is_coloured_for_who_does_not_want_it(
        self, monkeypatch: pytest.MonkeyPatch, name: str, value: str
    ) -> None:
        monkeypatch.setenv(name, value)
        out = Terminal()
        Console(out, io.StringIO(), as_json=False).print_answer(None, [StyledLine("yes")])
        assert out.getvalue() == "yes\n"

    def test_json_is_json_whatever_the_text(self) -> None:
        out = Terminal()
        Console(out, io.StringIO(), as_json=True).print_answer({"url": "http://a.example/\ud800\x1b"}, ["not this"])
        assert json.loads(out.getvalue()) == {"url": "http://a.example/\ud800\x1b"}


class TestProgress:
    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "TERMINAL_INTERVAL", 0)
        monkeypatch.setattr(module, "FILE_INTERVAL", 0)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")

    def test_is_a_bar_on_a_terminal_that_goes_in_the_end(self) -> None:
        err = Terminal()
        with Console(io.StringIO(), err, as_json=False).progress("pages read", 400) as show:
            show(100)
            show(400)
        _, first, last, end = err.getvalue().split("\r\x1b[K")
        assert re.fullmatch(r"█{8}░{22}   25%  100 pages read, [\d,]+ per second, 0:00:00 left", first)
        assert last.startswith("█" * 30 + "  100%  400 pages read, ")
        assert end == ""
        assert "\n" not in err.getvalue()

    @pytest.mark.parametrize("total", [None, 50])
    def test_has_no_bar_where_the_end_is_not_known_or_was_passed(self, total: int | None) -> None:
        err = Terminal()
        with Console(io.StringIO(), err, as_json=False).progress("pages read", total) as show:
            show(100)
        assert err.getvalue().startswith("\r\x1b[K100 pages read, ")

    def test_does_not_run_over_the_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "40")
        err = Terminal()
        with Console(io.StringIO(), err, as_json=False).progress("pages read", 400) as show:
            show(100)
        assert max(map(len, err.getvalue().split("\r\x1b[K"))) == 39

    def test_is_a_line_now_and_then_in_a_file(self) -> None:
        err = io.StringIO()
        with Console(io.StringIO(), err, as_json=False).progress("pages read", 2_000) as show:
            show(1_000)
        assert err.getvalue().startswith(" 50%  1,000 pages read, ")
        assert err.getvalue().endswith("\n")
        assert "\x1b" not in err.getvalue()

    @pytest.mark.parametrize("opened", [open, gzip.open])
    def test_knows_how_much_of_a_file_was_read(self, tmp_path: Path, opened: Callable[..., Any]) -> None:
        file = tmp_path / "file"
        with opened(file, "wb") as writing:
            writing.write(os.urandom(1_000_000))
        with opened(file, "rb") as reading:
            share = read_share(reading)
            assert share is not None
            assert share(0) < 0.1
            reading.read(500_000)
            assert 0.4 < share(1) < 0.6
            reading.read()
            assert share(2) == 1

    def test_knows_no_end_of_a_pipe(self) -> None:
        assert read_share(io.BytesIO(b"text")) is None
        read, write = os.pipe()
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            assert read_share(pipe) is None


def test_short_work_is_silent() -> None:
    err = Terminal()
    with Console(io.StringIO(), err, as_json=False).progress("pages read") as show:
        show(1)
    assert err.getvalue() == ""


@pytest.mark.slow
class TestOnATerminal:
    """The command itself."""

    def test_the_answer_is_coloured(self, crawled: Crawled) -> None:
        arguments = "check", "--store", crawled.store
        said = on_a_terminal(*arguments, cwd=crawled.directory)
        assert re.search(r"\x1b\[32msqlite:///.* is sound\x1b\[0m\r\n", said)
        assert "\x1b[" not in on_a_terminal(*arguments, cwd=crawled.directory, NO_COLOR="1")
        assert json.loads(on_a_terminal(*arguments, "--json", cwd=crawled.directory))["sound"]

    def test_long_work_shows_a_bar_and_leaves_the_answer_alone(self, tmp_path: Path) -> None:
        feed = tmp_path / "feed.jsonl"
        feed.write_text("".join(json.dumps({"html": page(number % 20, number)}) + "\n" for number in range(300)))
        said = on_a_terminal("dedupe", feed, cwd=tmp_path)
        assert re.search(r"\r\x1b\[K█+░+ +\d+%  \d+ items judged, \d+ per second, 0:00:\d\d left", said)
        assert said.split("\r\x1b[K")[-1] == "300 items: 20 kept, 280 dropped (280 identical, 20 new)\r\n"


@pytest.mark.parametrize("text", ["0", "-1"])
def test_a_number_of_things_is_at_least_one(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        positive_int(text)
