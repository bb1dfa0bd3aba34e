"""The page's cleaned Markdown as a field of its items."""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_simdedup.page.roles import RoleWords

logger = logging.getLogger(__name__)


class MarkdownField:
    """Puts the Markdown into items that have a place for it; it is made once per page, and only where an item wants it.

    Args:
        name: the field; None adds nothing.
        words: what class and id names of the pages say.
    """

    def __init__(self, name: str | None, words: RoleWords) -> None:
        self.name, self._words = name, words
        self._made: weakref.WeakKeyDictionary[Response, str] = weakref.WeakKeyDictionary()
        self._complained: set[type] = set()

    def add(self, item: Any, response: Response) -> None:
        """Fill the field of one item, unless its callback did."""
        if self.name is None or not isinstance(response, HtmlResponse):
            return
        # Brings whatever kinds of items it knows, pydantic among them: some 10,000 objects, which few want.
        from itemadapter import ItemAdapter  # noqa: PLC0415

        try:
            adapter = ItemAdapter(item)
            if adapter.get(self.name) is None:
                adapter[self.name] = self._of(response)
        except Exception as error:  # noqa: BLE001 - no such field, or it takes no text: the item itself is fine
            if type(item) not in self._complained:
                self._complained.add(type(item))
                logger.warning(
                    "The Markdown of pages cannot be put into %s[%r]: %r", type(item).__name__, self.name, error
                )

    def _of(self, response: HtmlResponse) -> str:
        text = self._made.get(response)
        if text is None:
            from scrapy_simdedup.page.markdown import page_markdown  # noqa: PLC0415 - brings Readability; few want it

            text = page_markdown(response.text, url=response.url, words=self._words)
            self._made[response] = text
        return text
