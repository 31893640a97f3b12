"""Where results go: a JSON file a day, and the tables of the README; and the machine they belong to."""

import json
import os
import pathlib
import platform
import subprocess

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
WORK = BENCH / "work"


def machine():
    """What a reader needs to judge the numbers."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        # Above the number of cores the machine was not quiet.
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
    """The commit that was measured, marked if the code had changes on top of it."""
    describe = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    run = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.strip() or None


def load():
    """How busy the machine is."""
    return round(os.getloadavg()[0], 2)


def folder(date, quick=False):
    """Where the results of a date are kept; those of quick runs are no part of the repository."""
    return WORK / "quick/results" if quick else BENCH / "runs" / date


def keep(suite, result, table):
    """Writes the results of a suite, alone and among all of that date, and its table into the README.

    A quick run is written to work/ only.
    """
    date, quick = result["date"], result["quick"]
    folder(date, quick).mkdir(parents=True, exist_ok=True)
    path = folder(date, quick) / f"{suite}.json"
    path.write_text(text(result))
    (folder(date, quick) / "results.json").write_text(text(kept(date, quick)))
    if not quick:
        show(suite, table)
    return path.relative_to(ROOT)


def kept(date, quick=False):
    """The results of all suites of a date, by their names."""
    files = sorted(folder(date, quick).glob("*.json"))
    return {file.stem: json.loads(file.read_text()) for file in files if file.stem != "results"}


def text(result):
    return json.dumps(result, indent=1, ensure_ascii=False) + "\n"


def show(name, table):
    """Puts a table into the README, between its markers."""
    readme = BENCH / "README.md"
    readme.write_text(between_markers(readme.read_text(), name, table))


def between_markers(text, suite, table):
    """`text` with `table` in the place of what stands between the markers of the suite."""
    start, end = f"<!-- {suite}: start -->", f"<!-- {suite}: end -->"
    head, _, rest = text.partition(start)
    _, found, tail = rest.partition(end)
    if not found:
        raise ValueError(f"README.md has no markers {start} and {end}")
    return f"{head}{start}\n{table}\n{end}{tail}"
