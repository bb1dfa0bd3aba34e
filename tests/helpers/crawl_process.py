"""Crawls in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("crawl_script.py")


def run(kind: str, urls: list[str], script: Path = SCRIPT, **settings: Any) -> dict[str, Any]:
    """Crawl in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(script), kind, *urls],
        env=os.environ | {"SETTINGS": json.dumps(settings)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]) | {"log": done.stderr}
