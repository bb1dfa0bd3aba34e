"""A way to a server on which every answer takes its time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def slow_way(port: int, seconds: float) -> AsyncIterator[int]:
    """A port on loopback, behind which each part of an answer of the server is held for some seconds."""
    ways: set[asyncio.Task[None]] = set()

    async def pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter, delay: float) -> None:
        with suppress(OSError):
            while part := await source.read(1 << 16):
                await asyncio.sleep(delay)
                target.write(part)
                await target.drain()
        target.close()

    async def open_way(source: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        answers, target = await asyncio.open_connection("127.0.0.1", port)
        for way in (pass_on(source, target, 0.0), pass_on(answers, back, seconds)):
            task = asyncio.ensure_future(way)
            ways.add(task)
            task.add_done_callback(ways.discard)

    server = await asyncio.start_server(open_way, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for way in list(ways):
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
