"""The name of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_simdedup.detect.names import run_name


@pytest.mark.parametrize("left", [None, "", "\n"])
def test_a_job_keeps_its_name(tmp_path: Path, left: str | None) -> None:
    """Also if no more than an empty file came of the first attempt to write it down."""
    if left is not None:
        (tmp_path / "simdedup.run").write_text(left)
    name = run_name("shop", str(tmp_path))
    assert name.startswith("shop-")
    assert run_name("shop", str(tmp_path)) == name


def test_without_a_job_each_crawl_has_a_name_of_its_own() -> None:
    assert run_name("shop", None) != run_name("shop", None)
