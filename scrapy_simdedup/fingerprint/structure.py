"""The structure of a page: a MinHash of its layout paths, which tells a new template from new content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from scrapy_simdedup.fingerprint.hashing import word_hasher
from scrapy_simdedup.fingerprint.methods.minhash import b_bit_values, minhash, resemblance

if TYPE_CHECKING:
    from collections.abc import Collection

STRUCTURE_SIZE = 64
"""Bytes of a structure, one for each permutation."""
SAME_TEMPLATE = 0.6
"""Resemblance from which two structures come from one template."""

Change: TypeAlias = Literal["none", "content", "template", "both"]
"""What changed about a page: nothing, its content, its template, or both."""


def structure_minhash(paths: Collection[str], secret: bytes = b"") -> bytes:
    """The structure of a page with some :func:`~scrapy_simdedup.page.page.layout_paths`, with hashes under a secret."""
    digest = word_hasher(secret).digest
    raw = b"".join(digest(path.encode("utf-8", "surrogatepass")) for path in paths)
    return b_bit_values(minhash(np.frombuffer(raw, "<u8").astype(np.uint64, copy=False), STRUCTURE_SIZE), 8).tobytes()


def structure_resemblance(one: bytes, other: bytes) -> float:
    """Estimate the share of layout paths that two pages have in common, 0 to 1; the standard error is 0.06 at most."""
    return float(resemblance(np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8)[None])[0])


def what_changed(*, same_content: bool, one: bytes, other: bytes) -> Change:
    """Tell a redesign from an edit, by two structures and whether the fingerprints are alike."""
    if structure_resemblance(one, other) >= SAME_TEMPLATE:
        return "none" if same_content else "content"
    return "template" if same_content else "both"
