"""Numbers of words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simdedup.fingerprint.hashing import WordHasher, fold_table, split_words, word_hasher
from scrapy_simdedup.fingerprint.make import LocalFingerprinter

WORDS = st.text("abcé東 ", max_size=60)


def numbers(hashes: WordHasher, *texts: str) -> list[int]:
    return hashes.hash_texts(texts)[0].tolist()


@given(st.lists(WORDS))
def test_the_words_of_a_page_have_the_numbers_that_they_have_alone(texts: list[str]) -> None:
    """Hashed all at once, however long they are, and wherever they stand."""
    hashes = WordHasher(b"secret")
    made, counts = hashes.hash_texts(texts)
    words = [split_words(text) for text in texts]
    assert counts.tolist() == [len(found) for found in words]
    assert made.tolist() == [numbers(hashes, word.decode())[0] for found in words for word in found]


@given(st.lists(st.binary(min_size=1, max_size=40).map(bytes.hex), unique=True))
def test_different_words_have_different_numbers(words: list[str]) -> None:
    """One piece more, or one at another place, is another word."""
    assert len(set(numbers(WordHasher(b"secret"), *words))) == len(words)


@pytest.mark.parametrize("length", [1, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 1_000])
def test_every_letter_of_a_word_counts(length: int) -> None:
    """At the edges of the pieces, too, in which words are taken."""
    words = {"a" * at + "b" + "a" * (length - at - 1) for at in range(length)} | {"a" * length, "a" * (length + 1)}
    assert len(set(numbers(word_hasher(), *words))) == len(words)


def test_no_bit_of_a_secret_shows_in_the_numbers() -> None:
    """Of two secrets, the numbers of the same words have half of their bits in common, as chance has it."""
    words = [f"word{number}" for number in range(1_000)]
    one, other = (np.array(numbers(WordHasher(secret), *words), np.uint64) for secret in (b"one", b"other"))
    different = np.unpackbits((one ^ other).view(np.uint8)).mean()
    assert 0.49 < different < 0.51


def test_digests_without_a_secret_are_murmurhash3() -> None:
    """Anyone can compute them: these are the first 64 bits of MurmurHash3_x64_128, little end first."""
    assert word_hasher().digest(b"hello").hex() == "029bbd41b3a7d8cb"


def test_a_secret_changes_every_number_and_has_an_id() -> None:
    """The id tells secrets apart, and nothing about them."""
    plain, one, other = word_hasher(), WordHasher(b"one"), WordHasher(b"other")
    assert len({hashes.digest(b"tide") for hashes in (plain, one, other)}) == 3
    assert len({numbers(hashes, "tide")[0] for hashes in (plain, one, other)}) == 3
    assert plain.secret_id == 0
    assert len({0, one.secret_id, other.secret_id}) == 3
    assert numbers(WordHasher(b"one"), "tide") == numbers(one, "tide")


def test_no_page_waits_for_the_table_of_characters() -> None:
    """It is made while the crawl begins, and not when the first page comes."""
    fold_table.cache_clear()
    LocalFingerprinter().open(b"")
    assert fold_table.cache_info().currsize == 1
