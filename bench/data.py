"""Workloads on disk: generated once by a program of the suite, and the real data sets beside the repository."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import record


def generated(filename, module, *arguments):
    """The path of a file in work/data and the facts about it.

    It is made by `python -m module ARGUMENTS PATH GENERATOR` when it is not there yet, or was made by
    an older version of that module; facts go into a JSON file beside it, with GENERATOR among them.
    """
    source = record.BENCH.joinpath(*module.split(".")).with_suffix(".py")
    generator = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    folder = record.WORK / "data"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / filename
    facts = path.with_suffix(".json")
    if not facts.exists() or json.loads(facts.read_text())["generator"] != generator:
        print(f"   generating {path.name}", flush=True)
        # A process of its own, so that the driver stays small (see measure.py).
        command = [sys.executable, "-m", module, *map(str, arguments), str(path), generator]
        subprocess.run(command, cwd=record.BENCH, check=True)
    return path, json.loads(facts.read_text())


def real(*names):
    """Paths of real data files, or None with a line that says what is absent."""
    folder = pathlib.Path(os.environ.get("WSTAR_DATA") or record.ROOT.parent / "shared" / "data")
    paths = [folder / name for name in names]
    for path in paths:
        if not path.exists():
            print(f"   not measured: {path} is absent (WSTAR_DATA names the folder of data)", flush=True)
            return None
    return paths


def warm(path):
    """Brings the file into the system's cache: this is about parsing, not about the disk."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass
