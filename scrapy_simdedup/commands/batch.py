"""``batch``: fingerprints an archive of any size, judges it site by site, and copies what is kept."""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser
from collections import Counter
from glob import glob, has_magic
from pathlib import Path

from scrapy_simdedup.batch import spark, verdict_files
from scrapy_simdedup.batch.archives import Making
from scrapy_simdedup.batch.files import Reading, matching_files
from scrapy_simdedup.batch.local import Judging, fingerprint_files, judge_files, prints_in
from scrapy_simdedup.batch.records import RecordTables
from scrapy_simdedup.commands.console import YES, Action, Context, document_path, positive_int
from scrapy_simdedup.display import plural
from scrapy_simdedup.errors import SimdedupError
from scrapy_simdedup.report import Savings
from scrapy_simdedup.report.document import CrawlFacts, build_report, write_report

MAX_SHOWN_DAMAGES = 5


def _add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    steps = "fingerprint INPUT..., judge PRINTS, or keep INPUT..."
    add("step", choices=("fingerprint", "judge", "keep"), metavar="STEP", help=steps)
    add("inputs", nargs="+", metavar="INPUT", help="files of an archive; of judge the fingerprints")
    add("-o", "--output", required=True, metavar="DIR", help="the directory that is written")
    add("-j", "--jobs", type=positive_int, default=_cores(), metavar="N", help="default: all cores")
    add("--from", dest="form", choices=("warc", "parquet", "jsonl", "json", "csv"), help="default: by the files' names")
    add("--html-field", metavar="NAME", help="the field that holds a page; default: html or body")
    add("--time-field", metavar="NAME", help="the field that says when a page was fetched")
    add("--order", choices=("time", "file"), default="time", help="file: the order of the entries")
    add("--skip-damaged", action="store_true", help="take what can be read of a damaged file")
    add("--history", action="append", default=[], metavar="FILE", help="what export wrote as Parquet")
    add("--records", metavar="DIR", help="where judge writes what import reads")
    add("--report", type=document_path, metavar="FILE", help="a report as .html or .json; needs --records")
    add("--run", metavar="NAME", help="the run that verdicts and records name; default: batch")
    add("--engine", choices=("duckdb", "spark"), default="duckdb", help="this machine, or a cluster; default: duckdb")
    add("--master", help="of Spark, such as local[4]; default: what spark-submit or its files say")
    add("--by-host-above", type=positive_int, metavar="N", help="judge the hosts of sites with more pages apart")
    add("--partitions", type=positive_int, metavar="N", help="in how many parts sites are judged")
    add("--verdicts", metavar="DIR", help="the verdicts by which keep copies")
    add("--drop-superseded", metavar="PRINTS", help="keep leaves out, too, what better copies took the place of")


def run(context: Context) -> int:
    """Do the step that the command names, and print its figures."""
    options = context.options
    if options.step == "keep" and not options.verdicts:
        raise SimdedupError("say with --verdicts where the verdicts are")
    if options.engine == "spark":
        return _on_spark(context)
    return {"fingerprint": _fingerprint, "judge": _judge, "keep": _keep}[options.step](context)


BATCH = Action("judge an archive of any size, on all cores, with the verdicts of a crawl", run, (_add_options,))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _reading(context: Context) -> Reading:
    options = context.options
    return Reading(options.form, options.html_field, options.time_field, options.order == "file", options.skip_damaged)


def _fingerprint(context: Context) -> int:
    options, inputs = context.options, _inputs(context)
    history = options.history[0] if options.history else None
    made = fingerprint_files(
        inputs, Path(options.output), _reading(context), context.settings, processes=options.jobs, history=history
    )
    sizes = {name: 1 if "://" in name else Path(name).stat().st_size for name in inputs}
    pages, damaged, read, total = 0, Counter[str](), 0, sum(sizes.values())
    with context.console.progress("pages read", share=lambda _: read / total if total else 0.0) as show:
        for name, count, damages in made:
            pages += count
            read += sizes[name]
            for damage in damages:
                damaged[name] += 1
                if len(damaged) <= MAX_SHOWN_DAMAGES:
                    context.console.print_error(f"{name}: {damage}; what comes behind is left out")
            show(pages)
    text = _fingerprinted(pages, len(inputs), options.output)
    if damaged:
        text += f"; {plural(len(damaged), 'file')} could not be read to the end"
    context.console.print_answer({"pages": pages, "files": len(inputs), "damaged": len(damaged)}, [text])
    return YES


def _judge(context: Context) -> int:
    options = context.options
    if len(options.inputs) != 1:
        raise SimdedupError("judge takes one directory of fingerprints")
    if options.report and not options.records:
        raise SimdedupError("--report needs --records: it shows what a store would hold")
    judging = Judging(
        Path(options.inputs[0]),
        Path(options.output),
        context.settings,
        options.run or context.settings.run or "batch",
        tuple(options.history),
        Path(options.records) if options.records else None,
        options.partitions,
        options.by_host_above,
    )
    share = 0.0
    with context.console.progress("pages judged", share=lambda _: share) as show:
        for done, total in judge_files(judging, processes=options.jobs):
            share = done / total if total else 1.0
            show(done)
    summary = verdict_files.summary_of(judging.output)
    if options.report:
        _write_report(context, judging, summary)
    context.console.print_answer(summary.as_dict(), summary.text())
    return YES


def _write_report(context: Context, judging: Judging, summary: verdict_files.Summary) -> None:
    assert judging.records is not None
    saved = Savings(summary.saved_bytes, seconds=0.0, items=0, fetches=0, cost_seconds=0.0)
    facts = CrawlFacts(summary.kinds, summary.dropped, summary.unjudged, saved)
    store, options = RecordTables(judging.records), context.options
    with context.console.progress("records read") as show:
        made = build_report(store, context.settings, name=options.records, run=judging.run, crawl=facts, progress=show)
        write_report(asyncio.run(made), options.report)


def _keep(context: Context) -> int:
    options, inputs = context.options, _inputs(context)
    dropped, done = 0, 0
    verdicts, superseded = Path(options.verdicts), list[verdict_files.DroppedPage]()
    if options.drop_superseded:
        prints, _ = prints_in(Path(options.drop_superseded), context.settings)
        superseded = list(
            verdict_files.superseded_pages(verdict_files.verdict_tables_in(verdicts), prints, context.settings)
        )
    output, reading = Path(options.output), _reading(context)
    copied = verdict_files.keep_files(inputs, verdicts, output, reading, processes=options.jobs, superseded=superseded)
    with context.console.progress("files copied", len(inputs)) as show:
        for done, (_, count) in enumerate(copied, 1):
            dropped += count
            show(done)
    _print_kept(context, done, dropped)
    return YES


def _print_kept(context: Context, files: int, dropped: int) -> None:
    output = context.options.output
    text = f"{plural(files, 'file')} without {plural(dropped, 'dropped page')}: {output}"
    context.console.print_answer({"files": files, "dropped": dropped, "output": output}, [text])


def _fingerprinted(pages: int, files: int, output: str) -> str:
    return f"the fingerprints of {plural(pages, 'page')} of {plural(files, 'file')} are in {output}"


def _on_spark(context: Context) -> int:
    """Take a step on Spark, whose tables can be on any file system that it knows."""
    options, settings = context.options, context.settings
    for name in ("history", "records", "report", "drop_superseded"):
        if getattr(options, name):
            raise SimdedupError(f"--{name.replace('_', '-')} needs --engine duckdb")
    if not settings.secret:
        raise SimdedupError("set SIMDEDUP_SECRET: all steps and executors have to make the same hashes")
    secret = settings.secret.encode()
    making = Making.by(settings, secret)
    session, output = spark.session(options.master), options.output
    with spark.said_by_tasks():
        if options.step == "fingerprint":
            inputs = _inputs(context)
            prints = spark.fingerprint_files(session, inputs, settings, secret, _reading(context))
            spark.write_prints(prints, output, making)
            pages = session.read.parquet(output).count()
            answer = {"pages": pages, "files": len(inputs)}
            context.console.print_answer(answer, [_fingerprinted(pages, len(inputs), output)])
        elif options.step == "judge":
            run, parts = options.run or settings.run or "batch", options.partitions
            prints = spark.read_prints(session, options.inputs, making)
            made = spark.judge(prints, settings, secret, run=run, partitions=parts, by_host_above=options.by_host_above)
            made.write.parquet(output)
            summary = spark.summary_of(session.read.parquet(output))
            context.console.print_answer(summary.as_dict(), summary.text())
        else:
            judged, inputs = session.read.parquet(options.verdicts), _inputs(context)
            rows = spark.keep(session, inputs, judged, output, _reading(context)).collect()
            _print_kept(context, len(rows), sum(row["dropped"] for row in rows))
    return YES


def _inputs(context: Context) -> list[str]:
    """The input files; a directory stands for the files in it, and a pattern that no shell replaced for its matches."""
    found: list[str] = []
    for name in context.options.inputs:
        path = Path(name)
        if "://" in name:
            those = matching_files(name) if "*" in name else [name]
        elif path.is_dir():
            those = sorted(str(inner) for inner in path.iterdir() if inner.is_file() and inner.name[0] not in "._")
        else:
            those = sorted(glob(name)) if has_magic(name) and not path.exists() else [name]  # noqa: PTH207 - of any path
        if not those:
            raise SimdedupError(
                f"{name}: there is no file of this archive; name files, a directory of files, or a pattern"
            )
        found += those
    for name in found:
        if "://" not in name:
            Path(name).stat()  # an error now, and not after a day
    return list(dict.fromkeys(found))
