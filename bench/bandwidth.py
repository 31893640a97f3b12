"""The memory bandwidth of all cores together: a lower bound on the time of any program that reads its data once."""

import os
from concurrent.futures import ThreadPoolExecutor

import measure

# Much larger than the caches, and small enough for any machine that runs the suites.
BYTES = 800_000_000
TIMES = 7


def measured() -> float:
    """Bytes per second, measured in a separate process so that the driver stays small (see measure.py)."""
    return measure.inside("bandwidth", "read")["bytes_per_second"]


def read() -> dict:
    """The best of a few runs in which every core reads its part of the memory."""
    import numpy

    values = numpy.ones(BYTES // 8)
    parts = numpy.array_split(values, os.cpu_count() or 1)
    with ThreadPoolExecutor(len(parts)) as pool:
        # Computing a maximum costs less than reading, and numpy releases the lock meanwhile.
        runs = [measure.timed(lambda: list(pool.map(numpy.max, parts)))[1] for _ in range(TIMES)]
    return {"bytes_per_second": values.nbytes / min(runs)}
