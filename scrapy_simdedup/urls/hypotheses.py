"""What can be believed about a site's URLs: that a part does not change the page."""

from __future__ import annotations

from scrapy_simdedup.urls.given import GIVEN
from scrapy_simdedup.urls.keyed import MASK, KeyedHash
from scrapy_simdedup.urls.parts import SWITCHES, is_session, looks_random
from scrapy_simdedup.urls.tracking import is_tracking

MAX_NAMES = 200
"""Part names of a site; the parts beyond count as belonging to the path."""

MAX_VALUES = 50
"""Values of a part that are examined one by one."""

MAX_JOINT = 10
"""Groups of parts that are examined together."""

_NO_DEFAULTS = frozenset({"path", "segment", "spelling", GIVEN})
_RARELY_MATTER = frozenset({"scheme", "slash", "slashes", "index", "spelling"})


def is_given(part: str) -> bool:
    """Whether a part does not matter from the start: a tracking parameter, or what a given rule has removed."""
    return part.startswith(GIVEN) or is_tracking(part)


class Hypothesis:
    """One belief about the URLs of a site, in one of three shapes.

    * a part is *irrelevant*: whatever its value, the page is the same as without it;
    * one *value* of a part is its default: the page is the same as without the part;
    * two or three parts are irrelevant *together*: they only ever change at the same time.
    """

    __slots__ = ("_text", "given", "names", "number", "rarely_matters", "salt", "session", "shift", "value", "written")

    def __init__(self, number: int, names: tuple[str, ...], value: str | None, salt: int, shift: int) -> None:
        self.number = number
        self.names = names
        """The parts; several if they are irrelevant together."""
        self.value = value
        """The value that is the default; None if the value does not matter."""
        self.salt = salt
        """Keeps what is known under this assumption apart from what is known for sure."""
        self.shift = shift
        """The hash of the part with its default value; 0 if the value does not matter."""
        self.given = value is None and len(names) == 1 and is_given(names[0])
        """Whether it is a rule from the start."""
        self.written = self.given and names[0].startswith(GIVEN)
        """Whether somebody who knows the site wrote it."""
        self.session = value is None and all(map(is_session, names))
        """Whether programs use such names for session ids: believed sooner, verified all the same."""
        self.rarely_matters = self.given or self.session or names[0] in _RARELY_MATTER
        """Whether parts of this kind hardly ever change a page."""
        self._text = "+".join(names) + ("" if value is None else f"={value}")

    def __str__(self) -> str:
        return self._text


class Part:
    """A part of a site's URLs, with the hypotheses about it alone."""

    __slots__ = ("irrelevant", "name", "randomness", "sights", "values")

    def __init__(self, name: str) -> None:
        self.name = name
        self.irrelevant: Hypothesis | None = None
        """None for a switch, which has no values that could be irrelevant."""
        self.values: dict[str, Hypothesis] = {}
        """Value → the hypothesis that it is the default."""
        self.sights: dict[Hypothesis, int] = {}
        """How often each of these values was observed."""
        self.randomness = 0
        """Observed values that look random, less those that do not."""

    def about(self, value: str) -> tuple[Hypothesis, ...]:
        """The hypotheses that say something about this value."""
        default = self.values.get(value)
        return tuple(h for h in (self.irrelevant, default) if h is not None)


class Hypotheses:
    """All hypotheses about one site, each an object of its own, so that evidence is looked up by identity."""

    __slots__ = ("_hash", "all", "hinted", "joint", "parts")

    def __init__(self, hashed: KeyedHash) -> None:
        self._hash = hashed
        self.all: list[Hypothesis] = []
        self.parts: dict[str, Part] = {}
        self.joint: dict[tuple[str, ...], Hypothesis] = {}
        self.hinted: set[Hypothesis] = set()
        """Those that the site itself has suggested, by rel=canonical or a redirect."""

    def part(self, name: str) -> Part | None:
        """The part of this name; None if the site has too many names already."""
        part = self.parts.get(name)
        if part is None and len(self.parts) < MAX_NAMES:
            part = self.parts[name] = Part(name)
            if name not in SWITCHES:
                self.add((name,), None)
        return part

    def observe(self, part: Part, value: str, shift: int) -> Hypothesis | None:
        """Count a sight of a value; returns the hypothesis that it is the default, if that is examined."""
        if looks_random(value):
            part.randomness += 1
            return None
        part.randomness -= 1
        found = part.values.get(value)
        if found is None and len(part.values) < MAX_VALUES and part.name.partition(":")[0] not in _NO_DEFAULTS:
            found = self.add((part.name,), value, shift)
        if found is not None:
            part.sights[found] += 1
        return found

    def together(self, names: tuple[str, ...]) -> Hypothesis | None:
        """The hypothesis that these parts are irrelevant together; None if there are too many such."""
        found = self.joint.get(names)
        if found is None and len(self.joint) < MAX_JOINT:
            found = self.add(names, None)
        return found

    def is_random(self, hypothesis: Hypothesis) -> bool:
        """Whether it is about session ids and the like, of which it is implausible that one of them is special."""
        if hypothesis.value is not None:
            return False
        return hypothesis.session or all(self.parts[name].randomness > 0 for name in hypothesis.names)

    def is_innocent(self, hypothesis: Hypothesis) -> bool:
        """Whether it is implausible that it is wrong for some pages only."""
        return hypothesis.rarely_matters or self.is_random(hypothesis)

    def add(self, names: tuple[str, ...], value: str | None, shift: int = 0) -> Hypothesis:
        """Make a hypothesis about known parts."""
        salt = self._hash("assumed", *names) if value is None else 0
        made = Hypothesis(len(self.all), names, value, salt, shift & MASK)
        self.all.append(made)
        part = self.parts[names[0]]
        if len(names) > 1:
            self.joint[names] = made
        elif value is None:
            part.irrelevant = made
        else:
            part.values[value] = made
            part.sights[made] = 0
        return made
