"""The name of a run, and the store of a job."""

from __future__ import annotations

import secrets
from datetime import datetime, timezone
from pathlib import Path


def run_name(spider: str, jobdir: str | None) -> str:
    """A new name for each crawl; a job that is paused and resumed keeps the one in its directory."""
    name = f"{spider}-{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    if not jobdir:
        return name
    note = Path(jobdir) / "simdedup.run"
    note.parent.mkdir(parents=True, exist_ok=True)
    known = note.read_text(encoding="utf-8").strip() if note.exists() else ""
    if not known:  # it is empty where the disk was full, or the process was killed, when it was written
        note.write_text(name + "\n", encoding="utf-8")
    return known or name


def spider_of(run: str) -> str:
    """Whose run it is, given a name that :func:`run_name` made."""
    return run.rsplit("-", 2)[0]


def job_store(jobdir: str) -> str:
    """The URL of the store of a crawl that has a JOBDIR and names no other."""
    return f"sqlite:///{(Path(jobdir).absolute() / 'simdedup.sqlite').as_posix()}"
