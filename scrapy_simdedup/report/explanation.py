"""The explanation of a page: why it was dropped or kept, in words."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.display import format_time, plural
from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.report.near_pages import what_kept
from scrapy_simdedup.report.neighbours import fingerprint_of
from scrapy_simdedup.unjudged import UNJUDGED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.detect.events import PageCompared
    from scrapy_simdedup.fingerprint.fingerprint import Comparison
    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.store.base import Record
    from scrapy_simdedup.unjudged import UnjudgedReason

STATE_MEANINGS = {
    "confirmed": "it was delivered",
    "itemless": "it was delivered, and gave no item",
    "reserved": "its delivery has not ended, or the crawl was stopped before it did",
    "released": "its delivery failed, so it displaces no other page",
    "stub": "it was found under so many unrelated URLs that it is no content, and displaces no other page",
}
"""By state: what became of a page that was kept."""
KEPT_BECAUSE = {
    "new": "nothing on its site was like it",
    "near": "it is merely similar to another page",
    "changed": "it differs from what its URL gave before",
    "unchanged": "it is what its URL gave before",
    "identical": "what it repeats was not delivered at that time, or only got by another callback",
    "stub": "it repeats what its site gives under many unrelated URLs",
    "unjudged": "it could not be judged",
    "preferred": "it is a better copy of another page, whose place it took",
    "second try": "the page before it with its content gave no item",
    "own text": "it says what the page that it is like does not",
}
"""By verdict, or ``preferred``, ``second try`` or ``own text``: why a page was kept."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a page of a store was dropped or kept: its record, and the record of the page that decided about it."""

    record: Record
    other: Record | None
    """The original that the page repeats, or the page that it is most like; None if the store has no such page."""
    compared: PageCompared | None = None
    """What was noted when the page was compared with its original; None if nothing was."""

    @property
    def kept_by(self) -> str | None:
        """What kept a near page, in words; None of any other page, and where that is not known."""
        if self.compared is None or self.dropped:
            return None
        return what_kept(self.compared, fingerprint_of(self.record), fingerprint_of(self.other))

    @property
    def dropped(self) -> bool:
        """Whether the page was dropped as a repeat."""
        return self.record.state == "duplicate"

    @property
    def comparison(self) -> Comparison | None:
        """The comparison of the two fingerprints; None without another page, or if they cannot be compared."""
        if self.other is None:
            return None
        try:
            mine, theirs = (PageFingerprint.from_bytes(page.fingerprint) for page in (self.record, self.other))
            return mine.compare(theirs)
        except FingerprintMismatch:
            return None

    def why(self, settings: DedupSettings) -> str:
        """The answer in one sentence; ``settings`` has the thresholds and the mode that apply to the page."""
        record = self.record
        if not self.dropped:
            reason = PageFingerprint.from_bytes(record.fingerprint).unjudged if record.kind == "unjudged" else None
            reason_of_cluster = "preferred" if self.other is None or self.other.state != "itemless" else "second try"
            is_in_cluster = record.original is not None and record.kind in {"identical", "near"}
            has_own_text = self.compared is not None and self.compared.reason == "own_text" and record.kind == "near"
            kind = "own text" if has_own_text else reason_of_cluster if is_in_cluster else record.kind
            why = KEPT_BECAUSE.get(kind, kind)
            why += _because(reason) if reason else ""
            return f"kept: {why}; {STATE_MEANINGS.get(record.state, record.state)}"
        kept = "would be dropped, and was only counted" if settings.mode == "observe" else "dropped"
        other = "a page that is not in the store any more" if self.other is None else self.other.url
        line = "IDENTICAL" if record.kind == "identical" else "NEAR"
        bound = settings.identical if record.kind == "identical" else settings.near
        return (
            f"{kept}: it repeats {other}, with a similarity of {record.similarity:.3f}, "
            f"from SIMDEDUP_{line} = {bound:g} on"
        )

    def as_dict(self, settings: DedupSettings) -> dict[str, Any]:
        """The explanation as plain values; times in seconds since the epoch."""
        record, found = self.record, self.comparison
        names = ("url", "state", "kind", "similarity", "run", "first_seen", "last_seen", "last_changed")
        return {
            **{name: getattr(record, name) for name in names},
            "visits": record.visits,
            "changes": record.changes,
            "dropped": self.dropped,
            "why": self.why(settings),
            "other": self.other and {name: getattr(self.other, name) for name in names},
            "distance": found and found.distance,
            "own_words": None if self.compared is None else self.compared.own_words,
            "kept_by": self.kept_by,
        }

    def text(self, settings: DedupSettings) -> Iterator[str]:
        """The explanation in lines of text."""
        record, found = self.record, self.comparison
        yield record.url
        yield f"  {self.why(settings)}"
        first, last = format_time(record.first_seen), format_time(record.last_seen)
        yield f"  run {record.run}; first seen {first}, last seen {last}"
        changed = (
            f"changed {_times(record.changes)}, last on {format_time(record.last_changed)}" if record.changes else ""
        )
        yield f"  fetched {_times(record.visits)}, its content {changed or 'never changed'}"
        if self.other is not None:
            role = "original" if self.dropped else "most like"
            bits = f"; {found.distance} differing bits" if found else ""
            if self.dropped:
                words = self.compared.own_words if self.compared else None
                yield f"  of its own it had {plural(words, 'word') if words else 'nothing that was noted'}"
            elif self.kept_by:
                yield f"  kept by {self.kept_by}"
            other = self.other
            yield f"  {role}: {other.url}"
            yield f"    {other.state}, run {other.run}; first seen {format_time(other.first_seen)}{bits}"
            yield f"  see what differs: scrapy simdedup compare {quote(other.url)} {quote(record.url)}"

    def __repr__(self) -> str:
        return f"<Explanation {self.record.state} {self.record.kind}: {self.record.url!r}>"


def _because(reason: UnjudgedReason) -> str:
    implied = UNJUDGED.get(reason)  # another version may know other reasons
    if implied is None:
        return f" ({reason})"
    remedy = f" ({implied.remedy})" if implied.remedy else ""
    return f" ({reason}): it {implied.meaning}{remedy}"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")
