"""LIBLINEAR's own command line (Debian's liblinear-tools)."""

import subprocess

import measure

NAME = "liblinear-train"


def version():
    query = ["dpkg-query", "--show", "--showformat=${Version}", "liblinear-tools"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def read_svmlight(path):
    """It has no clock for reading: a tolerance so loose that it stops after one pass over the rows."""
    run = measure.command(["liblinear-train", "-q", "-s", "1", "-e", "1e9", path, "/dev/null"])
    del run["output"]
    return run | {"seconds": run["wall"]}
