"""What is measured on arrays in memory: the verification of a model, and a plain pass over the rows.

A plain pass computes the scores S = X·Wᵀ and the products SᵀX in float64. It is the least that a duality gap can cost,
because its primal value needs scores and its dual value such products. Dense rows are taken in blocks that fit into the
cache of a core, so that X is read from memory once.
"""

import itertools
import os
import statistics
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import measure
from peers import arrays

# Half of the second-level cache of common processors.
BLOCK_BYTES = 1 << 19


def time(path: str, model: str, repeats: str) -> dict[str, Any]:
    """Medians of the seconds of `verify` and of a plain pass; `path` names the set, `model` a model file."""
    import numpy
    import wstar
    from threadpoolctl import threadpool_limits

    # Settings of the command line can be without a parameter in Python; then `load` warns.
    warnings.simplefilter("ignore")
    x, y = arrays.load(path)
    fitted = wstar.load(model)
    verdict = fitted.verify(x, y)
    outputs = len(numpy.atleast_2d(fitted.coef_))
    weights = numpy.random.default_rng(0).standard_normal((x.shape[1], outputs))
    # A product is faster with a vector than with a matrix of one column.
    weights = weights.ravel() if outputs == 1 else weights
    cores = os.cpu_count() or 1
    # The threads are ours, one for each core.
    with ThreadPoolExecutor(cores) as pool, threadpool_limits(1):
        calls = {"verify": lambda: fitted.verify(x, y)} | plain_passes(x, weights, cores, pool)
        # The first call of each allocates memory and starts threads.
        found = {name: [measure.timed(call)[1] for _ in range(int(repeats) + 1)][1:] for name, call in calls.items()}
    medians = {name: statistics.median(runs) for name, runs in found.items()}
    # For few rows the second core does not pay.
    plain = min(medians["one core"], medians["all cores"])
    facts = {"verified": bool(verdict), "objections": verdict.objections, "outputs": outputs, "threads": cores}
    return facts | {"verify": medians["verify"], "plain": plain}


def plain_passes(x: Any, weights: Any, cores: int, pool: ThreadPoolExecutor) -> dict[str, Callable[[], Any]]:
    """A plain pass on one core and on all; each returns SᵀX, transposed."""
    import scipy.sparse

    # The products of a sparse block are as long as a row, so that small blocks would not pay.
    parts = cores if scipy.sparse.issparse(x) else max(cores, x.nbytes // BLOCK_BYTES)
    ends = [x.shape[0] * i // parts for i in range(parts + 1)]
    blocks = [x[start:end] for start, end in itertools.pairwise(ends)]
    shares = [blocks[parts * i // cores : parts * (i + 1) // cores] for i in range(cores)]

    def products(some: Iterable[Any]) -> Any:
        return sum(block.T @ (block @ weights) for block in some)

    return {"one core": lambda: products(blocks), "all cores": lambda: sum(pool.map(products, shares))}
