"""The textbook's simhash, bit for bit."""

from __future__ import annotations

from collections import Counter
from hashlib import md5

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from simhash import Simhash

from scrapy_simdedup.fingerprint.features import classic_simhash, count_ngrams, count_words, weighted_majority

FEATURES = st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=8).map(str.encode), st.integers(1, 100), max_size=30
)


def textbook(features: dict[bytes, int], bits: int) -> int:
    """A loop over the bits of each feature's digest, 64 or 128 of them."""
    votes = [0] * bits
    for feature, weight in features.items():
        digest = int(md5(feature).hexdigest(), 16)
        for bit in range(bits):
            votes[bit] += weight if digest >> bit & 1 else -weight
    return sum(1 << bit for bit, vote in enumerate(votes) if vote > 0)


@given(FEATURES, st.sampled_from([64, 128]))
def test_it_equals_the_textbook_loop(features: dict[bytes, int], bits: int) -> None:
    """In both widths."""
    assert classic_simhash(features, bits) == textbook(features, bits)


@given(FEATURES.filter(bool))
def test_it_equals_another_implementation(features: dict[bytes, int]) -> None:
    """That of the package ``simhash``, whose digest is the same."""
    theirs = Simhash([(feature.decode(), weight) for feature, weight in features.items()], f=64)
    assert classic_simhash(features, 64) == theirs.value


def test_features_of_five_bits_vote() -> None:
    """Three of five for the first bit, four for the second, less than half for the others: 11000."""
    features = [0b10101, 0b11001, 0b11000, 0b01100, 0b01000]
    sums = [sum(1 if feature >> bit & 1 else -1 for feature in features) for bit in range(4, -1, -1)]
    assert sums == [1, 3, -1, -5, -1]
    assert weighted_majority(np.array(features, np.uint8)[:, None], np.ones(5)) == 0b11000


def test_a_tie_is_0() -> None:
    """Two features that disagree in the two lowest bits set neither."""
    assert weighted_majority(np.array([[0b1101], [0b1110]], np.uint8), np.ones(2)) == 0b1100


def test_nothing_to_vote_is_one_tie() -> None:
    """A page without words has no bit."""
    assert classic_simhash({}) == 0


def test_64_bits_are_the_lower_half() -> None:
    """Of the same votes."""
    words = count_words("a tide that comes in and a tide that goes out")
    assert classic_simhash(words, 64) == classic_simhash(words) & 2**64 - 1


def test_words_count_from_three_letters_on() -> None:
    """In lower case; digits and underscores are no letters."""
    assert count_words("Tide, tide, ebb; an EBB of 300 km_h. Höhe") == Counter(
        {b"tide": 2, b"ebb": 2, "höhe".encode(): 1}
    )
    assert count_words("an ebb of", letters=2) == Counter({b"an": 1, b"ebb": 1, b"of": 1})


def test_runs_of_words_are_counted() -> None:
    """A short text is one run, an empty one none."""
    assert count_ngrams("to be or to be", 2) == Counter({b"to be": 2, b"be or": 1, b"or to": 1})
    assert count_ngrams("to be", 3) == Counter({b"to be": 1})
    assert count_ngrams("", 3) == Counter()


def test_keyed_digests_are_others() -> None:
    """So that nobody can foresee them."""
    words = count_words("the tide that comes in goes out again")
    assert classic_simhash(words, secret=b"a") not in {classic_simhash(words), classic_simhash(words, secret=b"b")}
