"""SIMDEDUP_ROLE_WORDS: what the words of a site's class names mean."""

from __future__ import annotations

from typing import Any

import pytest

from helpers import pages
from helpers.on_asyncio import on_asyncio
from scrapy_simdedup import FingerprintMismatch, NearDuplicateDetector, SettingError, StoreError, fingerprint_page
from scrapy_simdedup.page.roles import ROLE_NAMES
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.memory import MemoryStore

WORDS = {"aside": ["kasten"], "footer": ["Impressum"]}


def page_with(box: object) -> str:
    return (
        f'<div class="menu">Menu</div><div class="kasten-links">{pages.prose(box, 80)}</div>{pages.prose("text", 240)}'
    )


def test_the_setting_knows_all_roles() -> None:
    words = {role: ["kasten"] for role in ROLE_NAMES.values()}
    assert dict(DedupSettings.from_keywords(role_words=words).role_words) == dict.fromkeys(words, ("kasten",))


def test_words_are_written_as_json_on_the_command_line() -> None:
    assert DedupSettings.from_keywords(role_words='{"footer": ["Impressum"]}').role_words == (
        ("footer", ("impressum",)),
    )


def test_a_word_makes_a_frame_of_what_it_names() -> None:
    """What stands there makes no other page of it."""
    one, other = (fingerprint_page(page_with(box)) for box in "ab")
    assert one.compare(other).kind != "identical"
    one, other = (fingerprint_page(page_with(box), role_words=WORDS) for box in "ab")
    assert one.compare(other).kind == "identical"


def test_pages_that_were_read_with_other_words_are_not_compared() -> None:
    """Order and case of the words say nothing."""
    one = fingerprint_page(page_with("a"), role_words=WORDS)
    same = fingerprint_page(page_with("a"), role_words={"footer": ["impressum"], "aside": ["KASTEN"]})
    assert one == same
    with pytest.raises(FingerprintMismatch, match="role words"):
        one.compare(fingerprint_page(page_with("a")))


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"sidebar": ["kasten"]}, "'sidebar'.*no such role.*'navigation'.*'aside'"),
        ({"aside": "kasten"}, "list of single words"),
        ({"aside": ["box left"]}, "words of letters"),
        ({"aside": ["box-left-top"]}, "words of letters"),
        (["kasten"], "dictionary such as"),
    ],
)
def test_a_wrong_value_is_answered_with_what_to_write(value: Any, named: str) -> None:
    with pytest.raises(SettingError, match=named):
        DedupSettings.from_keywords(role_words=value)


@on_asyncio
async def test_a_store_holds_to_the_words_it_began_with() -> None:
    """Its fingerprints and new ones would not meet."""
    store = MemoryStore()
    await NearDuplicateDetector(store, role_words=WORDS).open()
    await NearDuplicateDetector(store, role_words=WORDS).open()
    with pytest.raises(StoreError, match="role words aside: kasten; footer: impressum"):
        await NearDuplicateDetector(store).open()
