"""Words of texts."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simdedup.fingerprint.hashing import TEXT_END, join_words, split_words


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
        ("Brand™ ℃ 😀 3 m²", "brand 3 m2"),
        ("WiFi\u2713, pool \u2717 \u25cf\u25cb \u2605", "wifi \u2713 pool \u2717 \u25cf \u25cb"),
        ("ΣΟΦΟΣ σοφός σοφο\u0301ς", "σοφοσ σοφόσ σοφόσ"),
        ("İstanbul I\u0307stanbul", "istanbul istanbul"),
        ("カ\u3099ット", "ガ ッ ト"),
        ("ที่ว่าง", "ท ี ่ ว ่ า ง"),
        ("مُحَمَّد x\u0304", "محمد x"),
        ("कल काल किल, बांग्ला", "कल काल किल बांग्ला"),
        ("\u0915\u093c\u0932\u092e \u0958\u0932\u092e", "\u0915\u093c\u0932\u092e \u0915\u093c\u0932\u092e"),
        ("தொழில் བོད་ཡིག", "தொழில் བོད ཡིག"),
        ("C++ (C#), the S10+: A+B, x++ y", "c++ c# the s10+ a b x++ y"),
        ("é+ 1# #x# + ++ Setup# д#", "é+ 1 x# setup д"),
        ("東+C+東", "東 c+ 東"),
        ("a\x1eb", "a b"),
        ("...", ""),
        ("", ""),
    ],
)
def test_words_are_runs_of_letters_and_digits_in_lower_case(text: str, words: str) -> None:
    """In scripts that write no spaces a character is a word; compatible characters are the same.

    A plus sign may end a word, and the number sign a letter. Where marks are the vowels of a script, a word without
    them is another.
    """
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
    assert split_words("क" + "\u094d\u093c" * 100_000 + " end")[-1] == b"end"
    assert len(split_words("\ufdfa" * 200_000)) == 1


@given(st.lists(st.text("aZÉß9_+#東ไﬁ½ΣΑ\u0301\u3099\ufdfa\x1e’—.' \n\udc80", max_size=20)))
def test_the_words_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    """Whatever scripts and signs they are written in: no text changes the words of another."""
    parts = join_words(texts).replace(b"\0", b" ").split(bytes([TEXT_END]))
    assert [part.split() for part in parts] == [*map(split_words, texts), []]
