"""Keyed hashes and keyed chance: the same in every process, unpredictable without the key."""

from __future__ import annotations

from hashlib import blake2b

MASK = (1 << 64) - 1
"""Identities are sums of hashes modulo 2**64."""


class KeyedHash:
    """Texts → 64 bits (BLAKE2b, RFC 7693). Without the key nobody can choose URLs that collide."""

    __slots__ = ("key",)

    def __init__(self, key: bytes) -> None:
        self.key = key

    def __call__(self, *texts: str) -> int:
        """Hash texts; where one ends and the next begins matters."""
        message = "\0".join(texts).encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(message, digest_size=8, key=self.key).digest(), "big")


class Chance:
    """A reproducible stream of numbers in [0, 1), so that a site cannot know which skip will be verified."""

    __slots__ = ("_hash", "state")

    def __init__(self, hashed: KeyedHash, state: int) -> None:
        self._hash = hashed
        self.state = state
        """Where the stream is; all that has to be stored."""

    def draw(self) -> float:
        """The next number."""
        self.state = self._hash("chance", str(self.state))
        return self.state / 2**64
