"""`make bench-estimate`: truth and estimate side by side, for every case, and what comes of it.

Truths are measured once on a machine and kept in the user's cache; estimates are made anew each time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from benchmarks import summary
from benchmarks.cases import CASES, is_held_out
from benchmarks.comparison import Comparison, compare
from benchmarks.limits import compare_largest, compare_needs
from benchmarks.processes import JobFailed
from benchmarks.registry import Case
from benchmarks.rows import (
    CLAIMS,
    LARGEST,
    NEEDS,
    PEAKS,
    largest_line,
    needs_line,
    peak_line,
    search_line,
    silent_tools,
)
from benchmarks.search import compare_search
from benchmarks.store import processor_name, version
from benchmarks.table import Table
from benchmarks.truth import Truth

NEEDS_CASES = (
    "vgg-24",
    "residual-32",
    "squeeze_and_excite-8",
    "transposed-16",
    "video-4",
    "wavenet-16",
    "stacked_lstm-64",
    "tagger-32",
    "bert-8",
    "gpt-4",
    "vision_transformer-8",
    "many_classes-64",
    "subclassed-64",
    "variational-256",
)
LARGEST_CASES = (
    "vgg-24",
    "unet-4",
    "stacked_lstm-64",
    "bert-8",
    "mixer-24",
    "mobilenet_v2-16",
    "transposed-16",
    "vision_transformer-8",
    "wavenet-16",
)
SEARCH_CASE = "resnet50-4"


class Report:
    """Prints each line as it comes, and writes all of them to a file where one is given."""

    def __init__(self, file: Path | None = None) -> None:
        self.lines: list[str] = []
        self.file = file

    def add(self, *lines: str) -> None:
        self.lines += lines
        for line in lines:
            print(line, flush=True)
        if self.file is not None:
            self.file.write_text("\n".join(self.lines) + "\n")

    def section(self, title: str, table: Table) -> None:
        self.add("", f"## {title}", "", *table.head())


def main() -> int:
    options = arguments()
    cases = chosen(options)
    if not cases:
        print(f"no case is called {options.only}: there are {', '.join(CASES)}", file=sys.stderr)
        return 2
    measured = dict(list(cases.items())[:: options.every])
    if options.measured:
        measured = {name: case for name, case in measured.items() if Truth(case).is_known}
    report = Report(options.output)
    report.add(
        f"{len(measured)} cases. TensorFlow {tensorflow_version()}, Keras {version('keras')}, {processor_name()}."
    )
    claims = list(peaks(report, measured))
    if not options.quick:
        claims += [*needs(report, cases), *largest(report, cases), *search(report, cases)]
    report.section("Reached and wanted", CLAIMS)
    report.add(*(CLAIMS.row(claim.cells) for claim in claims))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only peaks")
    parser.add_argument("--every", metavar="N", type=int, default=1, help="peaks of every Nth case only")
    parser.add_argument("--measured", action="store_true", help="peaks only of cases whose truth is stored already")
    parser.add_argument("--only", metavar="NAME", action="append", help="cases whose name begins so (repeatable)")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the tables as Markdown too")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> dict[str, Case]:
    return {name: case for name, case in CASES.items() if not options.only or name.startswith(tuple(options.only))}


def tensorflow_version() -> str:
    import tensorflow as tf

    return str(tf.__version__)


def peaks(report: Report, cases: dict[str, Case]) -> Iterator[summary.Claim]:
    fresh = [case for case in cases.values() if is_held_out(case)]
    seen = [case for case in cases.values() if not is_held_out(case)]
    rows = compared(report, "Peaks", seen)
    fresh_rows = compared(report, "Peaks of models that nothing was fitted to", fresh)
    report.add(*silent_tools(rows + fresh_rows))
    yield from summary.of_accuracy(rows)
    yield from summary.of_accuracy(fresh_rows, "held out: ")
    yield from summary.of_costs(rows + fresh_rows)
    yield from summary.of_other_tools(rows + fresh_rows)


def compared(report: Report, title: str, cases: list[Case]) -> list[Comparison]:
    rows = []
    if cases:
        report.section(title, PEAKS)
    for case in cases:
        row = compare(case)
        report.add(peak_line(row))
        rows += [row] if isinstance(row, Comparison) else []
    return rows


def needs(report: Report, cases: dict[str, Case]) -> Iterator[summary.Claim]:
    asked = [cases[name] for name in NEEDS_CASES if name in cases]
    rows = section(report, "The smallest budget that trains", NEEDS, asked, compare_needs, needs_line)
    yield from summary.of_needs(rows, len(asked))


def largest(report: Report, cases: dict[str, Case]) -> Iterator[summary.Claim]:
    asked = [cases[name] for name in LARGEST_CASES if name in cases]
    rows = section(report, "The largest batch under a budget", LARGEST, asked, compare_largest, largest_line)
    yield from summary.of_largest(rows, len(asked))


def section(
    report: Report,
    title: str,
    table: Table,
    cases: list[Case],
    ask: Callable[[Case], Any],
    cells: Callable[[Any], list[str]],
) -> list[Any]:
    """A table with a row for each case; one that fails has a row that says so."""
    rows = []
    if cases:
        report.section(title, table)
    for case in cases:
        try:
            rows.append(ask(case))
            report.add(table.row(cells(rows[-1])))
        except (JobFailed, TimeoutExpired) as failure:
            report.add(table.remark(case.name, f"failed: {failure}"))
    return rows


def search(report: Report, cases: dict[str, Case]) -> Iterator[summary.Claim]:
    if SEARCH_CASE not in cases:
        return
    try:
        found = compare_search(cases[SEARCH_CASE])
    except (JobFailed, TimeoutExpired) as failure:
        report.add("", f"The search for the largest batch failed: {failure}")
        yield summary.search_failed()
        return
    report.add("", search_line(found))
    yield from summary.of_search(found)


if __name__ == "__main__":
    sys.exit(main())
