"""Documents as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.report.calibration_html import render_calibration
from scrapy_simdedup.report.html import render

if TYPE_CHECKING:
    from scrapy_simdedup.report.calibration import Calibration
    from scrapy_simdedup.report.data import Report
    from scrapy_simdedup.settings import DedupSettings


def write_report(report: Report, path: str | Path) -> None:
    """Write it: as JSON to a name that ends with .json, else as HTML. It takes its place only when it is complete.

    Raises:
        OSError: the file cannot be written.
    """
    _write(path, _json(report.as_dict()) if _is_json(path) else render(report))


def write_calibration(found: Calibration, settings: DedupSettings, path: str | Path) -> None:
    """Write it as :func:`write_report` does.

    Raises:
        OSError: the file cannot be written.
    """
    _write(path, _json(found.as_dict()) if _is_json(path) else render_calibration(found, settings))


def _is_json(path: str | Path) -> bool:
    return Path(path).suffix == ".json"


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=1)


def _write(path: str | Path, text: str) -> None:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", errors="replace")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
