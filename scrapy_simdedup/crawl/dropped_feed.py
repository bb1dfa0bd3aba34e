"""The feed of dropped pages: a line for each, written while the crawl runs."""

from __future__ import annotations

import csv
import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from scrapy_simdedup.detect.verdict import Verdict

logger = logging.getLogger(__name__)

FIELDS = "url", "original", "similarity", "kind", "own_words"
"""What a line has, in this order."""


class DroppedFeed:
    """Writes what was dropped, and in favour of what. Like Scrapy's feeds it adds to a file that is there.

    No failure of the feed costs a page: it is logged, and no more is written to that file.

    Args:
        paths: ``.jsonl`` or ``.jl`` for JSON lines, ``.csv`` for CSV.
    """

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = paths
        self._files: dict[str, TextIO] = {}

    def open(self) -> None:
        """Open the files, and make their folders."""
        for path in self._paths:
            try:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                # Buffered by the line, so that it can be read while the crawl runs.
                file = Path(path).open("a", buffering=1, encoding="utf-8", newline="")  # noqa: SIM115 - for the crawl
                self._files[path] = file
                if path.endswith(".csv") and not file.tell():
                    csv.writer(file).writerow(FIELDS)
            except OSError as exc:  # noqa: PERF203 - the other files are written nevertheless
                self._give_up(path, exc)

    def write(self, url: str, verdict: Verdict) -> None:
        """Write the line of a page."""
        similarity = None if verdict.similarity is None else round(verdict.similarity, 3)
        values = url, verdict.original, similarity, verdict.kind, verdict.own_words
        row = dict(zip(FIELDS, values, strict=True))
        for path, file in list(self._files.items()):
            try:
                if path.endswith(".csv"):
                    csv.writer(file).writerow(row.values())
                else:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            except (OSError, ValueError) as exc:  # noqa: PERF203 - as above
                self._give_up(path, exc)

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            with suppress(OSError):
                file.close()
        self._files.clear()

    def _give_up(self, path: str, exc: Exception) -> None:
        logger.error("The dropped pages are no longer written to %s: %s", path, exc)
        file = self._files.pop(path, None)
        if file is not None:
            with suppress(OSError):
                file.close()
