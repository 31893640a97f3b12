"""statsmodels."""

import importlib.metadata

import measure

NAME = "statsmodels"


def version():
    return importlib.metadata.version("statsmodels")


def lad(path, tolerance):
    return measure.inside("peers.statsmodels", "time_lad", str(path), str(tolerance))


def time_lad(path, tolerance):
    import numpy
    from statsmodels.regression.quantile_regression import QuantReg

    from peers import arrays

    x, y = arrays.load(path)
    design = numpy.column_stack([numpy.ones(len(x)), x])
    fit, seconds = measure.timed(lambda: QuantReg(y, design).fit(q=0.5, p_tol=float(tolerance)))
    return {"seconds": seconds, "objective": float(abs(y - design @ fit.params).sum())}
