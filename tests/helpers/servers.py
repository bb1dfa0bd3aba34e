"""Database servers for tests, on free loopback ports; each is stopped by its process id."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

START_SECONDS = 180.0
"""How long something may take on a machine that has much else to do, before nothing will come of it."""
PASSWORD = "geheim"


def free_port() -> int:
    """A port that is free with the one 10,000 above, where a node of a cluster talks to the others.

    Both are below those that systems give to whoever asks for any port, so that a server finds its own again however
    late it begins to listen, and after a restart.
    """
    while True:
        port = random.SystemRandom().randrange(10_000, 22_768)
        with socket.socket() as probe, socket.socket() as bus, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            bus.bind(("127.0.0.1", port + 10_000))
            return port


class Server:
    """One process with a directory of its own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="simdedup-"))  # short enough for a socket, open to other users
        self.process: subprocess.Popen[bytes] | None = None
        self._frozen: list[int] = []

    command: Sequence[str | Path]
    user: str | None = None

    def is_ready(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                list(map(str, self.command)), stdout=log, stderr=log, user=self.user, cwd=self.directory
            )
        process = self.process
        wait_until(lambda: process.poll() is not None or self.is_ready())
        if process.returncode is not None:
            pytest.fail((self.directory / "log").read_text(errors="replace")[-2000:])

    def pids(self) -> list[int]:
        """Its processes."""
        return [] if self.process is None else [self.process.pid]

    def freeze(self) -> None:
        """Answer nobody any more, without closing a connection."""
        self._frozen = self.pids()
        for pid in self._frozen:
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        while self._frozen:
            os.kill(self._frozen.pop(), signal.SIGCONT)

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.thaw()
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(timeout=START_SECONDS)
            self.process = None

    def __enter__(self) -> Any:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.directory)


class RedisServer(Server):
    """Keeps what it has over a restart, as far as it was told to save it."""

    def __init__(self, *options: str, password: str | None = None) -> None:
        super().__init__()
        self.password = password
        self.command = [
            executable("redis-server", "redis-server", "/usr/bin"),
            *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory)),
            *("--unixsocket", str(self.directory / "redis.sock"), "--save", "", "--appendonly", "yes"),
            *(["--requirepass", password] if password else []),
            *options,
        ]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def ask(self, *words: Any) -> Any:
        with redis.Redis(port=self.port, password=self.password) as client:
            return client.execute_command(*words)

    def is_ready(self) -> bool:
        try:
            return bool(self.ask("PING"))
        except redis.ConnectionError:
            return False


class RedisCluster:
    """Nodes that share the slots, with as many replicas if wanted."""

    def __init__(self, replicas: bool = False) -> None:
        # A node is replaced soon if it has a replica; else it is waited for, however long a busy machine lets it stand.
        timeouts = "--cluster-node-timeout", "500" if replicas else "60000", "--cluster-replica-validity-factor", "0"
        options = "--cluster-enabled", "yes", *timeouts
        self.nodes = [RedisServer(*options) for _ in range(6 if replicas else 3)]
        self.primaries, self.replicas = self.nodes[:3], self.nodes[3:]

    @property
    def url(self) -> str:
        return f"redis+cluster://127.0.0.1:{self.primaries[0].port}"

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        for number, node in enumerate(self.primaries):
            node.ask("CLUSTER", "ADDSLOTSRANGE" if has_ranges(node) else "ADDSLOTS", *slots(number, has_ranges(node)))
        wait_until(self._have_met)
        for replica, primary in zip(self.replicas, self.primaries, strict=False):
            replica.ask("CLUSTER", "REPLICATE", primary.ask("CLUSTER", "MYID"))
        wait_until(lambda: all(b"cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in self.nodes))

    def _have_met(self) -> bool:
        """Nodes that do not know all others ask again: of a handshake that a busy machine holds up nothing is left."""
        strangers = [node for node in self.nodes if known_nodes(node) < len(self.nodes)]
        for node in strangers:
            node.ask("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port)
        return not strangers

    def __enter__(self) -> RedisCluster:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.__exit__()


def known_nodes(node: RedisServer) -> int:
    """With how many nodes of a cluster a node has ended its handshake, itself among them."""
    return sum(b"handshake" not in line for line in node.ask("CLUSTER", "NODES").splitlines())


def has_ranges(node: RedisServer) -> bool:
    return int(node.ask("INFO", "server")["redis_version"].split(".")[0]) >= 7


def slots(third: int, as_range: bool) -> list[int]:
    first, last = 16384 * third // 3, 16384 * (third + 1) // 3 - 1
    return [first, last] if as_range else list(range(first, last + 1))


class PostgresqlServer(Server):
    """Owned by a user of its own where tests run as root, which PostgreSQL refuses."""

    def __init__(self, *options: str) -> None:
        super().__init__()
        self.user = "postgres" if hasattr(os, "geteuid") and os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.directory, self.user)
        programs = executable("initdb", "postgresql", *postgresql_programs()).parent
        data, password = self.directory / "data", self.directory / "password"
        password.write_text(PASSWORD)
        if self.user:
            shutil.chown(password, self.user)
        options_of_initdb = "-U", "simdedup", "-A", "scram-sha-256", "--pwfile", password, "-E", "UTF8"
        command = [programs / "initdb", "-D", data, *options_of_initdb]
        subprocess.run(command, check=True, capture_output=True, user=self.user, cwd=self.directory)
        self.command = [
            programs / "postgres",
            *("-D", data, "-p", str(self.port), "-k", str(self.directory)),
            *("-c", "listen_addresses=127.0.0.1", "-c", "max_connections=60"),
            *options,
        ]
        self._schemas = 0

    @property
    def url(self) -> str:
        return f"postgresql://simdedup:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def empty(self) -> str:
        """The URL of an empty schema."""
        self._schemas += 1
        self.ask(f"CREATE SCHEMA test_{self._schemas}")
        return f"{self.url}?options=-csearch_path%3Dtest_{self._schemas}"

    def pids(self) -> list[int]:
        """Its clients have a process each."""
        rows = self.ask("SELECT pid FROM pg_stat_activity WHERE client_port IS NOT NULL AND pid <> pg_backend_pid()")
        return [pid for (pid,) in rows] + super().pids()

    def ask(self, statement: str) -> list[Any]:
        with psycopg.connect(self.url, autocommit=True) as db:
            cursor = db.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def is_ready(self) -> bool:
        try:
            return self.ask("SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False

    def stop(self, number: int = signal.SIGQUIT) -> None:
        """SIGQUIT waits neither for clients to leave nor for the disk; the next start recovers."""
        super().stop(number)


def postgresql_programs() -> list[str]:
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    return [str(path) for path in sorted(versions, key=lambda path: float(path.parent.name), reverse=True)]


def executable(name: str, package: str, *places: str) -> Path:
    """A server's program; installed on Debian if it is missing, without starting any service."""
    found = _find(name, *places)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        with _one_at_a_time():
            found = _find(name, *places, *postgresql_programs())
            if found is None:
                _install(package)
                found = _find(name, *places, *postgresql_programs())
    if found is None:
        problem = f"{name} is not installed (package {package})"
        if os.environ.get("CI") == "true":
            pytest.fail(problem)
        pytest.skip(problem)
    return found


def _find(name: str, *places: str) -> Path | None:
    found = shutil.which(name, path=os.pathsep.join((*places, os.environ.get("PATH", ""))))
    return Path(found) if found else None


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Processes of tests that run side by side miss the same servers at the same time."""
    import fcntl

    with (Path(tempfile.gettempdir()) / "simdedup-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(package: str) -> None:
    policy = Path("/usr/sbin/policy-rc.d")
    ours = not policy.exists()
    if ours:  # Debian starts what it installs, unless this says no
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        for words in (["update"], ["install", "-y", "--no-install-recommends", package]):
            subprocess.run(
                ["apt-get", "-qq", *words],
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
                check=False,
                capture_output=True,
            )
    finally:
        if ours:
            policy.unlink()


def wait_until(is_so: Callable[[], object]) -> None:
    give_up = time.monotonic() + START_SECONDS
    while not is_so():
        if time.monotonic() > give_up:
            pytest.fail(f"nothing came of it in {START_SECONDS:g} seconds")
        time.sleep(0.02)
