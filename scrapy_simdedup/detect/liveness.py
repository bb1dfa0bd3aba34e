"""Whether the worker that reserved a page is still there to deliver it."""

from __future__ import annotations

import os
import secrets
import socket

BEAT_SECONDS = 10.0
"""How often a worker says that it is alive."""
LEASE_SECONDS = 45.0
"""How long a worker may be silent before what it reserved is free."""


def worker_name() -> str:
    """A name for this process that tells others on the same host how to look for it."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def is_alive(worker: str, beat: float | None, now: float) -> bool:
    """Whether the worker may still deliver.

    Where this is mistaken about a living worker, a page is kept twice; nothing is lost.

    Args:
        worker: its name.
        beat: when it was last heard of, in seconds since the epoch; None if never.
        now: the time.
    """
    host, _, rest = worker.partition(":")
    if os.name == "posix" and host == socket.gethostname() and rest.partition(":")[0].isdigit():
        try:
            os.kill(int(rest.partition(":")[0]), 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            pass  # somebody else's process; the beat decides
    return beat is not None and now - beat < LEASE_SECONDS
