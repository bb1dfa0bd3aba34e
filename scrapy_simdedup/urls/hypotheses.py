"""The hypotheses about a site's URLs: that a part does not change the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from scrapy_simdedup.urls.compact import U64_MASK, KeyedHash
from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.given import GIVEN_PREFIX
from scrapy_simdedup.urls.parts import FLAG_PARTS, is_session, is_tracking, looks_random

MAX_NAMES = 200
"""Part names of a site that hypotheses are made about; parts with other names always matter."""
MAX_VALUES = 50
"""Values of a part with hypotheses of their own."""
MIN_VALUE_COUNT = 3
"""Observations of a value from which on a page without the part is compared with the page that has the value."""
TRIED = 2
"""Pages for which a rule about a part was right in the same circumstances, from which on it is believed there."""
MAX_CIRCUMSTANCES = 40
"""Circumstances of a part that are told apart, so that no more than twice as many URLs are fetched to try them."""
MANY_VALUES = 8
"""Values of a part from which on it is examined whether any of them will do; one more need not be tried first."""
ANY_VALUE = "*"
"""Stands for the value in what is shown and remembered of a hypothesis that any value will do."""
MAX_JOINT = 10
"""Groups of parts that are examined together."""
_SEVERAL_URLS = 1.5
"""URLs of a page that had a part with many values, on average, from which on each page has several witnesses."""
_NO_DEFAULTS = frozenset({"path", "segment", "spelling", "repeats", GIVEN_PREFIX})
_RARELY_MATTER = frozenset({"scheme", "slash", "slashes", "index", "spelling", "repeats"})


def is_given(part: str) -> bool:
    """Whether a part does not matter from the start: a tracking parameter, or what a given rule has removed."""
    return part.startswith(GIVEN_PREFIX) or is_tracking(part)


@dataclass(slots=True, eq=False, repr=False)
class Hypothesis:
    """A hypothesis about the URLs of a site, in one of four shapes.

    * a part is *irrelevant*: whatever its value, the page is the same as without the part;
    * one *value* of a part is its default: the page is the same as without the part;
    * *any value* of a part will do: the page is the same with each of them, and may be another one without the part;
    * two or three parts are irrelevant *together*: they only ever change at the same time.
    """

    number: int
    names: tuple[str, ...]
    """The names of the parts; several if they are irrelevant together."""
    value: str | None
    """The value that is the default; None if the parts are irrelevant, or if any value will do."""
    salt: int
    """XORed to an identity to index what is known if the parts are irrelevant; else 0."""
    shift: int
    """The hash of the part with its default value, or of what takes its place; 0 if the parts are irrelevant."""
    any_value: bool = False
    """Whether any value will do, so that a constant takes the place of the part, which is not dropped."""
    is_initial: bool = field(init=False)
    """Whether the hypothesis is a rule from the start."""
    user_written: bool = field(init=False)
    session: bool = field(init=False)
    """Whether programs use such names for session ids: a rule after fewer trials, verified all the same."""
    rarely_matters: bool = field(init=False)
    """Whether parts of this kind hardly ever change a page."""

    def __post_init__(self) -> None:
        is_about_parts = self.value is None and not self.any_value
        self.is_initial = is_about_parts and len(self.names) == 1 and is_given(self.names[0])
        self.user_written = self.is_initial and self.names[0].startswith(GIVEN_PREFIX)
        self.session = self.value is None and all(map(is_session, self.names))
        self.rarely_matters = self.is_initial or self.session or self.names[0] in _RARELY_MATTER

    def __str__(self) -> str:
        return "+".join(self.names) + ("" if self.shown_value is None else f"={self.shown_value}")

    @property
    def shown_value(self) -> str | None:
        """The value as it is shown and remembered."""
        return ANY_VALUE if self.any_value else self.value


@dataclass(slots=True, eq=False)
class PartHypotheses:
    """A part of a site's URLs, with the hypotheses about this part alone."""

    name: str
    irrelevant: Hypothesis | None = None
    """The hypothesis that the part is irrelevant; None for a part of ``FLAG_PARTS``."""
    any_value: Hypothesis | None = None
    """The hypothesis that any value will do; None while few values were observed that do not look random."""
    tried: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """What :meth:`Hypotheses.circumstances` gives → how often a rule about the part was right there."""
    values: dict[str, Hypothesis] = field(default_factory=dict)
    """Value → the hypothesis that this value is the default."""
    value_counts: dict[Hypothesis, int] = field(default_factory=dict)
    """Hypothesis about a default value → how often the value was observed."""
    random_balance: int = 0
    """Observed values that look random, less the observed values that do not."""

    def is_untried(self, circumstances: tuple[str, ...]) -> bool:
        """Whether a rule about the part was hardly tried in these circumstances, while few are known."""
        is_known = circumstances in self.tried or len(self.tried) < MAX_CIRCUMSTANCES
        return is_known and self.tried[circumstances] < TRIED

    def hypotheses_about(self, value: str) -> tuple[Hypothesis, ...]:
        """The hypotheses under which the part can be dropped when it has this value."""
        default = self.values.get(value)
        return tuple(h for h in (self.irrelevant, default) if h is not None)


@dataclass(slots=True, eq=False)
class Hypotheses:
    """All hypotheses about one site. Each exists once, so that evidence is looked up by object identity."""

    _hash: KeyedHash
    count: int = 0
    parts: dict[str, PartHypotheses] = field(default_factory=dict)
    joint: dict[tuple[str, ...], Hypothesis] = field(default_factory=dict)
    hinted: set[Hypothesis] = field(default_factory=set)
    """Hypotheses that the site itself has suggested, by rel=canonical or a redirect."""

    def part(self, name: str) -> PartHypotheses | None:
        """The part of this name, made if need be; None if the site has too many names already."""
        part = self.parts.get(name)
        if part is None and len(self.parts) < MAX_NAMES:
            part = self.parts[name] = PartHypotheses(name)
            if name not in FLAG_PARTS:
                self.add((name,), None)
        return part

    def count_value(self, part: PartHypotheses, value: str, shift: int) -> Hypothesis | None:
        """Count an observed value; returns the hypothesis that this value is the default, if there is one."""
        if looks_random(value):
            part.random_balance += 1
            return None
        part.random_balance -= 1
        found = self._default(part, value, shift)
        if found is not None:
            part.value_counts[found] += 1
        if part.any_value is None and len(part.values) >= MANY_VALUES:
            self.any_value(part)
        return found

    def _default(self, part: PartHypotheses, value: str, shift: int) -> Hypothesis | None:
        found = part.values.get(value)
        if found is None and len(part.values) < MAX_VALUES and part.name.partition(":")[0] not in _NO_DEFAULTS:
            found = self.add((part.name,), value, shift)
        return found

    def circumstances(self, name: str, values: Mapping[str, str]) -> tuple[str, ...]:
        """A part of a URL and the parameters beside it, each with its value if that is one of few words.

        Those of tracking and sessions are left out.
        """
        others = (other for other in sorted(values) if other != name and other.startswith("query:"))
        names = [name, *(other for other in others if not is_given(other) and not is_session(other))]
        return tuple(self._with_word(found, values[found]) for found in names)

    def _with_word(self, name: str, value: str) -> str:
        part = self.parts.get(name)
        is_word = part is not None and len(part.values) < MANY_VALUES and not any(map(str.isdigit, value))
        return f"{name}={value}" if is_word else name

    def count_success(self, hypothesis: Hypothesis, values: Mapping[str, str]) -> None:
        """Count that a hypothesis was right for a URL with these parts, in the circumstances of each of its own."""
        for name in hypothesis.names:
            if name in values:
                tried, circumstances = self.parts[name].tried, self.circumstances(name, values)
                if circumstances in tried or len(tried) < MAX_CIRCUMSTANCES:
                    tried[circumstances] += 1

    def any_value(self, part: PartHypotheses) -> Hypothesis | None:
        """The hypothesis that any value of a part will do, made if need be; None if it is of no use."""
        whole = part.irrelevant
        if part.any_value is None and whole is not None and not whole.is_initial and not whole.session:
            shift = self._hash("any value", part.name) & U64_MASK
            part.any_value = Hypothesis(self.count, (part.name,), None, 0, shift, any_value=True)
            self.count += 1
        return part.any_value

    def joint_hypothesis(self, names: tuple[str, ...]) -> Hypothesis | None:
        """The hypothesis that these parts are irrelevant together; None if there are too many joint hypotheses."""
        found = self.joint.get(names)
        if found is None and len(self.joint) < MAX_JOINT:
            found = self.add(names, None)
        return found

    def recall(self, names: tuple[str, ...], value: str | None) -> Hypothesis | None:
        """The hypothesis of a remembered rule about parts that exist; None if there are too many, or it is none."""
        if len(names) > 1:
            return self.joint_hypothesis(names) if value is None else None
        part = self.parts[names[0]]
        if value is None:
            return part.irrelevant
        if value == ANY_VALUE:
            return self.any_value(part)
        found = self._default(part, value, self._hash(part.name, value))
        if found is not None:
            part.value_counts[found] = max(MIN_VALUE_COUNT, part.value_counts[found])
        return found

    def is_random(self, hypothesis: Hypothesis) -> bool:
        """Whether a hypothesis is about session ids and other random values, none of which plausibly is special."""
        if hypothesis.value is not None:
            return False
        return hypothesis.session or all(self.parts[name].random_balance > 0 for name in hypothesis.names)

    def is_low_risk(self, hypothesis: Hypothesis) -> bool:
        """Whether it is implausible that a hypothesis is wrong for some pages only."""
        return hypothesis.rarely_matters or self.is_random(hypothesis)

    def few_values(self, hypothesis: Hypothesis) -> int:
        """How many values a hypothesis is about, if they are few; else 0."""
        part = self.parts[hypothesis.names[0]]
        if hypothesis.value is not None:
            return 1
        return 0 if part.any_value is not None else max(1, len(part.values))

    def has_one_witness(self, rule: Hypothesis, evidence: Evidence) -> bool:
        """Whether a page may have a single URL that would show that a rule is wrong for it."""
        if rule.any_value or len(rule.names) > 1 or self.is_low_risk(rule):
            return False
        urls = evidence.contents.values()  # of pages that had the part
        return self.few_values(rule) > 0 or sum(urls) < _SEVERAL_URLS * len(urls)

    def add(self, names: tuple[str, ...], value: str | None, shift: int = 0) -> Hypothesis:
        """Make a hypothesis about parts that exist."""
        salt = self._hash("assumed", *names) if value is None else 0
        hypothesis = Hypothesis(self.count, names, value, salt, shift & U64_MASK)
        self.count += 1
        part = self.parts[names[0]]
        if len(names) > 1:
            self.joint[names] = hypothesis
        elif value is None:
            part.irrelevant = hypothesis
        else:
            part.values[value] = hypothesis
            part.value_counts[hypothesis] = 0
        return hypothesis
