"""Sampled shingles: of a text's shingles those that a modulus divides (Broder, Glassman, Manasse, Zweig 1997).

The same shingle is kept or left out in every text, so what two samples have in common estimates what two texts have:
their resemblance, and how far one contains the other. The modulus is a power of two, the higher the longer the text, so
that a sample is bounded; two samples are compared at the higher one.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simdedup.fingerprint.features import find_shingles
from scrapy_simdedup.fingerprint.hashing import mix
from scrapy_simdedup.fingerprint.word_hashes import word_hashes
from scrapy_simdedup.page.kinds import Kind
from scrapy_simdedup.page.page import Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.word_hashes import Hashes

MOST = 240
"""Shingles of a sample at most; above 120 where anything was left out of it, by and large."""

_LOWER = np.uint64(0xFFFF_FFFF)


class Sample(NamedTuple):
    """The shingles of a text that are left when those are taken that 2^level divides."""

    values: NDArray[np.uint32]
    """Their lower halves, ascending, none of them 0; shape (n,)."""
    level: int
    """0 where nothing was left out: then what is said about two samples is exact."""


def w_shingles(text: str, size: int, secret: bytes = b"") -> Hashes:
    """The distinct runs of ``size`` words of a text, as numbers; ascending, shape (n,)."""
    return np.unique(find_shingles([Block(text, Kind.FIRM, 0)], word_hashes(secret), size).hashes)


def sample(hashes: Hashes, most: int = MOST) -> Sample:
    """Sample a set of shingles, at the lowest level that leaves at most ``most`` of them.

    Args:
        hashes: Evenly spread 64-bit numbers, shape (n,).
        most: At least 1.
    """
    lower = np.unique(hashes & _LOWER).astype(np.uint32)
    return thin(Sample(lower[lower > 0], 0), most)


def thin(found: Sample, most: int) -> Sample:
    """Sample further, until at most ``most`` are left."""
    values, level = found
    while len(values) > most:
        level += 1
        values = values[values & np.uint32((1 << level) - 1) == 0]
    return Sample(values, level)


class Overlap(NamedTuple):
    """How much a text and each of many have in common; shape (n,)."""

    resemblance: NDArray[np.float64]
    """Of all shingles of both, the share that is in both; 0 for two texts without any."""
    containment: NDArray[np.float64]
    """Of the shingles of the one, the share that is in the other, too."""


def overlap(one: Sample, many: NDArray[np.uint32], levels: NDArray[np.integer]) -> Overlap:
    """Estimate what samples have in common.

    Args:
        one: A sample.
        many: The values of others, each filled up with 0; shape (n, m).
        levels: Their levels, shape (n,).
    """
    below = (np.uint32(1) << np.maximum(levels, one.level).astype(np.uint32)) - np.uint32(1)
    mine = (one.values & below[:, None] == 0).sum(axis=1)
    kept = (many > 0) & (many & below[:, None] == 0)
    theirs, shared = kept.sum(axis=1), (kept & np.isin(many, one.values)).sum(axis=1)
    return Overlap(_share(shared, mine + theirs - shared), _share(shared, mine))


def resemblance(one: Sample, other: Sample) -> float:
    """That of two texts, 0 to 1; symmetric."""
    return float(overlap(one, other.values[None], np.array([other.level])).resemblance[0])


def containment(one: Sample, other: Sample) -> float:
    """How much of one text is in the other, 0 to 1."""
    return float(overlap(one, other.values[None], np.array([other.level])).containment[0])


def super_shingles(found: Sample, size: int = 14) -> Hashes:
    """Numbers for every run of ``size`` values of a sample: texts that share one are very much alike.

    One look-up then finds, among texts of the same level, what else many are compared for. Of fewer values there is one
    run.
    """
    values = found.values.astype(np.uint64)
    made = mix(values)
    for _ in range(1, min(size, len(values))):
        values = values[1:]
        made = mix(made[:-1] + values)
    return np.unique(made)


def clusters(samples: Sequence[Sample], threshold: float) -> list[list[int]]:
    """Texts that hang together: each resembles another of its cluster by the threshold at least.

    Which texts share a shingle is read from an inverted index, so that only these are compared.

    Args:
        samples: Of each text.
        threshold: A resemblance above 0.

    Returns:
        The numbers of the texts of each cluster, ascending, the cluster of the first text first.
    """
    texts_of: dict[int, list[int]] = defaultdict(list)
    cluster_of: list[list[int]] = []
    for number, made in enumerate(samples):
        cluster = [number]
        cluster_of.append(cluster)
        values = made.values.tolist()
        for other in sorted({text for value in values for text in texts_of[value]}):
            joined = cluster_of[other]
            if joined is not cluster and resemblance(made, samples[other]) >= threshold:
                joined += cluster
                for member in cluster:
                    cluster_of[member] = joined
                cluster = joined
        for value in values:
            texts_of[value].append(number)
    return [sorted(cluster) for number, cluster in enumerate(cluster_of) if number == min(cluster)]


def _share(part: NDArray[np.integer], whole: NDArray[np.integer]) -> NDArray[np.float64]:
    made = np.zeros(len(part))
    np.divide(part, whole, out=made, where=whole > 0)
    return made
