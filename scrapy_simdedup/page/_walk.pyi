from lxml.html import HtmlElement

from scrapy_simdedup.page.block_tree import Walked
from scrapy_simdedup.page.roles import RoleWords

def walk(root: HtmlElement, words: RoleWords, detailed: bool = False) -> Walked: ...
