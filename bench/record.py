"""Stores results: a JSON file per day, the tables of the README, and a description of the machine."""

import json
import os
import pathlib
import platform
import subprocess

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
WORK = BENCH / "work"


def machine():
    """The description of the machine."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        # A load above the number of cores means that the machine was busy.
        "load_at_start": load(),
        "commit": commit(),
    }


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def commit():
    """The measured commit, marked if the working tree had changes."""
    describe = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    run = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.strip() or None


def load():
    """The load of the machine."""
    return round(os.getloadavg()[0], 2)


def folder(date, quick=False):
    """The folder of the results of a date; results of quick runs are not part of the repository."""
    return WORK / "quick/results" if quick else BENCH / "runs" / date


def keep(suite, result, table):
    """Writes the results of a suite to its own file and to the file of the date, and its table into the README.

    A quick run is written to work/ only.
    """
    date, quick = result["date"], result["quick"]
    folder(date, quick).mkdir(parents=True, exist_ok=True)
    path = folder(date, quick) / f"{suite}.json"
    path.write_text(text(result))
    (folder(date, quick) / "results.json").write_text(text(stored(date, quick)))
    if not quick:
        show(suite, table)
    return path.relative_to(ROOT)


def stored(date, quick=False):
    """The results of all suites of a date, by name."""
    files = sorted(folder(date, quick).glob("*.json"))
    return {file.stem: json.loads(file.read_text()) for file in files if file.stem != "results"}


def text(result):
    return json.dumps(result, indent=1, ensure_ascii=False) + "\n"


def show(name, table):
    """Puts a table into the README, between its markers."""
    readme = BENCH / "README.md"
    readme.write_text(between_markers(readme.read_text(), name, table))


def between_markers(text, suite, table):
    """`text` with the part between the markers of the suite replaced by `table`."""
    start, end = f"<!-- {suite}: start -->", f"<!-- {suite}: end -->"
    head, _, rest = text.partition(start)
    _, found, tail = rest.partition(end)
    if not found:
        raise ValueError(f"README.md has no markers {start} and {end}")
    return f"{head}{start}\n{table}\n{end}{tail}"
