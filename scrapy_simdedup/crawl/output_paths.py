"""The paths of files that a crawl writes, with the placeholders of Scrapy's ``FEEDS``."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.errors import SettingError

if TYPE_CHECKING:
    from scrapy import Spider


class Placeholders(dict[str, Any]):
    """What the placeholders stand for: ``%(time)s`` for the time, any other for the spider's attribute of its name.

    Args:
        spider: the spider of the crawl.
        now: the time; None takes that of the clock.
    """

    def __init__(self, spider: Spider | None, now: datetime | None = None) -> None:
        super().__init__()
        now = (now or datetime.now(timezone.utc)).replace(microsecond=0)
        self._spider, self._time = spider, now.isoformat().replace(":", "-")

    def __missing__(self, name: str) -> Any:
        if name in {"time", "batch_time"}:
            return self._time
        if name == "batch_id":
            return 1
        try:
            return getattr(self._spider, name)
        except AttributeError:
            raise KeyError(name) from None

    def fill(self, setting: str, paths: tuple[str, ...]) -> tuple[str, ...]:
        """The paths of a setting with their placeholders filled.

        Raises:
            SettingError: a placeholder stands for nothing.
        """
        return tuple(self._filled(setting, path) for path in paths)

    def _filled(self, setting: str, path: str) -> str:
        if "%(" not in path:  # then a percent sign is one
            return path
        try:
            return path % self
        except (KeyError, TypeError, ValueError) as exc:
            remedy = (
                f"write %(time)s, or an attribute of the spider such as %(name)s, and %% for a percent sign ({exc})"
            )
            raise SettingError(setting, path, remedy) from None
