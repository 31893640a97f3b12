"""Runs the benchmark suites, writes bench/runs/<date>/<suite>.json and the tables of bench/README.md.

Started by `cargo xtask bench`, which builds ours and installs the peers first. Nothing big is
imported here: a child process inherits the peak memory of its parent (see measure.py).
"""

import argparse
import datetime
import sys

import record
from geometry import suite as geometry
from readers import suite as readers

# One line a suite: a name for --only, and a module with run(quick) and table(result).
SUITES = {"readers": readers, "geometry": geometry}


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask bench")
    parser.add_argument("--only", choices=sorted(SUITES), help="one suite only")
    parser.add_argument("--quick", action="store_true", help="small workloads; nothing is kept")
    parser.add_argument("--date", type=datetime.date.fromisoformat, default=datetime.date.today())
    arguments = parser.parse_args()
    for name, suite in SUITES.items():
        if arguments.only in (None, name):
            print(f"── {name}", flush=True)
            machine = record.machine()
            result = suite.run(quick=arguments.quick)
            result = {"date": str(arguments.date), "quick": arguments.quick, "machine": machine} | result
            table = suite.table(result)
            print(f"\n{table}\n")
            print(f"kept in {record.keep(name, result, table)}")


if __name__ == "__main__":
    sys.exit(main())
