"""What a detector and a store must agree on, so that fingerprints made in different ways never meet."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from scrapy_simdedup.errors import StoreError
from scrapy_simdedup.fingerprint.fingerprint import ALGORITHM

if TYPE_CHECKING:
    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.store.base import FingerprintStore

REMEDY = "set it back, or name another store"


async def agree(store: FingerprintStore, name: str, settings: DedupSettings) -> bytes:
    """Make sure that the store's fingerprints are made as the settings say, and return the secret under them.

    A new store takes the settings over. Without a secret of their own it gets one that nobody knows, so that nobody
    can build a page that resembles another.

    Args:
        store: an open store.
        name: how errors call it.
        settings: ``method`` and what it is told, ``bits``, ``shingle_size``, ``extractor``, ``role_words``, ``secret``.

    Raises:
        StoreError: they do not agree.
    """
    ours = (
        f"algorithm {ALGORITHM}, {settings.bits} bits, {settings.shingle_size} words per shingle, {settings.extractor}"
    )
    if settings.method == "exact":
        ours += f", exact {settings.exact} without {' '.join(settings.masked) or 'masks'}"
    elif settings.method != "simhash":
        ours += f", {settings.method}"
    if settings.role_words:
        ours += ", role words " + "; ".join(f"{role}: {' '.join(words)}" for role, words in settings.role_words)
    theirs = await store.remember("fingerprint", ours)
    if theirs != ours:
        raise StoreError(name, f"its fingerprints are of {theirs}, and these settings make {ours}", REMEDY)
    own = f"own:{secrets.token_hex(16)}"
    ours = _given(settings.secret) if settings.secret else own
    theirs = await store.remember("secret", ours)
    if settings.secret and theirs == ours:
        return settings.secret.encode()
    if theirs.startswith("own:") and not settings.secret:
        return bytes.fromhex(theirs.removeprefix("own:"))
    raise StoreError(name, "its fingerprints were made under another SIMDEDUP_SECRET", REMEDY)


def _given(secret: str) -> str:
    # The store recognises a secret that was given to it, but does not know it.
    return "given:" + hashlib.blake2b(secret.encode(), digest_size=16, person=b"simdedup secret").hexdigest()
