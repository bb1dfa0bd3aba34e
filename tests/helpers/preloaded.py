"""What the processes of :mod:`helpers.warm_python` begin with: what is imported, or computed once, when first used."""

from __future__ import annotations

import gc
import re
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from scrapy import commands
from scrapy.cmdline import execute
from scrapy.settings import default_settings

from helpers import warm_python
from scrapy_simdedup.commands import actions
from scrapy_simdedup.crawl import components
from scrapy_simdedup.fingerprint.hashing import fold_table
from scrapy_simdedup.urls.parts import registrable_domain

__all__ = ["components", "execute", "warm_python"]

for name in re.findall(r"'(scrapy[\w.]*)\.\w+'", repr(vars(default_settings))):  # imported when a crawl begins
    import_module(name)
for module in iter_modules(commands.__path__, "scrapy.commands."):
    import_module(module.name)
for plugin in entry_points(group="scrapy.commands"):
    plugin.load()
actions()
for name in ("scrapy_simdedup.batch.archives", "duckdb", "pandas", "pyarrow.parquet", "warcio"):
    with suppress(ImportError):
        import_module(name)
fold_table()
registrable_domain("www.example.com")
gc.collect()  # which is due later then in each process
