"""One contract for all methods."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.methods import BITS, EXACT, GRADED, METHODS
from helpers.pages import page, prose, words
from scrapy_simdedup import FingerprintMismatch, PageFingerprint, fingerprint_page
from scrapy_simdedup.fingerprint import methods as implementation
from scrapy_simdedup.fingerprint.methods import IDENTICAL_BITS, NEAR_BITS
from scrapy_simdedup.unjudged import COMPARED_BY_BODY

methods = st.sampled_from(list(METHODS))
every_method = pytest.mark.parametrize("name", METHODS)
PIECES = [prose(seed, 40) for seed in range(6)]
page_bodies = st.lists(st.sampled_from([*PIECES, "<nav>Home</nav>", "x", "<p>12:30, 5 May 2024"]), max_size=8).map(
    "".join
)


def made(name: str, html: str, **settings: Any) -> PageFingerprint:
    return fingerprint_page(html, **METHODS[name] | settings)


def article(text: list[str], wrapping: object = 0) -> str:
    return page("tides", wrapping, body=f"<p>{' '.join(text)}</p>")


def edited(share: float) -> str:
    """An article of 400 words of which a share is another's."""
    text = words("text", 400)
    count = round(400 * share)
    return article(text[: 400 - count] + words("edit", count))


# ------------------------------------------------------------------ comparing


@given(methods, page_bodies, page_bodies)
def test_comparisons_are_symmetric(name: str, one: str, other: str) -> None:
    """As far as texts of their own are passed over. Similarities lie between 0 and 1, and the kind is theirs."""
    a, b = made(name, one, min_words=3), made(name, other, min_words=3)
    there, back = a.compare(b, novel_words=None), b.compare(a, novel_words=None)
    assert there == back
    assert 0 <= there.similarity <= 1
    assert (there.kind == "identical") == (there.similarity >= 0.95)
    assert (there.kind == "different") == (there.similarity < 0.85)


@given(methods, page_bodies)
def test_a_page_is_itself(name: str, html: str) -> None:
    """Unless there is too little to tell."""
    fp = made(name, html, min_words=3)
    assert fp.compare(fp).similarity == (fp.unjudged is None or fp.unjudged in COMPARED_BY_BODY)


@every_method
@pytest.mark.parametrize("html", ["", " ", "<p></p>", "<p>x</p>", "<h1>404</h1><p>Not found</p>"])
def test_empty_and_tiny_pages_are_copies_of_nothing(name: str, html: str) -> None:
    """Not even of themselves: error stubs of different pages are equal."""
    fp = made(name, html)
    assert fp.unjudged in {"empty", "too_short"}
    assert fp.compare(fp).kind == "different"


@every_method
def test_other_pages_are_different(name: str) -> None:
    """In the same frame, too."""
    assert made(name, page("tides")).compare(made(name, page("moons"))).kind == "different"


@given(methods, page_bodies, page_bodies, st.tuples(*[st.floats(0, 1)] * 3))
def test_a_lower_line_never_takes_less(name: str, one: str, other: str, lines: tuple[float, ...]) -> None:
    """What is identical stays so, what is near is no less."""
    ranks = ["different", "near", "identical"]
    low, middle, high = sorted(lines)
    first, second = made(name, one, min_words=3), made(name, other, min_words=3)
    strict, loose = (ranks.index(first.compare(second, identical=high, near=near).kind) for near in (middle, low))
    looser = ranks.index(first.compare(second, identical=middle, near=low).kind)
    assert strict <= loose <= looser


@pytest.mark.parametrize("name", [*GRADED, *BITS])
def test_another_frame_around_the_same_content_is_identical(name: str) -> None:
    """The frame is not the page."""
    assert made(name, page("tides", 1)).compare(made(name, page("tides", 2))).kind == "identical"


@pytest.mark.parametrize("name", GRADED)
def test_the_more_is_edited_the_less_similar_pages_are(name: str) -> None:
    """Little is identical, more is near, much is different."""
    whole = made(name, edited(0))
    found = [whole.compare(made(name, edited(share))) for share in (0.01, 0.12, 0.25, 0.5, 0.9)]
    assert [one.kind for one in found[:2]] == ["identical", "near"]
    assert found[-1].kind == "different"
    assert [one.similarity for one in found] == sorted((one.similarity for one in found), reverse=True)


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("share", [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.9])
def test_bits_are_classes_of_distances(name: str, share: float) -> None:
    """Up to 3 are identical, up to 8 near, whatever the width; the text is not asked."""
    found = made(name, edited(0)).compare(made(name, edited(share)))
    by_distance = (
        "identical" if found.distance <= IDENTICAL_BITS else "near" if found.distance <= NEAR_BITS else "different"
    )
    assert found.kind == by_distance
    assert found.kind == "different" or share < 0.9


@pytest.mark.parametrize("name", EXACT)
def test_exact_means_exact(name: str) -> None:
    """One other word of 400 makes another page."""
    text = words("text", 400)
    assert made(name, article(text)).compare(made(name, article(text))).similarity == 1
    assert made(name, article(text)).compare(made(name, article(["other", *text[1:]]))).similarity == 0


def test_what_exact_compares_is_for_the_settings_to_say() -> None:
    """Bodies differ in a space, texts in a frame, contents in a number; each only where nobody said to pass over it."""
    text = prose("text")
    pairs = {
        "space": (page("a", 1, body=text), page("a", 1, body=text.replace("<p>", "<p> "))),
        "frame": (page("a", 1, body=text), page("a", 2, body=text)),
        "number": (page("a", 1, body=text + "<p>At 12:30 the tide"), page("a", 1, body=text + "<p>At 9:15 THE tide")),
    }
    scopes = {
        "body": ({"exact": "body"}, []),
        "text": ({"exact": "text"}, ["space"]),
        "content": ({"exact": "content"}, ["space", "frame"]),
        "masked": ({"exact": "content", "ignore": "times, case"}, ["space", "frame", "number"]),
    }
    for settings, equal in scopes.values():
        prints = {
            name: [fingerprint_page(html, method="exact", **settings) for html in pair] for name, pair in pairs.items()
        }
        assert [name for name, (one, other) in prints.items() if one.compare(other).similarity == 1] == equal


@every_method
@pytest.mark.parametrize("frame", [1, 2])
def test_a_page_of_little_content_is_compared_by_all_of_it(name: str, frame: int) -> None:
    """A short text in common, such as that of a login form, makes no copy where the rest differs."""
    pages = [f"<nav>{prose(f'{seed} {frame}', 200)}</nav><main><p>Please log in</p></main>" for seed in range(2)]
    one, other = (made(name, html) for html in pages)
    assert one.unjudged is None
    assert one.compare(other).kind == "different"


# ------------------------------------------------------------------ bytes


@every_method
@pytest.mark.parametrize("html", [page("tides"), "", "<p>short", page("tides") + "<!-- "])
@pytest.mark.parametrize("extractor", ["roles", "content", "readability"])
@pytest.mark.parametrize("structure", [False, True])
def test_bytes_and_back_is_the_same_fingerprint(name: str, html: str, extractor: str, structure: bool) -> None:
    """In at most 1,024 bytes, and 64 for the structure of a page that has any text."""
    fp = made(name, html, extractor=extractor, track_layout=structure, shingle_size=10)
    assert PageFingerprint.from_bytes(bytes(fp)) == fp
    assert len(fp.structure) == (64 if structure and fp.total else 0)
    assert len(bytes(fp)) <= 1_440 + len(fp.structure)
    assert fp._replace(structure=b"") == made(name, html, extractor=extractor, shingle_size=10)


@given(methods, st.data())
def test_damaged_bytes_are_refused_or_read_completely(name: str, data: st.DataObject) -> None:
    """Whatever is wrong with them."""
    raw = bytearray(bytes(made(name, page("tides"))))
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=3)):
        raw[at] ^= data.draw(st.integers(1, 255))
    for read in (bytes(raw), bytes(raw[: data.draw(st.integers(0, len(raw)))]), bytes(raw) + b"x"):
        with suppress(FingerprintMismatch):
            assert bytes(PageFingerprint.from_bytes(read)) == read


@every_method
def test_evidence_is_the_end_of_a_fingerprint(name: str) -> None:
    """So that many can be read at once; what it says of one page and many is what it says of each."""
    prints = [made(name, html) for html in (edited(0), edited(0.1), page("moons"), page("tides", 2))]
    size = prints[0].comparison_row.itemsize
    many = np.frombuffer(b"".join(bytes(fp)[-size:] for fp in prints), prints[0].comparison_row.dtype)
    for fp in prints:
        assert fp.score(many).similarity.tolist() == [fp.compare(other).similarity for other in prints]


@every_method
def test_no_page_is_more_similar_than_it_resembles_unless_the_texts_are_equal(name: str) -> None:
    """So what does not resemble a page need not be scored."""
    changed = [edited(share / 20) for share in range(12)] + [page("moons"), page("tides", 2)]
    prints = [made(name, html) for html in changed]
    many = np.concatenate([fp.comparison_row for fp in prints])
    for fp in prints:
        found = fp.score(many)
        known = implementation.METHODS[fp.method].resemblances(fp.comparison_row[0], many)
        assert ((found.adjusted <= known) | found.equal).all()


# ------------------------------------------------------------------ keys and settings


@every_method
def test_nothing_can_be_foreseen_without_the_secret(name: str) -> None:
    """Under another one every bit that tells something is another."""
    open_, keyed = made(name, page("tides")), made(name, page("tides"), secret="key")
    assert open_.exact != keyed.exact
    assert not open_.sketch or open_.sketch != keyed.sketch
    assert (open_.simhash ^ keyed.simhash).bit_count() > 12
    with pytest.raises(FingerprintMismatch, match="secret id"):
        open_.compare(keyed)


@pytest.mark.parametrize("one", METHODS)
@pytest.mark.parametrize("other", METHODS)
def test_fingerprints_of_different_methods_are_not_compared(one: str, other: str) -> None:
    """An error says so; of unjudged pages, too."""
    for html in (page("tides"), ""):
        first, second = made(one, html), made(other, html)
        if one == other:
            first.check_comparable(second)
            continue
        with pytest.raises(FingerprintMismatch, match=r"method|variant|bits"):
            first.check_comparable(second)


def test_other_processes_make_the_same_fingerprints() -> None:
    """Whatever the seed of Python's own hashes."""
    script = (
        "from helpers.methods import METHODS; from helpers.pages import page;"
        "from scrapy_simdedup import fingerprint_page;"
        "print([bytes(fingerprint_page(page('tides é 東京'), **settings)).hex() for settings in METHODS.values()])"
    )
    expected = [bytes(made(name, page("tides é 東京"))).hex() for name in METHODS]
    for seed in ("0", "random"):
        env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(expected)
