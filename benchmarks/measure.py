"""How everything here is measured: CPU time, the contenders in turn, ratios within a round, medians over the rounds."""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PACKAGES = (
    "scrapy-simdedup",
    "scrapy",
    "lxml",
    "numpy",
    "mmh3",
    "readability-lxml",
    "html2text",
    "trafilatura",
    "simhash",
    "datasketch",
)


def in_turn(contenders: Mapping[str, Callable[[], object]], rounds: int = 5) -> dict[str, list[float]]:
    """CPU seconds of each contender in each round. Each round begins with another one, so that none is always first."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for call in contenders.values():
        call()  # imports, memos, lazy tables
    names = list(contenders)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            gc.collect()
            start = time.thread_time()
            contenders[name]()
            seconds[name].append(time.thread_time() - start)
    return seconds


def ratio(seconds: Mapping[str, Sequence[float]], one: str, other: str) -> float:
    """The median over the rounds of the ratio within a round, which a busy machine shifts least."""
    return statistics.median(a / b for a, b in zip(seconds[one], seconds[other], strict=True))


def arguments(doc: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write conditions and all figures here")
    return parser


def apart(script: str, job: object, *, name: str = "_run") -> Any:
    """The last line of what a script prints as JSON, called with a job in a process of its own."""
    command = [sys.executable, script, name, json.dumps(job)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def conditions() -> dict[str, Any]:
    """Where and with what the figures came about."""
    versions = {}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    try:
        named = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        named = None
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": f"{os.cpu_count()} x {named[1] if named else platform.processor()}",
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "packages": versions,
    }


def finish(figures: Mapping[str, Any], rows: Sequence[Sequence[str]], target: Path | None) -> None:
    """Print the conditions and the table, and write everything as JSON where that is wanted."""
    said = conditions()
    packages = ", ".join(f"{name} {version}" for name, version in said["packages"].items())
    print(f"{said['date']}, {said['cpu']} (load {said['load']}), Python {said['python']}, {packages}\n")
    print(table(rows))
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps({"conditions": said, **figures}, indent=1) + "\n", encoding="utf-8")


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first row is its head, the first column is text."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("| " + " | ".join(cells) + " |")
        if number == 0:
            lines.append(
                "|" + "|".join("-" * (width + 1) + (":" if at else "-") for at, width in enumerate(widths)) + "|"
            )
    return "\n".join(lines)


def peak_memory() -> float:
    """Peak memory of this process in MB; 0 where the system does not tell."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return int(found[1]) / 1024 if found else 0.0


def memory() -> int:
    """Bytes of this process that lie in memory now; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
