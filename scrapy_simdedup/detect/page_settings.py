"""The settings of single pages: a site can have its own settings, and so can each kind of its pages."""

from __future__ import annotations

import re

from scrapy_simdedup.detect.names import host_of
from scrapy_simdedup.setting_checks import host_of_key, is_pattern
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.urls.given import UrlPattern
from scrapy_simdedup.urls.hosts import registrable_domain
from scrapy_simdedup.urls.parts import canonical_url, is_nearly_canonical

_PORT = re.compile(r"\A(https?://[^/?]*?):\d+(?=[/?]|\Z)")


class PageSettings:
    """Finds the settings of a page by its URL, whose port does not matter.

    1. All pages have the settings of the crawl.
    2. Over them come those of the page's site: of its host, or else of its registrable domain.
    3. Over these come those of the most specific URL pattern that fits: one with a host before one without, then the
       longest path, in which ``*`` does not count.

    Raises:
        SettingError: the settings of a pattern contradict those of a site that has pages of the pattern.
    """

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        patterns = sorted(filter(is_pattern, settings.site_settings), key=_specificity, reverse=True)
        self._patterns = [(key, UrlPattern(key)) for key in patterns]
        self._made: dict[tuple[str, ...], DedupSettings] = {}
        for pattern in patterns:
            host = host_of_key(pattern).removeprefix("www.")
            for name in (host, f"www.{host}") if host else ("", *settings.site_settings):
                self._of(name, pattern)

    def of(self, url: str) -> DedupSettings:
        """The settings of the page with this URL."""
        if not self._settings.site_settings:
            return self._settings
        return self._of(host_of(url), self.pattern_of(url))

    def of_site(self, site: str) -> DedupSettings:
        """The settings of those pages of a site, a host or a registrable domain, that fit no pattern."""
        return self._of(site, None)

    def pattern_of(self, url: str) -> str | None:
        """The pattern whose settings the page with this URL has; None if it has only those of its site."""
        if not self._patterns:
            return None
        clean = url if is_nearly_canonical(url) else canonical_url(url)
        if clean is None:
            return None
        clean = _PORT.sub(r"\1", clean)
        return next((key for key, pattern in self._patterns if pattern.matches(clean)), None)

    def _of(self, host: str, pattern: str | None) -> DedupSettings:
        site = next((name for name in (host, registrable_domain(host)) if self._settings.site_settings.get(name)), None)
        keys = tuple(key for key in (site, pattern) if key is not None)
        if keys not in self._made:
            self._made[keys] = self._settings.with_site_settings(*keys)
        return self._made[keys]


def _specificity(pattern: str) -> tuple[bool, int]:
    host = host_of_key(pattern)
    return bool(host), len(pattern[len(host) :].replace("*", ""))
