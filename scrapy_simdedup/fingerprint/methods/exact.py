"""Exact digests: the same body, text or content, apart from what is masked; nothing else is alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.evidence import COMMON
from scrapy_simdedup.fingerprint.exact import text_digest
from scrapy_simdedup.fingerprint.methods.base import Kept, Method, Text, plain
from scrapy_simdedup.setting_checks import EXACT_SCOPES, MASKS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.evidence import Evidence
    from scrapy_simdedup.settings import DedupSettings


class Exact(Method):
    """See :mod:`scrapy_simdedup.fingerprint.exact`."""

    evidence = np.dtype([*COMMON])
    variants = len(EXACT_SCOPES) << len(MASKS)

    def variant(self, settings: DedupSettings) -> int:
        """What is digested, and what is masked in it."""
        masked = sum(1 << bit for bit, mask in enumerate(MASKS) if mask in settings.masked)
        return EXACT_SCOPES.index(settings.exact) << len(MASKS) | (masked if settings.exact != "body" else 0)

    def keep(self, text: Text, settings: DedupSettings, secret: bytes) -> Kept:
        """One digest."""
        if settings.exact == "body":
            return Kept(text.body)
        blocks = text.blocks if settings.exact == "text" else text.own_blocks
        return Kept(text_digest((block.text for block in blocks), settings.masked, secret))

    def weigh(self, one: np.void, many: NDArray[np.void]) -> Evidence:
        """All or nothing."""
        return plain(np.zeros(len(many)), one, many)

    def keys(self, one: np.void, resemblance: float) -> NDArray[np.uint32]:  # noqa: ARG002
        """None at all."""
        return np.zeros(0, np.uint32)
