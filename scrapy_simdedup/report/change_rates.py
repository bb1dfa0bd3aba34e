"""Change rates: how often pages change, and which of them have probably changed by some time."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from scrapy_simdedup.report.neighbours import fingerprint_of
from scrapy_simdedup.store.base import Record, estimate_changes_per_day


@dataclass(frozen=True, slots=True)
class DueUrl:
    """A URL whose page has probably changed by the time that was asked for."""

    url: str
    site: str
    chance: float
    """The chance that the page has changed by then, 0..1."""
    changes_per_day: float
    """The rate that the chance is made of."""
    visits: int
    changes: int
    last_seen: float
    """Seconds since the epoch."""
    last_changed: float
    """Seconds since the epoch."""


@dataclass(slots=True)
class _Visits:
    """The revisits of many pages, as those of one."""

    revisits: int = 0
    changes: int = 0
    days: float = 0.0

    def add(self, revisits: int, changes: int, days: float) -> None:
        self.revisits += revisits
        self.changes += changes
        self.days += days


class ChangeRates:
    """How often pages change, estimated from the visits that a store counts.

    The estimator is the bias-corrected one of Junghoo Cho and Hector Garcia-Molina, "Estimating frequency of change",
    ACM Transactions on Internet Technology 3 (2003): of ``n`` revisits, ``I`` days apart in the mean, ``X`` found a
    change, which makes ``-log((n - X + 0.5) / (n + 0.5)) / I`` changes per day. It allows for changes that happened
    between two visits and were seen as one. If changes are a Poisson process, a page of that rate has changed after
    ``t`` days with the chance ``1 - exp(-rate * t)``.

    A page that was fetched once has no rate of its own, and one that did not change yet has the rate 0, with which it
    would never be visited again. So each page has a prior, which weighs as much as one revisit: the rate of its
    site, whose own prior, in the same way, is the rate of all sites. A page that was fetched once has just its prior.
    After nineteen revisits without a change its rate is a twentieth of that.

    Add all records, then ask.
    """

    def __init__(self) -> None:
        self._sites: defaultdict[str, _Visits] = defaultdict(_Visits)
        self._all = _Visits()

    def add(self, site: str, record: Record) -> None:
        """Count the visits of one page, if its changes are known."""
        if record.changes_per_day is not None and is_planned(record):
            visits = record.visits - 1, record.changes, (record.last_seen - record.first_seen) / 86_400
            self._sites[site].add(*visits)
            self._all.add(*visits)

    @property
    def knows_any(self) -> bool:
        """Whether any page was visited twice, so that anything is known of how often pages change."""
        return self._all.revisits > 0

    def per_day(self, site: str, record: Record) -> float | None:
        """How often the page changes per day; None where no page was visited twice."""
        if not self.knows_any:
            return None
        prior = _rate(self._all)
        if site in self._sites:
            visits = self._sites[site]
            prior = _with_prior(_rate(visits), visits.revisits, prior)
        own = record.changes_per_day
        return prior if own is None else _with_prior(own, record.visits - 1, prior)

    def due(self, site: str, record: Record, at: float) -> DueUrl | None:
        """The page with its chance to have changed by a time, in seconds since the epoch; None if it is never due."""
        rate = self.per_day(site, record) if is_planned(record) else None
        if rate is None:
            return None
        chance = -math.expm1(-rate * max(0.0, at - record.last_seen) / 86_400)
        seen = record.last_seen, record.last_changed
        return DueUrl(record.url, site, chance, rate, record.visits, record.changes, *seen)


def is_planned(record: Record) -> bool:
    """Whether it makes sense to ask when a page has changed: it was delivered and judged, and has a URL to fetch.

    A repeat is not planned, as its content is delivered under another URL, nor is a stub, which has none. Of a page
    that could not be judged, or only byte for byte, no changes are counted.
    """
    if not record.delivered or record.kind == "unjudged" or not record.url.startswith(("http://", "https://")):
        return False
    fp = fingerprint_of(record)
    return fp is not None and not fp.unjudged


def _rate(visits: _Visits) -> float:
    return estimate_changes_per_day(visits.revisits, visits.changes, visits.days)


def _with_prior(own: float, revisits: int, prior: float) -> float:
    return (revisits * own + prior) / (revisits + 1)
