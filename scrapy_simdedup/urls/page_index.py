"""The index of a site's fetched pages by what is left of their URLs; how often each content came, and where else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from scrapy_simdedup.urls.compact import U64_MASK, SortedMap
from scrapy_simdedup.urls.hypotheses import Hypothesis
from scrapy_simdedup.urls.parts import UrlParts
from scrapy_simdedup.urls.patterns import ActiveRules, DroppedParts, NormalizedUrl

CONTENT_BITS = 48
MAX_ASSUMED = 8
"""Hypotheses behind one entry; a URL that needs more is not indexed."""
MAX_UNEXPLAINED_URLS = 15
"""Unexplained URLs above which a content is taken for a stub: a captcha, a soft 404, an empty template."""
_MAX_SETS = 1 << 15
_MANY_RUNS = 8
"""Separate runs from which on a frequent content cannot be a wall, which is served in one burst."""
MAX_SHARED, MAX_LOOKS = 1000, 20
"""Contents of unrelated pages that are remembered, and looks at each."""
_USUAL, _USUAL_IN_SEVERAL = 4, 10
"""Contents that places share which differ in a part, from which on such copies are usual: at one other place, and at
several."""
_TRIED = 12
"""Contents that are looked at to find out whether copies are usual."""
# Counters of a content, from the low end: 6 bits unexplained URLs, 4 bits runs, 2 bits fetches, 26 bits latest skip,
# 26 bits first page.
_UNEXPLAINED, _RUN, _FETCH, _SKIP, _PAGE = 0x3F, 6, 10, 12, 38
_NUMBER = (1 << 26) - 1
PartTags = dict["Hypothesis", "int | None"]
"""Hypothesis → the tag (see :func:`part_tag`) of what a page had of the hypothesis's parts; None if not known."""


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A fetched page that a URL leads to, if the active rules are right."""

    key: int
    content: int
    ambiguous: bool
    """Whether pages of different content were found at this key, so that the entry represents no page any more."""
    tags: PartTags
    """What the page had where it and the URL differ; empty if both are the same URL anyway."""


def part_tag(dropped: int) -> int:
    """Eight bits of the hash of a dropped part, to tell parts apart; 0 is kept for no part."""
    return dropped & 0xFF or 1


def entry_content(entry: int) -> int:
    """The content of an entry of the index."""
    return entry >> 16


class PageIndex:
    """Identity of a URL → content of its page, under assumptions.

    How pages are entered and found:

    1. The identity of a URL is the sum of the hashes of its path and its parts, modulo 2**64. So the identity of the
       same URL without a part is one subtraction.
    2. A new page is entered under its identity without the parts that the active rules drop. The entry names the page's
       content and its *assumptions*, the hypotheses by which parts were dropped; it has one tag per assumption,
       eight bits of what was dropped.
    3. An entry counts only while all of its assumptions are active rules. So a rule that is refuted makes its entries
       void without touching them.
    4. While a part is on trial, the first page that has the part, whatever its value, is also entered without tags: at
       its identity without the part, XOR the salt of the hypothesis. Pages with other values are compared with it. The
       salt keeps it apart from the page that lacks the part.
    5. While hypotheses are promising, a new page is also entered under the identity that it will have once they are
       rules. So pages fetched before a rule are known after it.
    6. A URL is looked up under its identity first; the tags tell where the URL and the page differ. If nothing is
       found, each active rule is tried: at the key of step 4, and for a default value at the identity of the URL with
       this value added. Where the page found differs from the URL is then not known.
    7. If any value of a part will do, a constant takes its place in the identity. So pages that have the part meet at
       one key, whatever their values, and those that lack it do not. They are entered there from the start.
    8. An entry at which pages of different content are found becomes ambiguous: no URL is skipped because of it.
    """

    __slots__ = ("assumption_numbers", "assumption_sets", "entries", "packed_tags")

    def __init__(self) -> None:
        self.entries: SortedMap = SortedMap()
        """Key → 48 bits of content, 15 bits that number the assumptions, 1 bit "ambiguous"."""
        self.packed_tags: SortedMap = SortedMap()
        """Key → one tag per assumption, a byte each."""
        self.assumption_sets: list[tuple[Hypothesis, ...]] = [()]
        self.assumption_numbers: dict[tuple[Hypothesis, ...], int] = {(): 0}

    def find(self, url: NormalizedUrl, active_rules: ActiveRules) -> IndexHit | None:
        """The page that a URL leads to under the active rules."""
        key = url.identity
        entry = self.entry_at(active_rules, key)
        if entry is not None:
            mine = {h: part_tag(part) for h, part in url.dropped_parts}
            theirs = self.assumed_tags(key, entry)
            tags = {h: theirs.get(h, 0) for h in {**mine, **theirs} if mine.get(h, 0) != theirs.get(h, 0)}
            return IndexHit(key, entry_content(entry), bool(entry & 1), tags)
        for rule in active_rules.single_lookups:
            key = (url.identity ^ rule.salt) + rule.shift & U64_MASK
            entry = self.entry_at(active_rules, key)
            if entry is not None:
                tags = dict.fromkeys([*(h for h, _ in url.dropped_parts), *self._assumptions(entry), rule])
                return IndexHit(key, entry_content(entry), bool(entry & 1), tags)
        return None

    def entry_at(self, active_rules: ActiveRules, key: int) -> int | None:
        """The entry at a key if all of its assumptions are active rules."""
        entry = self.entries.get(key)
        if entry is None:
            return None
        number = entry >> 1 & 0x7FFF
        trusted = active_rules.trusted_sets.get(number)
        if trusted is None:
            assumed = self.assumption_sets[number]
            trusted = all(h.any_value or h in active_rules.pattern_of for h in assumed)  # any value: its key says so
            active_rules.trusted_sets[number] = trusted
        return entry if trusted else None

    def is_ambiguous(self, key: int) -> bool:
        """Whether pages of different content were found at a key."""
        return bool((self.entries.get(key) or 0) & 1)

    def put(
        self, key: int, content: int, dropped: DroppedParts, *, ambiguous: bool = False, tagged: bool = True
    ) -> None:
        """Enter a page; an entry without tags does not tell where its page and a URL differ."""
        if len(dropped) > MAX_ASSUMED:
            return
        dropped = sorted(dropped, key=lambda pair: pair[0].number)
        assumed = tuple(h for h, _ in dropped)
        number = self.assumption_numbers.get(assumed)
        if number is None:
            if len(self.assumption_sets) >= _MAX_SETS:
                return
            number = self.assumption_numbers[assumed] = len(self.assumption_sets)
            self.assumption_sets.append(assumed)
        self.entries.put(key, content << 16 | number << 1 | ambiguous)
        if tagged and dropped:
            self.packed_tags.put(key, sum(part_tag(part) << 8 * place for place, (_, part) in enumerate(dropped)))

    def set_content(self, key: int, *, ambiguous: bool, content: int | None = None) -> None:
        """Change the content of an entry, if there is one, and whether it is ambiguous."""
        entry = self.entries.get(key)
        if entry is not None:
            if content is not None:
                entry = content << 16 | entry & 0xFFFF
            self.entries.put(key, entry | 1 if ambiguous else entry & ~1)

    def assumed_tags(self, key: int, entry: int) -> PartTags:
        """The tags of what was dropped from the page of an entry."""
        assumed = self._assumptions(entry)
        packed = self.packed_tags.get(key) if assumed else 0
        return {h: None if packed is None else packed >> 8 * place & 0xFF for place, h in enumerate(assumed)}

    def _assumptions(self, entry: int) -> tuple[Hypothesis, ...]:
        return self.assumption_sets[entry >> 1 & 0x7FFF]


@dataclass(slots=True, eq=False)
class ContentCounters:
    """The contents of a site, each a 48-bit number, with counters that stop at their maximum."""

    counters: SortedMap = field(default_factory=SortedMap)
    latest: int = 0
    """The content of the latest page."""
    unexplained: int = 0
    """URLs of the site that no rule explains."""
    verified: dict[int, int] = field(default_factory=dict)
    """Content of a stub → how often a verification found it as expected."""
    misled: set[int] = field(default_factory=set)
    """Contents of stubs for which a verification found another content."""
    errors: set[int] = field(default_factory=set)
    """Contents that several pages showed by error, such as that a server is busy: stubs, however few they were."""

    def count_fetch(self, content: int, page: int, *, explained: bool) -> bool:
        """Count a page, explained if rules led to a known one; returns whether its content now represents no page."""
        entry = self.counters.get(content)
        suspicious = False
        self.unexplained += not explained
        if entry is None:
            entry = (page & _NUMBER) << _PAGE | 1
        elif not explained and entry & _UNEXPLAINED < _UNEXPLAINED:
            entry += 1
            suspicious = entry & _UNEXPLAINED in {self.limit + 1, MAX_UNEXPLAINED_URLS + 1}
        if content != self.latest and entry >> _RUN & 0xF < 0xF:
            entry += 1 << _RUN
        if entry >> _FETCH & 3 < 3:
            entry += 1 << _FETCH
        self.latest = content
        self.counters.put(content, entry)
        return suspicious

    @property
    def limit(self) -> int:
        """Unexplained URLs above which a content represents no page: three times as many as is usual on the site."""
        return min(MAX_UNEXPLAINED_URLS, max(5, 3 * self.unexplained // max(1, len(self.counters))))

    def is_stub_content(self, content: int) -> bool:
        """Whether a content is a stub's, from which nothing can be learned."""
        return content in self.errors or self._entry(content) & _UNEXPLAINED > MAX_UNEXPLAINED_URLS

    def can_represent_page(self, content: int) -> bool:
        """Whether a URL may be skipped because it leads to this content."""
        entry = self._entry(content)
        if content in self.errors:
            return False
        if entry & _UNEXPLAINED <= self.limit:
            return True
        return entry >> _RUN & 0xF >= _MANY_RUNS and content not in self.misled

    def fetched_once(self) -> Iterator[tuple[int, int]]:
        """The contents that a single fetch gave and that URLs were skipped in favour of, with the latest such skip."""
        for content, entry in self.counters.items():
            skip = entry >> _SKIP & _NUMBER
            if skip and entry >> _FETCH & 3 == 1:
                yield content, skip

    def seen_once(self, content: int) -> bool:
        """Whether a single fetch gave this content."""
        return self._entry(content) >> _FETCH & 3 == 1

    def is_known(self, content: int) -> bool:
        """Whether a fetched page gave this content."""
        return self.counters.get(content) is not None

    def first_page(self, content: int) -> int:
        """The number of the page that first gave this content."""
        return self._entry(content) >> _PAGE

    def latest_skip(self, content: int) -> int:
        """The number of the latest URL that was skipped in favour of this content, from 1 on; 0 if there is none."""
        return self._entry(content) >> _SKIP & _NUMBER

    def set_latest_skip(self, content: int, skip: int) -> None:
        """Log the number of a URL that is skipped in favour of this content."""
        self.counters.put(content, self._entry(content) & ~(_NUMBER << _SKIP) | skip << _SKIP)

    def _entry(self, content: int) -> int:
        return self.counters.get(content) or 0


class Look(NamedTuple):
    """A URL that was fetched."""

    url: str
    parts: UrlParts


@dataclass(slots=True, eq=False)
class SharedContents:
    """Contents that were found at places which no rule relates.

    An error page with status 200 is found now here, now there, and at none of these places twice. So a content that
    unrelated places show stands for the page of one of them only if it was found there twice. Where places that differ
    in the same parts share several contents, copies are usual, as those of a product in each color: an error shows but
    one.
    """

    normalize: Callable[[UrlParts], NormalizedUrl]
    contents: ContentCounters
    _looks: dict[int, list[Look]] = field(default_factory=dict)
    """Content → where it was found."""
    _expected: dict[str, int] = field(default_factory=dict)
    """URL under way → the expected content."""
    _copies: dict[str, list[int]] = field(default_factory=dict)
    """A part, or two kinds of path → the contents that places share which differ there."""

    def __contains__(self, content: int) -> bool:
        return content in self._looks

    def are_unrelated(self, one: UrlParts, other: UrlParts) -> bool:
        """Whether two URLs name different things: their paths differ, or a part that both have and that matters."""
        mine, theirs = self.normalize(one).remaining, self.normalize(other).remaining
        names = mine.keys() & theirs.keys()
        return one.segments != other.segments or any(mine[name][2] != theirs[name][2] for name in names)

    def share(self, content: int, first: Look, other: Look) -> None:
        """Note that a content was found at two unrelated places."""
        if len(self._looks) >= MAX_SHARED:
            del self._looks[next(iter(self._looks))]
        self._looks[content] = [first, other]
        for name in self._differing(first.parts, other.parts):
            contents = self._copies.setdefault(name, [])
            if len(contents) < _TRIED:
                contents.append(content)

    def add(self, content: int, look: Look) -> None:
        """Note that a shared content was found once more; two looks at a place are enough."""
        looks = self._looks.get(content)
        if looks is None or len(looks) >= MAX_LOOKS or any(known.url == look.url for known in looks):
            return
        place = self.normalize(look.parts).identity
        if sum(self.normalize(known.parts).identity == place for known in looks) < 2:
            looks.append(look)

    def expect(self, content: int, look: Look) -> None:
        """Count a look that is about to be taken, so that no second one is."""
        self.add(content, look)
        self._expected[look.url] = content
        if len(self._expected) > MAX_SHARED:
            del self._expected[next(iter(self._expected))]

    def found(self, content: int, look: Look) -> None:
        """Note what was found by a look, expected or not."""
        expected = self._expected.pop(look.url, None)
        if expected is not None and expected != content:
            self.was_error(expected, look.url)
        self.add(content, look)

    def was_error(self, content: int, url: str) -> None:
        """Forget a place where a shared content was an error; wherever else it was found it may be one, too."""
        if content in self._looks:
            self._looks[content] = [look for look in self._looks[content] if look.url != url]
            self.contents.errors.add(content)

    def nearest(self, content: int, url: UrlParts) -> str | None:
        """The URL at which a shared content was found that differs least from another one; None if none is known."""
        mine = {url.segments, *url.parts}
        looks = [look for look in self._looks.get(content, ()) if look.url not in self._expected]
        best = max(looks, key=lambda look: len(mine & {look.parts.segments, *look.parts.parts}), default=None)
        return best.url if best is not None else None

    def is_doubtful(self, content: int, url: UrlParts) -> bool:
        """Whether a content was found at the place of a URL at most once, and at others that nothing relates to it."""
        looks = self._looks.get(content)
        if looks is None:
            return False
        place = self.normalize(url).identity
        places = [(self.normalize(look.parts).identity, look.parts) for look in looks]
        elsewhere = {identity: parts for identity, parts in places if identity != place}
        if len(places) - sum(identity != place for identity, _ in places) > 1:
            return False
        usual = _USUAL if len(elsewhere) < 2 else _USUAL_IN_SEVERAL
        differing = {name for other in elsewhere.values() for name in self._differing(url, other)}
        return not all(self._is_shared_by(usual, name, content) for name in differing)

    def _differing(self, one: UrlParts, other: UrlParts) -> list[str]:
        """In what two places differ: the kinds of their paths if these differ, and parts that matter."""
        mine, theirs = self.normalize(one), self.normalize(other)
        names = mine.remaining.keys() | theirs.remaining.keys()
        found = [name for name in names if mine.part_hashes.get(name) != theirs.part_hashes.get(name)]
        kinds = sorted((mine.leaf.shape, theirs.leaf.shape))
        return found if one.segments == other.segments else [" and ".join(kinds), *found]

    def _is_shared_by(self, least: int, name: str, content: int) -> bool:
        """Whether so many other contents are shared by places that differ in a part; the others are not looked at."""
        contents = self._copies.get(name, [])
        enough = least + (content in contents)
        shared = list(islice(filter(self._is_unrelated, contents), enough))
        if len(shared) < enough:
            self._copies[name] = shared
        return len(shared) - (content in shared) >= least

    def _is_unrelated(self, content: int) -> bool:
        looks = self._looks.get(content, ())[:2]
        return len({self.normalize(look.parts).identity for look in looks}) == 2
