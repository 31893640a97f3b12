"""Runs the benchmark suites, writes bench/runs/<date>/ and the tables of bench/README.md.

Started by `cargo xtask bench`, which builds ours and installs the peers first. Nothing big is
imported here: a child process inherits the peak memory of its parent (see measure.py).
"""

import argparse
import datetime
import sys
from typing import Any

import bandwidth
import record
import summary
from commands import suite as commands
from fits import suite as fits
from geometry import suite as geometry
from growth import suite as growth
from predictions import suite as predictions
from readers import suite as readers

# One line a suite: a name for --only, and a module with run(quick) and table(result). One with NAMES can run a
# single workload, by run(quick, only); one with summary(result) has rows in the table at the top of the README.
SUITES: dict[str, Any] = {
    "fits": fits,
    "geometry": geometry,
    "commands": commands,
    "predictions": predictions,
    "growth": growth,
    "readers": readers,
}


def main() -> None:
    workloads = {name: suite for suite, module in SUITES.items() for name in getattr(module, "NAMES", [])}
    parser = argparse.ArgumentParser(prog="cargo xtask bench")
    parser.add_argument("--only", choices=[*SUITES, *workloads], metavar="NAME", help="one suite or one workload only")
    parser.add_argument("--quick", action="store_true", help="small workloads; nothing is kept")
    parser.add_argument("--date", type=datetime.date.fromisoformat, default=datetime.date.today())
    parser.add_argument("--tables", action="store_true", help="measure nothing: write the tables of that date again")
    arguments = parser.parse_args()
    date = str(arguments.date)
    if arguments.tables:
        for name, result in record.kept(date).items():
            record.show(name, SUITES[name].table(result))
    else:
        single = arguments.only if arguments.only in workloads else None
        chosen = [workloads[single]] if single else [arguments.only] if arguments.only else list(SUITES)
        machine = record.machine() | {"read_bytes_per_second": bandwidth.measured()}
        for name in chosen:
            measured(name, single, date, arguments.quick, machine)
    if not arguments.quick:
        record.show("summary", "\n".join(overview(record.kept(date))))


def measured(name: str, single: str | None, date: str, quick: bool, machine: dict[str, Any]) -> None:
    """Runs a suite, or a single workload of it, and keeps what it finds."""
    print(f"── {name}", flush=True)
    suite = SUITES[name]
    result = suite.run(quick=quick, only=single) if single else suite.run(quick=quick)
    result = {"date": date, "quick": quick, "machine": machine | {"load_at_start": record.load()}} | result
    if single and not quick and (before := record.kept(date).get(name)):
        result["workloads"] = before["workloads"] | result["workloads"]
    table = suite.table(result)
    print(f"\n{table}\n")
    if hasattr(suite, "summary"):
        print("\n".join(summary.table(suite.summary(result))), "\n")
    print(f"kept in {record.keep(name, result, table)}")


def overview(results: dict[str, Any]) -> list[str]:
    """The table at the top of the README, with the machine and the day it belongs to."""
    rows = [
        row for name, suite in SUITES.items() if name in results and hasattr(suite, "summary")
        for row in suite.summary(results[name])
    ]  # fmt: skip
    newest = max(results.values(), key=lambda result: "read_bytes_per_second" in result["machine"])
    machine = newest["machine"]
    loads = [result["machine"]["load_at_start"] for result in results.values()]
    reading = machine.get("read_bytes_per_second")
    line = (
        f"{newest['date']}, commit {machine['commit']}: {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gb']} GB"
        + (f", memory read at {reading / 1e9:.1f} GB/s" if reading else "")
        + f"; load {min(loads)} to {max(loads)} at the start of the suites."
    )
    return [line, "", *summary.table(rows)]


if __name__ == "__main__":
    sys.exit(main())
