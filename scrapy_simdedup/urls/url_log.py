"""URLs that are remembered: compressed, numbered, readable one by one."""

from __future__ import annotations

import zlib

BLOCK = 128
"""URLs compressed together."""


class UrlLog:
    """A list of URLs, 10-20 bytes each."""

    __slots__ = ("blocks", "tail")

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.tail: list[str] = []

    def __len__(self) -> int:
        return BLOCK * len(self.blocks) + len(self.tail)

    def __getitem__(self, number: int) -> str:
        return self.block(number // BLOCK)[number % BLOCK]

    def append(self, url: str) -> None:
        """Add a URL at the end."""
        self.tail.append(url)
        if len(self.tail) == BLOCK:
            self.blocks.append(zlib.compress("\n".join(self.tail).encode("utf-8", "surrogatepass"), 6))
            self.tail.clear()

    def block(self, number: int) -> list[str]:
        """The URLs from ``number * BLOCK`` on."""
        if number < len(self.blocks):
            return zlib.decompress(self.blocks[number]).decode("utf-8", "surrogatepass").split("\n")
        return self.tail
