"""Pairs of pages that somebody has looked at: read, found in a store, and written to be looked at."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.files import reading, writing
from scrapy_simdedup.errors import FingerprintMismatch, SimdedupError
from scrapy_simdedup.report.calibration import Labelled
from scrapy_simdedup.report.prints import print_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.report.closest import ClosePair
    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.store.base import Record

MEANINGS = {"same": True, "different": False}


@dataclass(frozen=True, slots=True)
class Label:
    """What somebody said of two URLs."""

    one: str
    other: str
    same: bool


class Labels:
    """Labels, and the fingerprints of the pages that they are about.

    Args:
        labels: what was said.
    """

    def __init__(self, labels: Sequence[Label]) -> None:
        self._labels = labels
        self._wanted = {url for label in labels for url in (label.one, label.other)}
        self._found: dict[str, tuple[str, PageFingerprint]] = {}

    @classmethod
    def read(cls, name: str) -> Labels:
        """Read a .csv or .jsonl file of ``one``, ``other`` and ``label``; rows without a label are passed over.

        Raises:
            OSError: the file cannot be read.
            SimdedupError: it is of another form.
        """
        with reading(name) as file:
            text = file.read().decode("utf-8-sig", "replace")
        try:
            rows = list(csv.DictReader(io.StringIO(text)) if ".csv" in name else map(json.loads, text.splitlines()))
            labels = [Label(row["one"], row["other"], MEANINGS[row["label"].strip()]) for row in rows if row["label"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            rows, labels = [], []
        if not rows:
            form = "a .csv or .jsonl file with the columns one, other (URLs) and label (same or different)"
            raise SimdedupError(f"{name} cannot be read: write {form}")
        return cls(labels)

    def look_at(self, site: str, record: Record) -> None:
        """Take the record's fingerprint if a label is about it."""
        if record.url in self._wanted:
            fp = print_of(record)
            if fp is not None:
                self._found[record.url] = site, fp

    def found(self, settings: DedupSettings) -> list[Labelled]:
        """The labels whose pages are both in the store, with their similarities."""
        made = []
        for label in self._labels:
            if label.one in self._found and label.other in self._found:
                (site, one), (_, other) = self._found[label.one], self._found[label.other]
                try:
                    similarity = one.compare(other, identical=settings.identical, near=settings.near).similarity
                except FingerprintMismatch:
                    continue
                made.append(Labelled(site, label.one, label.other, similarity, label.same))
        return made


def write_borderline(pairs: Iterable[ClosePair], name: str) -> None:
    """Write pairs to be labelled, as CSV."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(("label", "similarity", "one", "other"))
    rows.writerows(("", f"{pair.similarity:.3f}", pair.one, pair.other) for pair in pairs)
    with writing(name) as file:
        file.write(text.getvalue().encode("utf-8", "replace"))
