"""Runs the benchmark suites, and writes bench/runs/<date>/ and the tables of bench/README.md.

`cargo xtask bench` starts it after building ours and installing the peers. It imports no large modules,
because a child process inherits the peak memory of its parent (see measure.py).
"""

import argparse
import datetime
import sys
from typing import Any

import bandwidth
import measure
import record
import summary
from certificates import suite as certificates
from commands import suite as commands
from fits import suite as fits
from geometry import suite as geometry
from growth import suite as growth
from predictions import suite as predictions
from readers import suite as readers

# One line per suite: a name for --only, and a module with run(quick) and table(result). A module with NAMES can run
# a single workload by run(quick, only); one with summary(result) has rows in the table at the top of the README.
SUITES: dict[str, Any] = {
    "fits": fits,
    "certificates": certificates,
    "geometry": geometry,
    "commands": commands,
    "predictions": predictions,
    "growth": growth,
    "readers": readers,
}


def main() -> int:
    workloads = {name: suite for suite, module in SUITES.items() for name in getattr(module, "NAMES", [])}
    parser = argparse.ArgumentParser(prog="cargo xtask bench")
    parser.add_argument("--only", choices=[*SUITES, *workloads], metavar="NAME", help="one suite or one workload only")
    parser.add_argument("--quick", action="store_true", help="small workloads; no results are stored")
    parser.add_argument("--date", type=datetime.date.fromisoformat, default=datetime.date.today())
    parser.add_argument("--tables", action="store_true", help="only write the tables of that date again")
    arguments = parser.parse_args()
    date, only = str(arguments.date), arguments.only
    failed = []
    if arguments.tables:
        for name, result in record.stored(date).items():
            record.show(name, SUITES[name].table(result))
    else:
        machine = record.machine() | {"read_bytes_per_second": bandwidth.measured()}
        for suite in SUITES if only is None else [workloads.get(only, only)]:
            # One after the other, so that results are stored even if a later workload fails.
            for single in [only] if only in workloads else getattr(SUITES[suite], "NAMES", [None]):
                try:
                    measured(suite, single, date, arguments.quick, machine)
                except (RuntimeError, measure.TooSlow) as reason:
                    print(f"── FAILED: {single or suite}: {reason}", flush=True)
                    failed.append(single or suite)
    if not arguments.quick:
        record.show("summary", "\n".join(overview(record.stored(date))))
    if failed:
        print(f"failed: {', '.join(failed)}")
    return len(failed)


def measured(name: str, single: str | None, date: str, quick: bool, machine: dict[str, Any]) -> None:
    """Runs a suite, or a single workload of it, and stores the results."""
    print(f"── {single or name}", flush=True)
    suite = SUITES[name]
    machine = machine | {"load_at_start": record.load()}
    result = {"date": date, "quick": quick, "machine": machine}
    result |= suite.run(quick=quick, only=single) if single else suite.run(quick=quick)
    print(f"\n{suite.table(result)}\n")
    if hasattr(suite, "summary"):
        print("\n".join(summary.table(suite.summary(result))), "\n")
    if single and (before := record.stored(date, quick).get(name)):
        # In the order of the suite, independent of the order of measurement.
        known = before["workloads"] | result["workloads"]
        result["workloads"] = {one: known[one] for one in suite.NAMES if one in known}
    print(f"stored in {record.keep(name, result, suite.table(result))}")


def overview(results: dict[str, Any]) -> list[str]:
    """The table at the top of the README, with the machine and the date."""
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
