"""``scrapy simdedup ...``: what a store knows, and what two pages have in common.

Scrapy loads this module whenever it is called, so everything else is imported when this command is the one that runs.
"""

from __future__ import annotations

import argparse
from functools import cache
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from scrapy_simdedup.commands.console import Action

BELOW_CMDLINE_PRIORITY = 39
"""A priority that overrides a project's settings."""


@cache
def actions() -> dict[str, Action]:
    """The actions by their names; each is defined at the end of a module of this package."""
    from scrapy_simdedup.commands import batch, calibrate, changes, compare, dedupe, explain, forget, overview, transfer  # noqa: PLC0415 - see the top

    return {
        "compare": compare.COMPARE,
        "explain": explain.EXPLAIN,
        "similar": explain.SIMILAR,
        "clusters": overview.CLUSTERS,
        "changes": changes.CHANGES,
        "clocks": changes.CLOCKS,
        "drift": changes.DRIFT,
        "moved": changes.MOVED,
        "rules": overview.RULES,
        "report": overview.REPORT,
        "calibrate": calibrate.CALIBRATE,
        "dedupe": dedupe.DEDUPE,
        "batch": batch.BATCH,
        "check": overview.CHECK,
        "forget": forget.FORGET,
        "rollback": forget.ROLLBACK,
        "export": transfer.EXPORT,
        "import": transfer.IMPORT,
        "migrate": transfer.MIGRATE,
    }


class SimdedupCommand(ScrapyCommand):
    """Hands over to one of the :func:`actions`."""

    requires_crawler_process = False

    def syntax(self) -> str:
        """What follows the command's name."""
        return "<action> [options]"

    def short_desc(self) -> str:
        """One line for ``scrapy`` and ``scrapy -h``."""
        return "Look into near-duplicate pages: compare, explain, report ..."

    def long_desc(self) -> str:
        """What ``scrapy simdedup -h`` begins with."""
        return (
            "Look into what scrapy-simdedup found. The exit code is 0 if the answer is yes (done, found, the same), "
            "1 if it is no, and 2 if it could not be done. The glossary in docs/architecture.md explains the words."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """The actions with their options."""
        super().add_options(parser)
        parser.set_defaults(action_settings=[])
        choices = parser.add_subparsers(
            title="Actions", dest="action", metavar="<action>", required=True, prog="scrapy simdedup"
        )
        for name, action in actions().items():
            action.add_options(choices.add_parser(name, help=action.summary, description=action.summary))

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Take settings on either side of the action's name; refuse what nobody understands."""
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}", print_help=False)
        opts.set = [*opts.set, *opts.action_settings]
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 - none are left
        """Do what was asked for."""
        from scrapy.utils.log import configure_logging  # noqa: PLC0415 - see the top

        assert self.settings is not None
        # Errors are said in one sentence; a log is for those who ask for one.
        self.settings.set("LOG_ENABLED", False, priority=BELOW_CMDLINE_PRIORITY)
        configure_logging(self.settings)
        self.exitcode: int = actions()[opts.action].perform(opts, self.settings)
