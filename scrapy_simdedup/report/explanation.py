"""Why a page was dropped or kept, in words."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.wording import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.fingerprint.fingerprint import Comparison
    from scrapy_simdedup.settings import DedupSettings
    from scrapy_simdedup.store.base import Record

STATES = {
    "confirmed": "it was delivered",
    "reserved": "its delivery has not ended, or the crawl was stopped before it did",
    "released": "its delivery failed, so it displaces no other page",
    "stub": "it came under so many unrelated URLs that it is no content, and displaces no other page",
}
KINDS = {
    "new": "nothing on its site was like it",
    "near": "it is merely similar to another page",
    "changed": "it differs from what its URL gave before",
    "unchanged": "it is what its URL gave before",
    "identical": "what it repeats was not delivered at that time",
    "stub": "it repeats what its site gives under many unrelated URLs",
    "unjudged": "it could not be judged",
}
BETTER = "it is a better copy of another page, whose place it took"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A page of a store, and the page that decided about it."""

    record: Record
    other: Record | None
    """What it repeats, or what it is most like; None if there is nothing, or it is gone from the store."""

    @property
    def dropped(self) -> bool:
        """Whether it is a repeat."""
        return self.record.state == "alias"

    @property
    def _is_better(self) -> bool:
        return self.record.original is not None and self.record.kind in {"identical", "near"} and not self.dropped

    @property
    def comparison(self) -> Comparison | None:
        """How alike the two are now, by their fingerprints."""
        if self.other is None:
            return None
        try:
            mine, theirs = (PageFingerprint.from_bytes(page.fingerprint) for page in (self.record, self.other))
            return mine.compare(theirs)
        except FingerprintMismatch:
            return None

    def why(self, settings: DedupSettings) -> str:
        """The answer in one sentence.

        Args:
            settings: the thresholds and the mode of the site.
        """
        record = self.record
        if not self.dropped:
            reason = PageFingerprint.from_bytes(record.fingerprint).unjudged if record.kind == "unjudged" else None
            kind = BETTER if self._is_better else KINDS.get(record.kind, record.kind)
            kind += f" ({reason})" if reason else ""
            return f"kept: {kind}; {STATES.get(record.state, record.state)}"
        kept = "would be dropped, and was only counted" if settings.mode == "observe" else "dropped"
        other = "a page that is not in the store any more" if self.other is None else self.other.url
        line = "IDENTICAL" if record.kind == "identical" else "NEAR"
        bound = settings.identical if record.kind == "identical" else settings.near
        return (
            f"{kept}: it repeats {other}, with a similarity of {record.similarity:.3f}, "
            f"from SIMDEDUP_{line} = {bound:g} on"
        )

    def as_dict(self, settings: DedupSettings) -> dict[str, Any]:
        """Plain values; times in seconds since the epoch."""
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
        }

    def text(self, settings: DedupSettings) -> Iterator[str]:
        """The same in lines."""
        record, found = self.record, self.comparison
        yield record.url
        yield f"  {self.why(settings)}"
        yield f"  run {record.run}; first seen {at(record.first_seen)}, last seen {at(record.last_seen)}"
        changed = f"changed {_times(record.changes)}, last on {at(record.last_changed)}" if record.changes else ""
        yield f"  fetched {_times(record.visits)}, its content {changed or 'never changed'}"
        if self.other is not None:
            role = "original" if self.dropped else "most like"
            bits = f"; {found.distance} differing bits" if found else ""
            other = self.other
            yield f"  {role}: {other.url}"
            yield f"    {other.state}, run {other.run}; first seen {at(other.first_seen)}{bits}"
            yield f"  see what differs: scrapy simdedup compare {quote(other.url)} {quote(record.url)}"

    def __repr__(self) -> str:
        return f"<Explanation {self.record.state} {self.record.kind}: {self.record.url!r}>"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")
