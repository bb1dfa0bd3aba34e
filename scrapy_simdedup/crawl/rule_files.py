"""Files with rules about URLs that hold from the first request on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simdedup.errors import SettingError
from scrapy_simdedup.settings import PREFIX
from scrapy_simdedup.urls import load_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simdedup.urls import GivenRule


def given_rules(paths: Iterable[str]) -> list[GivenRule]:
    """The rules of these files, which are in the JSON of duplicate-url-discarder.

    Raises:
        SettingError: one of them cannot be read, or is no list of rules.
    """
    return [rule for path in paths for rule in load_rules(_read(path))]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingError(f"{PREFIX}URL_RULES", path, f"name a JSON file that can be read ({exc})") from exc
