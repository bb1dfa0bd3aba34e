"""Words and their digests."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simdedup.fingerprint.words import WordHashes, split_words, word_hashes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The 3rd tide, at 12:30!", "the 3rd tide at 12 30"),
        ("snake_case and CamelCase", "snake_case and camelcase"),
        ("naïve café – “quoted”", "naïve café quoted"),
        ("東京タワー is high", "東 京 タ ワ ー is high"),
        ("ไทย web", "ไ ท ย web"),
        ("한국어 web", "한 국 어 web"),
        ("ﬁne ½ Ⅳ", "fine 1 2 iv"),
        ("fullwidth ＡＢＣ１", "fullwidth abc1"),
        ("non\xa0breaking", "non breaking"),
        ("...", ""),
        ("", ""),
    ],
)
def test_words_are_runs_of_letters_and_digits_in_lower_case(text: str, words: str) -> None:
    """In scripts that write no spaces a character is a word; compatible characters are the same."""
    assert [word.decode() for word in split_words(text)] == words.split()


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_takes_a_short_cut_to_the_same_words(text: str) -> None:
    """A letter of another alphabet behind the text changes no word of it."""
    assert split_words(text) == split_words(f"{text} \u0436")[:-1]


@given(st.text(max_size=200))
def test_composed_and_decomposed_text_has_the_same_words(text: str) -> None:
    """Two servers may write one letter in two ways."""
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert split_words(composed) == split_words(decomposed)


def test_marks_without_end_and_ligatures_without_end_cost_no_time() -> None:
    """Sorting 200,000 marks takes a minute; 200,000 ligatures stand for 3.6 million characters."""
    assert split_words("a" + "\u0301\u0327" * 100_000 + " end")[-1] == b"end"
    assert len(split_words("\ufdfa" * 200_000)) == 1


@given(st.lists(st.text("aZÉß9_東ไﬁ½ΣΑ\u0301\ufdfa’—.' \n\udc80", max_size=20)))
def test_the_words_of_a_page_are_those_of_its_texts(texts: list[str]) -> None:
    """Looked up all at once, whatever scripts and signs they are written in."""
    hashes = WordHashes(b"secret")
    assert hashes.of_texts(texts) == [b"".join(map(hashes.digest, split_words(text))) for text in texts]


def test_digests_without_a_secret_are_murmurhash3() -> None:
    """Anyone can compute them: these are the first 64 bits of MurmurHash3_x64_128, little end first."""
    assert word_hashes()[b"hello"].hex() == "029bbd41b3a7d8cb"


def test_a_secret_changes_every_digest_and_has_an_id() -> None:
    """The id tells secrets apart, and nothing about them."""
    plain, one, other = word_hashes(), WordHashes(b"one"), WordHashes(b"other")
    assert len({hashes[b"tide"] for hashes in (plain, one, other)}) == 3
    assert plain.secret_id == 0
    assert len({0, one.secret_id, other.secret_id}) == 3
    assert WordHashes(b"one")[b"tide"] == one[b"tide"]


def test_memory_is_bounded() -> None:
    """Words made up by the million do not fill it, and words of megabytes are not kept at all."""
    hashes = WordHashes()
    for number in range(210_000):
        hashes[b"%d" % number]
    assert len(hashes) <= 200_000
    known = len(hashes)
    assert len(hashes[b"x" * 1_000_000]) == 8
    assert len(hashes) == known
