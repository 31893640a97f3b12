"""How fast this machine reads memory, all cores together: what no program that reads its data once can beat."""

import os
from concurrent.futures import ThreadPoolExecutor

import measure

# Larger than the caches by far, and small enough for any machine that runs the suites.
BYTES = 800_000_000
TIMES = 7


def measured() -> float:
    """Bytes a second, in a process of its own so that the driver stays small (see measure.py)."""
    return measure.inside("bandwidth", "read")["bytes_per_second"]


def read() -> dict:
    """The best of a few runs in which every core goes through its part of the memory."""
    import numpy

    values = numpy.ones(BYTES // 8)
    parts = numpy.array_split(values, os.cpu_count() or 1)
    with ThreadPoolExecutor(len(parts)) as pool:
        # A maximum costs less than the reading, and numpy lets go of the lock for it.
        runs = [measure.timed(lambda: list(pool.map(numpy.max, parts)))[1] for _ in range(TIMES)]
    return {"bytes_per_second": values.nbytes / min(runs)}
