"""Failed pages: those that were kept and not delivered, so that no record tells what comes after them.

A pipeline that drops a third of the items takes the first pages of a family away, one after the other. The next page
with their content is compared with none of them, and would be counted as another content. So the failed pages of this
process are remembered for a while, and the page that takes their place is counted with them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.fingerprint import novelty

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy_simdedup.detect.verdict import FetchedPage, OtherLine, PageRef
    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.store.base import Outcome

MAX_IN_WORK = 1_000
"""Pages in work that are remembered; beyond, the oldest is forgotten."""
MAX_FAILED = 8
"""Failed pages of a site that are remembered: the newest."""
MAX_SITES = 1_000
"""Sites whose failed pages are remembered; beyond, the one whose page failed first is forgotten."""
MAX_CONTENTS = 10_000
"""Contents that are remembered to be counted with an earlier one."""


class FailedPages:
    """The pages that this process kept and could not deliver, and the contents that are counted with theirs."""

    def __init__(self) -> None:
        self._in_work: OrderedDict[tuple[str, int], tuple[str, PageFingerprint]] = OrderedDict()
        """By site and id, the content and the fingerprint of a page that was kept."""
        self._failed: OrderedDict[str, deque[tuple[str, PageFingerprint]]] = OrderedDict()
        """The same by site of those that failed."""
        self._contents: OrderedDict[str, str] = OrderedDict()
        """By content, the one that it is counted with."""

    def kept(self, ref: PageRef, content: str, fp: PageFingerprint) -> None:
        """Expect the outcome of a page that is kept."""
        self._in_work[ref.site, ref.id] = content, replace(fp, page_units=None)
        _forget_oldest(self._in_work, MAX_IN_WORK)

    def settled(self, site: str, id_: int, outcome: Outcome) -> None:
        """Take in what became of a page."""
        page = self._in_work.pop((site, id_), None)
        if page is not None and outcome == "released":
            self._failed.setdefault(site, deque(maxlen=MAX_FAILED)).append(page)
            _forget_oldest(self._failed, MAX_SITES)

    def content(self, content: str) -> str:
        """The content that a content is counted with: mostly itself."""
        return self._contents.get(content, content)

    def take_place(self, page: FetchedPage, content: str, clocks: Collection[int]) -> tuple[str, OtherLine | None]:
        """The content that a kept page is counted with, and in what a line differs from that of the failed page.

        Args:
            page: the page, which is like none that is searched.
            content: its content, as far as is known without failed pages.
            clocks: the places of the site whose text changes by itself.
        """
        fp = page.fingerprint
        for earlier, other in self._failed.get(page.site, ()):
            if earlier == content or fp.unjudged or other.unjudged or fp.extractor != other.extractor:
                continue
            if fp.compare(other, identical=page.settings.identical).kind == "identical":
                self._contents[content] = earlier
                _forget_oldest(self._contents, MAX_CONTENTS)
                if fp.page_units is None or other.units is None:
                    return earlier, None
                lines = novelty.replaced_lines(fp.page_units, [other.units], clocks)
                return earlier, lines.difference(fp.page_units)
        return self.content(content), None


def _forget_oldest(known: OrderedDict[Any, Any], most: int) -> None:
    while len(known) > most:
        known.popitem(last=False)
