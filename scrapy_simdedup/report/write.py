"""A report as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simdedup.report.html import render

if TYPE_CHECKING:
    from scrapy_simdedup.report.data import Report


def write_report(report: Report, path: str | Path) -> None:
    """Write it: as JSON to a name that ends with .json, else as HTML. It takes its place only when it is complete.

    Raises:
        OSError: the file cannot be written.
    """
    path = Path(path)
    text = json.dumps(report.as_dict(), indent=1) if path.suffix == ".json" else render(report)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", errors="replace")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
