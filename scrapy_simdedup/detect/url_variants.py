"""URL variants: pages whose URLs differ in one place alone, such as the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scrapy_simdedup.urls.parts import query_parameters

MIN_RESTS, MIN_KEPT_SHARE = 8, 0.5
"""Rests with variants that were kept, from which a place tells contents apart; and their share of all variants."""
MIN_RECURRENCE = 2
"""Variants for each value of a place, on an average, from which its values recur at other rests."""
MAX_VALUES, MAX_RESTS, MAX_PLACES = 64, 256, 24
"""Values, rests and places that are looked at: those that came first."""
MAX_SEGMENTS, MAX_URL_LENGTH = 12, 1000
"""Segments and parameters of a URL that are looked at, and characters of a URL; of a longer one nothing is."""
BYTES_PER_PLACE, BYTES_PER_ENTRY = 800, 90
"""Bytes that a place takes, and each of its values and rests, about."""
Place = tuple[str, int]
"""The name of a parameter, or "" with the number of segments and the segment as one number."""


@dataclass(slots=True)
class _PlaceCounts:
    values: set[int] = field(default_factory=set)
    rests: dict[int, int] = field(default_factory=dict)
    """By rest, the value of the page that came first."""
    told_apart: set[int] = field(default_factory=set)
    """The rests of which another page was kept as well."""
    kept: int = 0
    dropped: int = 0

    @property
    def tells_apart(self) -> bool:
        variants = self.kept + self.dropped
        recur = MIN_RECURRENCE * len(self.values) <= variants and len(self.values) <= MAX_VALUES
        return recur and len(self.told_apart) >= MIN_RESTS and self.kept >= MIN_KEPT_SHARE * variants


class UrlVariants:
    """Whether pages of one site whose URLs differ in one place are other contents, as far as the site has shown it.

    A language, a version, the page of a thread: many URLs of a site differ from another in one segment of the path or
    one parameter alone. On one site such pages mostly say different things, on another they are print views and
    sessions.

    1. A *place* is a segment of the path, counted from its beginning, the host among them, or a parameter. What is left
       of a URL without it is the *rest*. Pages with one rest are *variants* in that place.
    2. Each page that comes is compared with the variants that came before: it was kept as another content, or dropped
       for one of them.
    3. A place tells contents apart if most of the variants were kept, at :data:`MIN_RESTS` rests or more.
    4. A place where nearly every page has a value of its own, such as a slug, an id or a session, tells nothing: its
       values must recur at other rests. Beyond :data:`MAX_VALUES` values nobody looks at it any more.

    Nothing of this is stored: it follows from the URLs and the states of the site's records.

    >>> variants = UrlVariants()
    >>> for page in range(10):
    ...     for language in "de", "en", "fr":
    ...         variants.kept(f"http://site.example/{language}/page-{page}")
    >>> variants.tell_apart("http://site.example/de/page-3", ["http://site.example/fr/page-3"])
    True
    """

    def __init__(self) -> None:
        self._places: dict[Place, _PlaceCounts] = {}

    @property
    def size(self) -> int:
        """Bytes that the counts take, about."""
        sets = ((counts.values, counts.rests, counts.told_apart) for counts in self._places.values())
        entries = sum(len(entry) for of_place in sets for entry in of_place)
        return BYTES_PER_PLACE * len(self._places) + BYTES_PER_ENTRY * entries

    def kept(self, url: str) -> None:
        """Take in a page that was kept as another content than those before."""
        for place, value, rest in _places(url):
            counts = self._counts(place, value)
            if counts is None:
                continue
            if counts.rests.get(rest, value) != value:
                counts.kept += 1
                counts.told_apart.add(rest)
            elif len(counts.rests) < MAX_RESTS:
                counts.rests[rest] = value

    def dropped(self, url: str, original: str) -> None:
        """Take in a page that was dropped for another."""
        ours = {place: (value, rest) for place, value, rest in _places(url) if place in self._places}
        place = _differing_place(ours, original)
        if place is not None and ours[place][1] in self._places[place].rests:
            self._places[place].dropped += 1

    def tell_apart(self, url: str, others: Iterable[str]) -> bool:
        """Whether a URL differs from one of others in one place alone, and that place tells contents apart."""
        told = [place for place, counts in self._places.items() if counts.tells_apart]
        ours = {place: (value, rest) for place, value, rest in _places(url) if place in told} if told else {}
        return bool(ours) and any(_differing_place(ours, other) is not None for other in others)

    def _counts(self, place: Place, value: int) -> _PlaceCounts | None:
        counts = self._places.get(place)
        if counts is None:
            if len(self._places) >= MAX_PLACES:
                return None
            counts = self._places[place] = _PlaceCounts()
        if len(counts.values) > MAX_VALUES:
            return None
        counts.values.add(value)
        if len(counts.values) > MAX_VALUES:
            counts.rests.clear()
            counts.told_apart.clear()
        return counts


def _differing_place(ours: Mapping[Place, tuple[int, int]], other: str) -> Place | None:
    """The place in which another URL differs from ours, of which places are given with values and rests."""
    for place, value, rest in _places(other):
        known = ours.get(place)
        if known is not None and known[1] == rest and known[0] != value:
            return place
    return None


def _places(url: str) -> Iterator[tuple[Place, int, int]]:
    """The places of a URL, each with digests of its value and of the rest."""
    if len(url) > MAX_URL_LENGTH:
        return
    path, _, query = url.partition("://")[2].partition("#")[0].partition("?")
    segments, parameters = path.split("/"), query_parameters(query) if query else []
    if len(segments) > MAX_SEGMENTS or len(parameters) > MAX_SEGMENTS:
        return
    whole = [*segments, *(f"{name}={value}" for name, value in parameters)]
    digests = [hash((at, part)) for at, part in enumerate(whole)]
    total = sum(digests)
    for at, digest in enumerate(digests[: len(segments)]):
        yield ("", MAX_SEGMENTS * len(segments) + at), digest, hash((len(whole), total - digest))
    for (name, _), digest in zip(parameters, digests[len(segments) :], strict=True):
        yield (name, 0), digest, hash((len(whole), total - digest))
