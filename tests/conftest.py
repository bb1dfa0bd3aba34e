"""A site on loopback for every test that wants one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from site_server import Site


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on a free loopback port; set its pages with ``site[path] = ...``."""
    with Site() as running:
        yield running
