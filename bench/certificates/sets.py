"""Generates the sets of the certificates: the same numbers every time, as a file for the commands and as arrays.

Run as a program (`python -m certificates.sets NAME ROWS FEATURES TARGET PATH GENERATOR`); the arrays are stored in an
.npz file next to PATH, as by fits/sets.py.

- dense: the columns of the set `dense` of fits/sets.py, rounded to four decimals, as CSV. Rounding makes the files
  smaller; the numbers still need f64.
- text: text in the shape of rcv1 with FEATURES words (see readers/files.py), as svmlight.

TARGET is `real`, y = X·w + ½ + standard normal noise (dense) or as in the set `words` of fits/sets.py (text); or a number
of classes K, drawn from a logistic model: −1 and +1 if K is 2, otherwise 0 to K − 1.
"""

import json
import pathlib
import sys

import numpy as np
import scipy.sparse as sp

from fits import sets
from geometry.sets import write_csv


def dense(rows: int, features: int, target: str) -> sets.Arrays:
    rng = np.random.default_rng(sets.SEED)
    x = sets.columns(rows, features, rng)
    for block in sets.blocks(rows):
        # Adding 0 turns −0 into 0.
        x[block] = np.round(x[block], 4) + 0.0
    if target == "real":
        return x, x @ rng.standard_normal(features) + 0.5 + rng.standard_normal(rows)
    if target == "2":
        return x, sets.classes(x @ rng.standard_normal(features) / np.sqrt(features) + 0.5, rng)
    scores = x @ rng.standard_normal((features, int(target))) / np.sqrt(features)
    # The largest of scores with Gumbel noise has the probabilities of the softmax.
    return x, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def text(rows: int, features: int, target: str) -> sets.Arrays:
    x, y = sets.text(str(rows), features)
    # A file of svmlight ends at its last word that occurs.
    x = x[:, : x.indices.max() + 1]
    x.sort_indices()
    return x, sets.measured(x, np.random.default_rng(sets.SEED)) if target == "real" else y


def write_svmlight(path: pathlib.Path, x: sp.csr_matrix, y: np.ndarray) -> None:
    """Shortest round-trip decimals, so that the file and the arrays hold the same numbers."""
    indices, values, starts = (x.indices + 1).tolist(), x.data.tolist(), x.indptr.tolist()
    with path.open("w") as file:
        for label, start, end in zip(y.tolist(), starts, starts[1:]):
            entries = " ".join(f"{j}:{value!r}" for j, value in zip(indices[start:end], values[start:end]))
            file.write(f"{label!r} {entries}\n")


def main(name: str, rows: str, features: str, target: str, filename: str, generator: str) -> None:
    path = pathlib.Path(filename)
    x, y = {"dense": dense, "text": text}[name](int(rows), int(features), target)
    if sp.issparse(x):
        write_svmlight(path, x, y)
        matrix = {"data": x.data, "indices": x.indices.astype(np.int32), "indptr": x.indptr.astype(np.int32)}
        np.savez(path.with_suffix(".npz"), y=y, shape=x.shape, **matrix)
    else:
        write_csv(path, x, y)
        matrix = {"X": x}
        np.savez(path.with_suffix(".npz"), y=y, **matrix)
    facts = {
        "rows": x.shape[0],
        "features": x.shape[1],
        "sparse": sp.issparse(x),
        "entries": x.nnz if sp.issparse(x) else x.size,
        "bytes": sum(part.nbytes for part in matrix.values()),
        "file_bytes": path.stat().st_size,
        "digest": sets.digest(y, *matrix.values()),
        "generator": generator,
    }
    path.with_suffix(".json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
