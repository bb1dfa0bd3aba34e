"""The demonstration with two crawlers, which share their requests by scrapy-redis and what they saw by a Redis store.

It starts a Redis on a socket of its own, the shop and both crawlers, and checks what these delivered together. The exit
code is 1 if a promise broke. It needs `redis-server` and scrapy-redis.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import redis
from check import promises_of_items
from run import HERE, shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORKERS = 2
STARTS = ("", "ru/index", "zh/index")
"""Where to begin: one path for each worker, and one for who is done first."""
DATA = HERE / "data"


@contextmanager
def redis_server() -> Iterator[str]:
    """The URL of an empty Redis, while it runs in a process of its own."""
    with TemporaryDirectory() as directory:
        path = f"{directory}/redis.sock"
        command = ["redis-server", "--port", "0", "--unixsocket", path, "--dir", directory, "--save", ""]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                url = f"unix://{path}"
                wait_for(url, server)
                yield url
            finally:
                server.terminate()


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    with redis.Redis.from_url(url) as client:
        while server.poll() is None:
            with suppress(redis.ConnectionError):
                client.ping()
                return
            time.sleep(0.05)
    sys.exit("redis-server did not start")


def crawl(site: str, redis_url: str) -> list[Path]:
    """Let the workers crawl a site.

    Returns:
        What each of them delivered, in JSON lines.
    """
    environment = {**os.environ, "SCRAPY_PROJECT": "workers", "REDIS_URL": redis_url}
    items = [DATA / f"worker-{number}.jsonl" for number in range(1, WORKERS + 1)]
    workers = []
    for file in items:
        log = file.with_suffix(".log")
        log.unlink(missing_ok=True)
        command = [sys.executable, "-m", "scrapy", "crawl", "shared_shop", "-O", str(file), "-s", f"LOG_FILE={log}"]
        workers.append((subprocess.Popen(command, env=environment), log))
    # Not before all are there: the first one would be done before the last one has started.
    for worker, log in workers:
        while worker.poll() is None and not (log.exists() and "Spider opened" in log.read_text(encoding="utf-8")):
            time.sleep(0.05)
    with redis.Redis.from_url(redis_url) as client:
        client.rpush("shared_shop:start_urls", *(site + path for path in STARTS))
    for worker, _ in workers:
        worker.wait()
    return items


def main() -> int:
    os.chdir(HERE)
    DATA.mkdir(exist_ok=True)
    with redis_server() as redis_url, shop() as site:
        items = crawl(site, redis_url)
    for file in items:
        delivered = len(file.read_text(encoding="utf-8").splitlines())
        print(f"{file.stem} delivered {delivered} items; its log is in {file.with_suffix('.log').relative_to(HERE)}")
    table = promises_of_items(*items)
    print("\nWhat was promised of both together:")
    for promise in table:
        print(f"  {promise}")
    return 0 if all(promise.holds for promise in table) else 1


if __name__ == "__main__":
    sys.exit(main())
