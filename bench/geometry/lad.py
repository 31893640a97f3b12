"""Least absolute deviations with a free intercept: ours against linear programming and reweighted least squares."""

import data
import measure
from geometry import fits
from peers import scikit_learn, statsmodels, wstar

CONTENDERS = {
    wstar.NAME: wstar.lad,
    "QuantileRegressor (HiGHS)": scikit_learn.lad,
    "QuantReg (statsmodels)": lambda path: statsmodels.lad(path, "1e-6"),
    # The largest power of ten at which it is within 1e-6 of the optimum; 1e-6 is its default.
    "QuantReg(p_tol=1e-4)": lambda path: statsmodels.lad(path, "1e-4"),
}


def run(quick, rounds):
    small, large = (2_000, 50_000) if quick else (20_000, 1_000_000)
    return [race(small, CONTENDERS, rounds), race(large, {wstar.NAME: wstar.lad}, rounds)]


def race(rows, contenders, rounds):
    path, file = data.generated(f"lad-{rows}x20.csv", "geometry.sets", "lad", rows, 20, 0)
    print(f"   least absolute deviations, {rows} × 20", flush=True)
    data.warm(path)
    calls = {name: lambda fit=fit: fit(path) for name, fit in contenders.items()}
    runs = measure.interleaved(calls, rounds, measure.PATIENCE)
    return {"name": f"{rows:,} × 20", "file": file, "results": runs}


def table(found):
    return fits.table(found, "Least absolute deviations", "Σ\\|y − w·x − b\\|", "8f")
