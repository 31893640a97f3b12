"""Generates the sets of the fits: the same numbers every time.

Run as a program (`python -m fits.sets NAME … PATH GENERATOR`); the arrays are stored in an .npz file
next to PATH: y, and X or the arrays of a matrix in compressed rows.

- dense ROWS FEATURES: standard normal columns, to each of which half its left neighbour is added, scaled by
  geomspace(0.2, 3, FEATURES); classes −1 and +1 from a logistic model with an intercept.
- squares ROWS FEATURES: the same columns; y = X·w + ½ + standard normal noise.
- wide ROWS FEATURES: standard normal; y = X·w + noise, 1 of 100 weights is not 0, signal to noise 3 : 1.
- rcv1 ROWS: text in the shape of rcv1 (see readers/files.py), also as a file of svmlight and of Vowpal Wabbit.
- words ROWS: the same text; y = X·w + noise as in `wide`.
- sparse ROWS FEATURES ENTRIES: ENTRIES entries per row in uniformly drawn columns, values uniform on [0, 1], rows of
  unit length; classes from a logistic model.
- svmlight FILE ROWS FEATURES: the first ROWS rows of a real set.
- digits IMAGES LABELS ROWS: the first ROWS images of MNIST, pixels / 255; classes 0 to 9.
"""

import gzip
import hashlib
import io
import itertools
import json
import pathlib
import struct
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from readers import files

SEED = 20261115
BLOCK = 100_000
Arrays = tuple[Any, np.ndarray]


def blocks(rows: int) -> Iterator[slice]:
    """Ranges of rows, so that there is never a second copy of a large matrix."""
    return (slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK))


def columns(rows: int, features: int, rng: np.random.Generator) -> np.ndarray:
    """Columns of different scale, each correlated with its neighbours."""
    x = np.empty((rows, features))
    scale = np.geomspace(0.2, 3, features)
    for block in blocks(rows):
        part = rng.standard_normal((block.stop - block.start, features))
        part[:, 1:] += part[:, :-1].copy() / 2
        x[block] = part * scale
    return x


def classes(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels of a logistic model."""
    return np.where(rng.random(len(scores)) < 1 / (1 + np.exp(-scores)), 1, -1).astype(np.int64)


def dense(rows: str, features: str) -> Arrays:
    rng = np.random.default_rng(SEED)
    x = columns(int(rows), int(features), rng)
    return x, classes(x @ rng.standard_normal(x.shape[1]) / np.sqrt(x.shape[1]) + 0.5, rng)


def squares(rows: str, features: str) -> Arrays:
    rng = np.random.default_rng(SEED)
    x = columns(int(rows), int(features), rng)
    return x, x @ rng.standard_normal(x.shape[1]) + 0.5 + rng.standard_normal(len(x))


def measured(x: Any, rng: np.random.Generator) -> np.ndarray:
    """A real target of few columns, with noise of a third of the signal."""
    chosen = rng.random(x.shape[1]) < 0.01
    signal = x @ np.where(chosen, rng.standard_normal(x.shape[1]), 0.0)
    return signal + signal.std() / 3 * rng.standard_normal(x.shape[0])


def wide(rows: str, features: str) -> Arrays:
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((int(rows), int(features)))
    return x, measured(x, rng)


def text(rows: str, features: int = files.FEATURES) -> Arrays:
    """Text; `main` also writes it as files."""
    batches = itertools.islice(files.text(np.random.default_rng(SEED), features), int(rows) // files.BATCH)
    parts, labels = [], []
    for within, words, values, positive in batches:
        shape = (files.BATCH, features)
        parts.append(sp.csr_matrix((values, (within.astype(np.int32), words.astype(np.int32))), shape))
        labels.append(np.where(positive, 1, -1))
    return sp.vstack(parts, format="csr"), np.concatenate(labels)


def words(rows: str) -> Arrays:
    x, _ = text(rows)
    return x, measured(x, np.random.default_rng(SEED))


def sparse(rows: str, features: str, entries: str) -> Arrays:
    rng = np.random.default_rng(SEED)
    n, d, k = int(rows), int(features), int(entries)
    indices = np.empty((n, k), np.int32)
    for block in blocks(n):
        # One column of each of k equal ranges, so that no column occurs twice.
        part = np.arange(k) * d // k + rng.integers(0, d // k, (block.stop - block.start, k))
        indices[block] = part
    values = rng.random((n, k))
    values /= np.sqrt((values**2).sum(axis=1))[:, None]
    starts = np.arange(0, n * k + 1, k, dtype=np.int32 if n * k < 2**31 else np.int64)
    x = sp.csr_matrix((values.ravel(), indices.ravel(), starts), shape=(n, d))
    return x, classes(x @ rng.standard_normal(d) * 3, rng)


def svmlight(file: str, rows: str, features: str) -> Arrays:
    from sklearn.datasets import load_svmlight_file

    with gzip.open(file) if file.endswith(".gz") else open(file, "rb") as lines:
        head = io.BytesIO(b"".join(itertools.islice(lines, int(rows))))
    x, y = load_svmlight_file(head, n_features=int(features))
    return x, np.where(y > 0, 1, -1)


def digits(images: str, labels: str, rows: str) -> Arrays:
    with gzip.open(images) as file:
        _, count, height, width = struct.unpack(">4i", file.read(16))
        x = np.frombuffer(file.read(), np.uint8).reshape(count, height * width)[: int(rows)]
    with gzip.open(labels) as file:
        y = np.frombuffer(file.read()[8:], np.uint8)[: int(rows)]
    return x / 255.0, y.astype(np.int64)


def write_lines(path: pathlib.Path, rows: int) -> None:
    """The text in the formats of svmlight and Vowpal Wabbit, with all digits of the numbers."""
    with path.open("w") as svm, path.with_suffix(".vw").open("w") as vw:
        for batch in itertools.islice(files.text(np.random.default_rng(SEED)), rows // files.BATCH):
            svm.write(files.lines(repr, batch))
            vw.write(files.lines(repr, batch, "{label} | "))


def digest(*parts: np.ndarray) -> str:
    """A hash that identifies a set."""
    state = hashlib.blake2b(digest_size=8)
    for part in parts:
        state.update(np.ascontiguousarray(part))
    return state.hexdigest()


MAKERS = {
    "dense": dense,
    "squares": squares,
    "wide": wide,
    "rcv1": text,
    "words": words,
    "sparse": sparse,
    "svmlight": svmlight,
    "digits": digits,
}


def main(name: str, *rest: str) -> None:
    *arguments, target, generator = rest
    path = pathlib.Path(target)
    x, y = MAKERS[name](*arguments)
    if sp.issparse(x):
        x.sort_indices()
        # The index type that scipy chooses by itself if it is large enough.
        index = np.int32 if x.nnz < 2**31 else np.int64
        matrix = {"data": x.data, "indices": x.indices.astype(index), "indptr": x.indptr.astype(index)}
        np.savez(path.with_suffix(".npz"), y=y, shape=x.shape, **matrix)
    else:
        matrix = {"X": x}
        np.savez(path.with_suffix(".npz"), y=y, **matrix)
    facts = {
        "rows": x.shape[0],
        "features": x.shape[1],
        "sparse": sp.issparse(x),
        "entries": x.nnz if sp.issparse(x) else x.size,
        "bytes": sum(part.nbytes for part in matrix.values()),
        "digest": digest(y, *matrix.values()),
        "generator": generator,
    }
    if name == "rcv1":
        write_lines(path, len(y))
        facts["file_bytes"] = path.stat().st_size
    path.with_suffix(".json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
