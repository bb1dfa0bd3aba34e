"""The page for newcomers, followed word by word."""

from __future__ import annotations

import contextlib
import json
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.documents import START, blocks_of
from helpers.servers import free_port, wait_until
from helpers.warm_python import run_python

pytestmark = pytest.mark.slow


def test_the_start_page_shows_what_happens(tmp_path: Path) -> None:
    """A reader who does what it says sees what it shows. Only the port is another, and the delay between pages."""
    port = free_port()
    reader = Reader(tmp_path, port)
    try:
        for block in blocks_of(START):
            reader.follow(block.language, block.file, block.text.replace("8000", str(port)))
    finally:
        reader.close()
    items = json.loads((reader.directory / "items.json").read_text(encoding="utf-8"))
    assert len(items) == 4
    assert len(json.loads((reader.directory / "all.json").read_text(encoding="utf-8"))) == 13
    assert (reader.directory / "report.html").stat().st_size > 10_000


def _is_open(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


class Reader:
    """Writes the files that a page names, calls what it says, and compares what it shows."""

    def __init__(self, directory: Path, port: int) -> None:
        self.directory, self.port = directory, port
        self.said = ""
        self.servers: list[subprocess.Popen[bytes]] = []

    def follow(self, language: str, file: str | None, text: str) -> None:
        if language == "python":
            assert file is not None, text
            mode = "a" if file.endswith("settings.py") else "w"
            with (self.directory / file).open(mode, encoding="utf-8") as written:
                written.write(text)
        elif language == "sh":
            for line in text.splitlines():
                self._call(line)
        else:
            for line in text.splitlines():
                assert line in self.said, self.said

    def _call(self, line: str) -> None:
        words = shlex.split(line)
        if words[0] == "cd":
            self.directory /= words[1]
        elif words[0] == "scrapy":
            hurry = ["-s", "DOWNLOAD_DELAY=0"] if words[1] == "crawl" else []
            done = run_python(["-m", *words, *hurry], cwd=self.directory)
            self.said = done.stdout + done.stderr
            assert done.returncode == 0, self.said
        elif words[0] == "python3" and words[1].endswith(".py"):
            call = [sys.executable, *words[1:]]
            self.servers.append(subprocess.Popen(call, cwd=self.directory, stderr=subprocess.DEVNULL))
            wait_until(lambda: _is_open(self.port))
        else:
            assert line in {"python3 -m venv venv", ". venv/bin/activate", "pip install scrapy-simdedup"}

    def close(self) -> None:
        for server in self.servers:
            server.terminate()
            server.wait()
