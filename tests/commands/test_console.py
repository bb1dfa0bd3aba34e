"""What is said reads well on a terminal, in a file and in a program."""

from __future__ import annotations

import io
import json
from argparse import ArgumentTypeError

import pytest

from scrapy_simdedup.commands import console as module
from scrapy_simdedup.commands.console import Console, count, printable, table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_numbers_stand_on_the_right_and_nothing_is_a_dash() -> None:
    rows = [(1234567, "one", 0.5), (8, None, None)]
    assert table(("#pages", "name", "#similarity"), rows).splitlines() == [
        "    pages  name  similarity",
        "1,234,567  one        0.500",
        "        8  -              -",
    ]


def test_a_line_that_is_too_long_for_the_terminal_is_cut() -> None:
    assert (
        table(("#n", "url"), [(1, "http://a.example/" + "x" * 100)], width=20).splitlines()[1] == "1  http://a.example…"
    )


def test_what_would_steer_a_terminal_is_taken_out() -> None:
    assert printable("\x1b[31mred\x07\u202e\n東京") == "\ufffd[31mred\ufffd\ufffd\n東京"


def test_json_is_json_whatever_the_text() -> None:
    out = io.StringIO()
    Console(out, io.StringIO(), as_json=True).answer({"url": "http://a.example/\ud800\x1b"}, "not this")
    assert json.loads(out.getvalue()) == {"url": "http://a.example/\ud800\x1b"}


def test_progress_is_one_line_on_a_terminal_that_goes_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ON_A_TERMINAL", 0)
    err = Terminal()
    with Console(io.StringIO(), err, as_json=False).progress("pages read", 400) as show:
        show(100)
        show(200)
    assert "\r\x1b[K100 of 400 (25%) pages read, " in err.getvalue()
    assert err.getvalue().endswith("\r\x1b[K")
    assert "\n" not in err.getvalue()


def test_progress_is_a_line_now_and_then_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IN_A_FILE", 0)
    err = io.StringIO()
    with Console(io.StringIO(), err, as_json=False).progress("pages read") as show:
        show(1_000)
    assert err.getvalue().startswith("1,000 pages read, ")
    assert err.getvalue().endswith("\n")
    assert "\x1b" not in err.getvalue()


def test_short_work_is_silent() -> None:
    err = Terminal()
    with Console(io.StringIO(), err, as_json=False).progress("pages read"):
        pass
    assert err.getvalue() == ""


@pytest.mark.parametrize("text", ["0", "-1"])
def test_a_number_of_things_is_at_least_one(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        count(text)
