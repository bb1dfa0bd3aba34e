"""The actions of ``scrapy simdedup``: a module each, with ``SUMMARY``, ``add_options`` and ``run``."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING, Protocol

from scrapy_simdedup.commands import (
    calibrate,
    check,
    clusters,
    compare,
    dedupe,
    drift,
    explain,
    export,
    forget,
    load,
    migrate,
    moved,
    report,
    rollback,
    rules,
    similar,
)
from scrapy_simdedup.commands.call import FAILED, Call
from scrapy_simdedup.commands.console import Console
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.settings import DedupSettings

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings


class Action(Protocol):
    """What each of the modules is."""

    SUMMARY: str
    """What it does, as one line of the help."""

    def add_options(self, parser: ArgumentParser) -> None:
        """Say what it needs to know."""

    def run(self, call: Call) -> int:
        """Do it; the exit code."""


ACTIONS: dict[str, Action] = {
    "compare": compare,
    "explain": explain,
    "similar": similar,
    "clusters": clusters,
    "drift": drift,
    "moved": moved,
    "rules": rules,
    "report": report,
    "calibrate": calibrate,
    "dedupe": dedupe,
    "check": check,
    "forget": forget,
    "rollback": rollback,
    "export": export,
    "import": load,
    "migrate": migrate,
}


def add_actions(parser: ArgumentParser) -> None:
    """Give the parser of ``scrapy simdedup`` one for each action."""
    parser.set_defaults(set_too=[])
    choices = parser.add_subparsers(
        title="Actions", dest="action", metavar="<action>", required=True, prog="scrapy simdedup"
    )
    for name, action in ACTIONS.items():
        own = choices.add_parser(name, help=action.SUMMARY, description=action.SUMMARY)
        action.add_options(own)
        own.add_argument("--store", metavar="URL", help="default: the project's SIMDEDUP_STORE")
        own.add_argument("--json", action="store_true", help="the answer as JSON")
        own.add_argument(
            "-s", "--set", dest="set_too", action="append", default=[], metavar="NAME=VALUE", help="override a setting"
        )


def perform(options: Namespace, settings: Settings) -> int:
    """Run an action; the exit code. What cannot be done is said in one sentence."""
    console = Console(sys.stdout, sys.stderr, as_json=options.json)
    if options.store is not None:
        settings.set("SIMDEDUP_STORE", options.store, priority="cmdline")
    try:
        return ACTIONS[options.action].run(Call(options, DedupSettings.from_settings(settings), settings, console))
    except BrokenPipeError:  # whoever read the answer has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        console.complain(f"scrapy simdedup {options.action}: {what}")
    except SimdedupError as error:
        console.complain(f"scrapy simdedup {options.action}: {error}")
    except KeyboardInterrupt:
        console.complain("stopped")
    except Exception:  # noqa: BLE001 - a bug must not be taken for the answer "no"
        console.complain(traceback.format_exc())
    return FAILED
