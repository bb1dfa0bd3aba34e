"""What an action is given: the options, the settings, and where to say the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from scrapy.settings import Settings

    from scrapy_simdedup.commands.console import Console
    from scrapy_simdedup.settings import DedupSettings

YES, NO, FAILED = 0, 1, 2
"""The exit codes."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of ``scrapy simdedup ...``."""

    options: Namespace
    settings: DedupSettings
    """The project's, with what the command line says; the defaults outside of a project."""
    scrapy: Settings
    """All of Scrapy's settings."""
    console: Console
