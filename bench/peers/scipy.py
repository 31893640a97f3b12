"""scipy.optimize.linprog: HiGHS."""

import importlib.metadata

import measure

NAME = "HiGHS"
# The names of linprog for dual simplex and interior point.
METHODS = {"simplex": "highs-ds", "interior point": "highs-ipm"}


def version():
    return f"(scipy {importlib.metadata.version('scipy')})"


def separate(path, method):
    """Decides separability: does a (w, b) with y(w·x + b) ≥ 1 for every row exist?"""
    return measure.inside("peers.scipy", "time_separate", str(path), METHODS[method])


def time_separate(path, method):
    import numpy
    from scipy.optimize import linprog
    from scipy.sparse import csc_array

    from peers import arrays

    x, y = arrays.load(path)
    rows = -y[:, None] * numpy.column_stack([x, numpy.ones(len(x))])
    # The form that HiGHS itself uses, so that no conversion is timed.
    constraints = csc_array(rows)
    zero, ones = numpy.zeros(rows.shape[1]), numpy.ones(len(rows))
    answer, seconds = measure.timed(
        lambda: linprog(zero, A_ub=constraints, b_ub=-ones, bounds=(None, None), method=method)
    )
    verdict = {0: "separable", 2: "not separable"}.get(answer.status, f"undecided: {answer.message}")
    # Its feasibility tolerance is absolute, so the hyperplane is checked on the rows.
    if verdict == "separable" and (rows @ answer.x >= 0).any():
        verdict = "wrong: its hyperplane does not separate"
    return {"seconds": seconds, "verdict": verdict}
