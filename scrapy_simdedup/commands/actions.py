"""The actions of ``scrapy simdedup``, by their names; each is defined at the end of a module of this package."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from argparse import ArgumentParser, Namespace

from scrapy.settings import Settings

from scrapy_simdedup.commands import batch, calibrate, changes, compare, dedupe, explain, forget, overview, transfer
from scrapy_simdedup.commands.console import FAILED, Action, Console, Context
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.settings import DedupSettings

ACTIONS: dict[str, Action] = {
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


def add_actions(parser: ArgumentParser) -> None:
    """Add a parser for each action to the parser of ``scrapy simdedup``."""
    parser.set_defaults(action_settings=[])
    choices = parser.add_subparsers(
        title="Actions", dest="action", metavar="<action>", required=True, prog="scrapy simdedup"
    )
    for name, action in ACTIONS.items():
        own = choices.add_parser(name, help=action.summary, description=action.summary)
        for add in action.options:
            add(own)
        own.add_argument("--store", metavar="URL", help="or the path of a class; default: the project's SIMDEDUP_STORE")
        own.add_argument("--json", action="store_true", help="the answer as JSON")
        own.add_argument(
            *("-s", "--set"),
            dest="action_settings",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="override a setting",
        )


def run_action(options: Namespace, settings: Settings) -> int:
    """Run the action that the options name, and give its exit code; an error is printed as one sentence."""
    console = Console(sys.stdout, sys.stderr, as_json=options.json)
    if options.store is not None:
        settings.set("SIMDEDUP_STORE", options.store, priority="cmdline")
    try:
        code = ACTIONS[options.action].run(Context(options, DedupSettings.from_settings(settings), settings, console))
        return code if isinstance(code, int) else asyncio.run(code)
    except BrokenPipeError:  # whoever read the answer has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        console.print_error(f"scrapy simdedup {options.action}: {what}")
    except SimdedupError as error:
        console.print_error(f"scrapy simdedup {options.action}: {error}")
    except KeyboardInterrupt:
        console.print_error("stopped")
    except Exception:  # noqa: BLE001 - a bug must not be taken for the answer "no"
        console.print_error(traceback.format_exc())
    return FAILED
