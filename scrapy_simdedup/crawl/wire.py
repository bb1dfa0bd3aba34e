"""A stream of frames to another process, which never blocks, on asyncio or on any Twisted reactor."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, cast

from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import deferred_from_coro
from twisted.internet import main
from twisted.internet.abstract import FileDescriptor

from scrapy_simdedup.fingerprint.worker import LENGTH, framed

if TYPE_CHECKING:
    from collections.abc import Callable

SEND_BUFFER = 256 * 1024
"""Bytes that the system takes at once: nearly any page."""


class Wire(asyncio.Protocol):
    """One end.

    Args:
        end: a connected socket, which it closes.
        on_frame: called with each frame that comes.
        on_end: called once, when there is no other end any more.
    """

    def __init__(self, end: socket.socket, *, on_frame: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_frame, self._on_end = on_frame, on_end
        self._received = bytearray()
        self._is_finished = False
        self._transport: asyncio.Transport | _Descriptor | None = None
        if is_asyncio_available():
            connected = asyncio.get_event_loop().create_connection(lambda: self, sock=end)
            deferred_from_coro(connected)
        else:
            self._transport = _Descriptor(end, self)

    def send(self, frame: bytes) -> None:
        """Send a frame; to an end that was lost, nothing."""
        if self._transport is not None:
            self._transport.write(framed(frame))

    def finish(self) -> None:
        """Let the other side see that nothing more comes."""
        self._is_finished = True
        if isinstance(self._transport, _Descriptor):
            self._transport.finish()
        elif self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    # ------------------------------------------------------------------ called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Frames can be sent."""
        self._transport = cast("asyncio.Transport", transport)
        if self._is_finished:
            self.finish()

    def data_received(self, data: bytes) -> None:
        """Give on the frames that are whole."""
        self._received += data
        while len(self._received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self._received)[0]
            if len(self._received) < end:
                return
            frame = bytes(self._received[LENGTH.size : end])
            del self._received[:end]
            self._on_frame(frame)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - whatever it was
        """There is no other side any more."""
        self._on_end()


class _Descriptor(FileDescriptor):
    """The same socket in the hands of a Twisted reactor; ``adoptStreamConnection`` takes internet addresses alone."""

    connected = 1

    def __init__(self, end: socket.socket, wire: Wire) -> None:
        super().__init__()  # with the reactor that is installed
        self._end, self._wire = end, wire
        end.setblocking(False)
        self.startReading()  # type: ignore[no-untyped-call]

    def finish(self) -> None:
        self.loseWriteConnection()  # type: ignore[no-untyped-call]  # Twisted's is not typed, nor are the others

    def fileno(self) -> int:
        return self._end.fileno()

    def doRead(self) -> Any:  # noqa: N802 - Twisted's name
        try:
            data = self._end.recv(65_536)
        except BlockingIOError:
            return None
        except OSError:
            return main.CONNECTION_LOST
        if not data:
            return main.CONNECTION_DONE
        return self._wire.data_received(data)

    def writeSomeData(self, data: bytes) -> Any:  # noqa: N802 - Twisted's name
        try:
            return self._end.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return main.CONNECTION_LOST

    def _closeWriteConnection(self) -> None:  # noqa: N802 - Twisted's name
        self._end.shutdown(socket.SHUT_WR)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - Twisted's name
        super().connectionLost(reason)  # type: ignore[no-untyped-call]
        self._end.close()
        self._wire.connection_lost(None)
