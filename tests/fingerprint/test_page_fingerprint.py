"""Page fingerprints: made from any HTML, compared, written and read."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers import pages
from scrapy_simdedup import Comparison, FingerprintMismatch, PageFingerprint, SettingError, fingerprint_page
from scrapy_simdedup.fingerprint.fingerprint import ALGORITHM
from scrapy_simdedup.fingerprint.make import body_digest, fingerprint
from scrapy_simdedup.settings import DedupSettings

SEEDS = st.integers(0, 20)
fingerprints = st.builds(lambda seed, wrapping: fingerprint_page(pages.page(seed, wrapping)), SEEDS, SEEDS)
soup = st.lists(
    st.one_of(
        st.text(max_size=30), st.sampled_from(["<p>", "</p>", "<div class=", "<!--", "<h1>", "<br>", "word " * 9])
    ),
    max_size=40,
).map("".join)


def edited(html: str, words: int) -> str:
    """The page with some of its words replaced, evenly spread over the article."""
    head, start, article = html.partition("<p>Target")
    tokens = article.split(" ")
    for number in range(words):
        tokens[1 + number * (len(tokens) - 60) // words] = f"edit{number}"
    return head + start + " ".join(tokens)


def collections_during(html: str) -> int:
    """How often Python collects garbage while a page is fingerprinted."""
    phases: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        phases.append(phase)

    gc.collect()
    gc.callbacks.append(note)
    try:
        fingerprint_page(html)
    finally:
        gc.callbacks.remove(note)
    return phases.count("start")


# ------------------------------------------------------------------ comparing


def test_another_frame_around_the_same_article_is_identical() -> None:
    """Navigation, advertisements, related pages and counters are not the page."""
    found = fingerprint_page(pages.page("tides", 1)).compare(fingerprint_page(pages.page("tides", 2)))
    assert found.kind == "identical"
    assert found.similarity >= 0.95
    assert found.distance <= 12


def test_another_article_in_the_same_frame_is_different() -> None:
    """What pages of a site share says nothing."""
    found = fingerprint_page(pages.page("tides", 1)).compare(fingerprint_page(pages.page("moons", 1)))
    assert found.kind == "different"
    assert found.similarity < 0.5


def test_the_more_is_edited_the_less_similar_pages_are() -> None:
    """A word is noticed, a few words are an edit, and many are another page."""
    body = "<p>Target " + pages.prose("body", 300)
    html = pages.page("tides", body=body)
    original = fingerprint_page(html)
    similarities = [original.compare(fingerprint_page(edited(html, words))).similarity for words in (0, 1, 12, 60)]
    assert similarities == sorted(similarities, reverse=True)
    assert similarities[0] == 1.0 > similarities[1] >= 0.95
    assert 0.85 <= similarities[2] < 0.95
    assert similarities[3] < 0.85


def test_the_lines_between_the_kinds_can_be_moved() -> None:
    """The similarity stays what it is."""
    html = pages.page("tides", body="<p>Target " + pages.prose("body", 300))
    one, other = fingerprint_page(html), fingerprint_page(edited(html, 12))
    assert one.compare(other).kind == "near"
    assert one.compare(other, identical=0.85).kind == "identical"
    assert one.compare(other, identical=0.99, near=0.99).kind == "different"


def test_short_pages_with_another_headline_are_near_at_most() -> None:
    """Placeholders share their text and are not copies."""
    text = pages.prose("coming soon", 60)
    html = "<title>{0}</title><h1>{0}</h1>" + text
    found = fingerprint_page(html.format("Tides")).compare(fingerprint_page(html.format("Moons")))
    assert found.kind == "near"
    assert fingerprint_page(html.format("Tides")).compare(fingerprint_page(html.format("TIDES!"))).kind == "identical"


@given(fingerprints, fingerprints)
@settings(max_examples=50)
def test_comparing_is_symmetric(one: PageFingerprint, other: PageFingerprint) -> None:
    """There is no first and second."""
    assert one.compare(other) == other.compare(one)


@given(fingerprints)
@settings(max_examples=20)
def test_a_page_is_identical_with_itself(fp: PageFingerprint) -> None:
    """Fully, and at distance 0."""
    assert fp.compare(fp) == Comparison("identical", 1.0, 0, None if fp.unjudged else 0)


# ------------------------------------------------------------------ unjudged


@pytest.mark.parametrize(
    "html", ["", "<!-- -->", "<noscript>Enable JavaScript.</noscript>", "<h1>404</h1><p>Not found</p>", "\ufffd" * 99]
)
def test_pages_without_enough_text_are_copies_of_nothing(html: str) -> None:
    """Not even of themselves: error stubs of different pages are equal."""
    fp = fingerprint_page(html)
    assert fp.unjudged in {"empty", "too_short", "undecodable"}
    assert fp.compare(fp) == Comparison("different", 0.0, 0)


@pytest.mark.parametrize("tail", ["<!-- ", "<div>" * 3_000, "<i></i>" * 60_000, "x " * 200_000])
def test_pages_that_cannot_be_trusted_are_copies_only_if_byte_for_byte(tail: str) -> None:
    """Their content exists; what was read of it may be the same for different pages."""
    one, same, other = (
        fingerprint_page(pages.page("tides") + tail + last, max_page_bytes=390_000) for last in ("a", "a", "b")
    )
    judged = fingerprint_page(pages.page("tides"))
    assert one.unjudged in {"cut", "too_many_elements", "too_big"}
    assert one.compare(same).kind == "identical"
    assert one.compare(other).kind == one.compare(judged).kind == judged.compare(one).kind == "different"


@pytest.mark.parametrize(("words", "unjudged"), [(21, "too_short"), (22, None)])
def test_distinct_shingles_decide_what_is_too_short(words: int, unjudged: str | None) -> None:
    """Twenty, by default; repeating them does not help."""
    html = f"<p>{' '.join(f'word{number}' for number in range(words))}</p>" * 5
    assert fingerprint_page(html).unjudged == unjudged
    assert fingerprint_page(html, min_words=5).unjudged is None


@given(st.one_of(soup, st.text(), st.text(st.characters(categories=["Cs", "Cc", "Mn", "Lo"]))))
@settings(max_examples=200)
def test_nothing_makes_it_raise(html: str) -> None:
    """Every text has a fingerprint, which can be written, read and compared."""
    fp = fingerprint_page(html, min_words=2)
    assert PageFingerprint.from_bytes(bytes(fp)) == fp
    assert fp.compare(fp).kind == ("different" if fp.unjudged else "identical") or fp.unjudged == "cut"


# ------------------------------------------------------------------ settings


def test_python_collects_no_garbage_for_the_blocks_of_a_page_and_goes_on_afterwards() -> None:
    blocks = "".join(f"<p>Paragraph {number} of many</p>" for number in range(2_000))
    assert collections_during(blocks) <= 1  # that which is due when the page is done
    assert gc.isenabled()


def test_garbage_collection_that_the_user_switched_off_stays_off() -> None:
    gc.disable()
    try:
        fingerprint_page(pages.page(1, 1))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_settings_are_keywords_without_their_prefix() -> None:
    """They are checked like those of a project."""
    assert fingerprint_page(pages.page(1), bits=128).bits == 128
    with pytest.raises(SettingError, match="SIMDEDUP_BITS = 65"):
        fingerprint_page(pages.page(1), bits=65)


def test_a_prepared_settings_value_gives_the_same_fingerprint() -> None:
    """The detector does not check settings for every page."""
    html = pages.page(1)
    made = fingerprint(html, DedupSettings(bits=128, secret="key"), b"key")
    assert made == fingerprint_page(html, bits=128, secret="key")


def test_the_lower_half_of_128_bits_is_the_simhash_of_64() -> None:
    """More bits tell more."""
    html = pages.page(1)
    wide = fingerprint_page(html, bits=128).simhash
    assert wide & (1 << 64) - 1 == fingerprint_page(html).simhash
    assert wide >> 64 != wide & (1 << 64) - 1


def test_under_a_secret_nothing_is_what_it_is_without() -> None:
    """Whoever does not know it cannot foresee a bit of what two pages have in common."""
    open_, keyed = fingerprint_page(pages.page(1)), fingerprint_page(pages.page(1), secret="key")
    assert (open_.simhash ^ keyed.simhash).bit_count() > 12
    assert open_.exact != keyed.exact
    assert open_.sketch != keyed.sketch
    assert (open_.title, open_.h1) != (keyed.title, keyed.h1)
    assert keyed.compare(fingerprint_page(pages.page(1, 2), secret="key")).kind == "identical"


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        ({"bits": 64}, {"bits": 128}, "bits 64 and 128"),
        ({"secret": "a"}, {"secret": "b"}, "secret id"),
        ({"secret": "a"}, {}, "secret id"),
        ({"shingle_size": 3}, {"shingle_size": 4}, "shingle size 3 and 4"),
        ({"extractor": "roles"}, {"extractor": "readability"}, "extractor roles and readability"),
        ({"extractor": "content"}, {"extractor": "roles"}, "extractor content and roles"),
    ],
)
def test_fingerprints_that_were_made_differently_are_not_compared(
    first: dict[str, object], second: dict[str, object], named: str
) -> None:
    """An error says what differs; a silent mix would call everything different."""
    one, other = (fingerprint_page(pages.page(1), **made) for made in (first, second))
    with pytest.raises(FingerprintMismatch, match=named):
        one.compare(other)


def test_fingerprints_of_two_content_models_are_not_compared() -> None:
    """Another model takes other blocks for content."""
    one = fingerprint_page(pages.page(1), extractor="content")
    with pytest.raises(FingerprintMismatch, match="model"):
        one.compare(one._replace(model=one.model ^ 1))


# ------------------------------------------------------------------ bytes


@pytest.mark.parametrize("html", [pages.page(1), "", "<!-- "])
@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("extractor", ["roles", "content", "readability"])
@pytest.mark.parametrize("secret", [None, "key"])
def test_bytes_and_back_is_the_same_fingerprint(html: str, bits: int, extractor: str, secret: str | None) -> None:
    """In at most 930 bytes, whatever the settings."""
    fp = fingerprint_page(html, bits=bits, extractor=extractor, secret=secret, shingle_size=10)
    again = PageFingerprint.from_bytes(bytes(fp))
    assert again == fp
    assert (again != fp) is False
    assert len({again, fp}) == 1
    assert len(bytes(fp)) <= 930


@given(st.binary(max_size=600))
def test_bytes_are_read_completely_or_refused(raw: bytes) -> None:
    """Never with another error."""
    with suppress(FingerprintMismatch):
        assert bytes(PageFingerprint.from_bytes(raw)) == raw


@given(st.integers(0, 600), st.integers(0, 3), st.binary(min_size=1, max_size=3))
def test_a_damaged_fingerprint_is_refused_or_reads_as_what_it_says(cut: int, at: int, junk: bytes) -> None:
    """A wrong length, version, width or flag is noticed."""
    whole = bytes(fingerprint_page(pages.page(1)))
    assume(cut < len(whole))
    for raw in (whole[:cut], whole + junk):
        with pytest.raises(FingerprintMismatch):
            PageFingerprint.from_bytes(raw)
    changed = bytearray(whole)
    changed[at] ^= 0xFF
    if at != 2:
        with pytest.raises(FingerprintMismatch):
            PageFingerprint.from_bytes(bytes(changed))


def test_a_fingerprint_of_another_version_says_what_to_do() -> None:
    """It is neither read nor compared."""
    fp, later = fingerprint_page(pages.page(1)), ALGORITHM + 1
    with pytest.raises(FingerprintMismatch, match=f"version {later} cannot be read by version {ALGORITHM}; fin"):
        PageFingerprint.from_bytes(bytes([later]) + bytes(fp)[1:])
    with pytest.raises(FingerprintMismatch, match=f"algorithm {ALGORITHM} and {later}"):
        fp.compare(fp._replace(algorithm=later))


# ------------------------------------------------------------------ the same everywhere


def test_the_digest_of_the_body_needs_no_parsing() -> None:
    """Pages that are equal character for character have the same."""
    html = pages.page(1)
    assert body_digest(html) == fingerprint_page(html).body == body_digest("".join(list(html)))
    assert body_digest(html) != body_digest(html + " ")
    assert body_digest(html, b"one") not in {body_digest(html), body_digest(html, b"other")}
    assert len(body_digest("\ud800")) == 8
