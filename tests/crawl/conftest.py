"""Crawl tests read the log from INFO up."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
