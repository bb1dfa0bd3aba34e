"""Coverage-guided fuzzing of a page's way to its fingerprint and its Markdown: ``FUZZ_SECONDS=600 tox -e fuzz``.

Arguments are libFuzzer's: ``-max_total_time=600``, a directory for the inputs that reached something new, or a file
with an input to run again. The input is a recipe for a page, so that most of what is tried is markup.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from helpers.pages import prose
from helpers.soup import SIGNS, SYNTAX, TAGS, VALUES

MOST_SECONDS = 2.0
"""CPU time that a page may take, of which the tracing of coverage is a part."""
MOST_CHARACTERS = 5_500_000
ENDINGS = tuple(prose(seed, 480) for seed in (1, 2))

ATTRIBUTES = ("class", "id", "role", "style", "href", "shadowrootmode", "data-x")


def page_from(recipe: Any) -> tuple[str, bool]:
    """A page, and whether nothing but tags was repeated in it.

    Args:
        recipe: An ``atheris.FuzzedDataProvider``.
    """
    parts: list[str] = []
    size, is_markup = 0, True
    while recipe.remaining_bytes() > 2 and size < MOST_CHARACTERS and len(parts) < 60:
        kind = recipe.ConsumeIntInRange(0, 9)
        if kind < 5:
            name, value = _pick(recipe, ATTRIBUTES), _pick(recipe, VALUES)
            part = f"<{'/' * (kind == 4)}{_pick(recipe, TAGS)} {name}='{value}'>"
        elif kind < 7:
            part = _pick(recipe, SYNTAX + SIGNS)
        elif kind < 9:
            part = recipe.ConsumeUnicode(recipe.ConsumeIntInRange(0, 24))
        else:
            part = "".join(parts[-recipe.ConsumeIntInRange(1, 4) :])
        if recipe.ConsumeIntInRange(0, 7) == 0:
            is_markup = is_markup and kind < 5
            part *= min(4 ** recipe.ConsumeIntInRange(1, 10), (MOST_CHARACTERS - size) // max(1, len(part)))
        parts.append(part)
        size += len(part)
    return "".join(parts), is_markup and size < 200_000


def _pick(recipe: Any, choices: Sequence[str]) -> str:
    return choices[recipe.ConsumeIntInRange(0, len(choices) - 1)]


def main() -> None:
    """Fuzz until libFuzzer has enough."""
    import atheris

    with atheris.instrument_imports(include=["scrapy_simdedup"]):
        from scrapy_simdedup import fingerprint_page, page_markdown
        from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
        from scrapy_simdedup.page.content import MAX_GROWTH, MIN_LIMIT

    def with_timeout(function: Any, html: str, **settings: Any) -> Any:
        start = time.process_time()
        made = function(html, **settings)
        seconds = time.process_time() - start
        if seconds > MOST_SECONDS:
            raise AssertionError(f"{function.__name__} took {seconds:.1f} s for {len(html)} characters: {html[:300]!r}")
        return made

    def look_at(data: bytes) -> None:
        html, is_markup = page_from(atheris.FuzzedDataProvider(data))
        made = with_timeout(fingerprint_page, html)
        if PageFingerprint.from_bytes(bytes(made)) != made:
            raise AssertionError("a fingerprint is not what was stored of it")
        with_timeout(fingerprint_page, html, extractor="readability")
        if len(with_timeout(page_markdown, html)) > MAX_GROWTH * len(html) + MIN_LIMIT:
            raise AssertionError("Markdown has no bounds")
        if is_markup:
            one, other = (fingerprint_page(html + ending) for ending in ENDINGS)
            if one.compare(other).kind == "identical":
                raise AssertionError(f"two pages became one behind {html[:300]!r}")

    atheris.Setup(sys.argv, look_at)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
