"""A site on loopback for every test that wants one, and stores on real servers."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings

from helpers.documents import OWN_STORE, blocks_of
from helpers.servers import PostgresqlServer, RedisCluster, RedisServer
from helpers.site_server import Site
from scrapy_simdedup.detect import detector

# The same examples everywhere and no clock: what fails here fails for everyone. `tox -e fuzz` looks for new examples.
settings.register_profile("unhurried", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
gc.set_threshold(10_000)  # most of what the tests make is gone before the garbage collector comes


@pytest.fixture(autouse=True)
def drawn_secrets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The secrets that stores make for themselves differ from each other, and are the same whenever a test is run."""
    drawn = random.Random(request.node.name)
    monkeypatch.setattr(detector, "secrets", SimpleNamespace(token_hex=lambda size: drawn.randbytes(size).hex()))


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on a free loopback port; set its pages with ``site[path] = ...``."""
    with Site() as running:
        yield running


@pytest.fixture(scope="module")
def awake() -> Iterator[None]:
    """An old Scrapy sleeps before each of hundreds of callbacks; a tenth of that is long enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scrapy.utils.defer._DEFER_DELAY", 0.01, raising=False)
        yield


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    with PostgresqlServer("-c", "fsync=off") as server:
        yield server


@pytest.fixture
def memory_store() -> str:
    return "memory:"


@pytest.fixture
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store that the guide writes, in a file."""
    (code,) = [block.text for block in blocks_of(OWN_STORE) if block.file == "line_store.py"]
    module = ModuleType("line_store")
    exec(code, vars(module))
    monkeypatch.setitem(sys.modules, "line_store", module)
    return f"line_store.LineStore:{(tmp_path / 'pages.lines').as_posix()}"


@pytest.fixture
def sqlite_store(tmp_path: Path) -> str:
    return f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"


@pytest.fixture
def redis_store(redis_server: RedisServer) -> str:
    redis_server.ask("FLUSHALL")
    return redis_server.url


@pytest.fixture
def cluster_store(redis_cluster: RedisCluster) -> str:
    for node in redis_cluster.nodes:
        node.ask("FLUSHALL")
    return redis_cluster.url


@pytest.fixture
def postgresql_store(postgresql_server: PostgresqlServer) -> str:
    return postgresql_server.empty()


REMOTE = [
    pytest.param("redis", marks=pytest.mark.redis),
    pytest.param("cluster", marks=pytest.mark.redis),
    pytest.param("postgresql", marks=pytest.mark.postgresql),
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Empty stores: any, those of this package, those that processes can share, those on servers.

    Of these again those whose server is one process.
    """
    names = {
        "any_url": ["memory", "own", "sqlite", *REMOTE],
        "store_url": ["memory", "sqlite", *REMOTE],
        "shared_url": ["sqlite", *REMOTE],
        "remote_url": REMOTE,
        "server_url": REMOTE[::2],
    }
    for name, kinds in names.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, kinds, indirect=True)


@pytest.fixture
def store_url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(f"{request.param}_store")


any_url = shared_url = remote_url = server_url = store_url
