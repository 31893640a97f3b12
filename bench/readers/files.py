"""Generates the files for the suite of readers: the same bytes every time.

Run as a program (`python -m readers.files NAME BYTES PATH GENERATOR`), so that the driver stays small.

- svmlight: shaped like rcv1: 50,000 features, 75 draws per row from a Zipf(0.9) distribution of words,
  tf-idf, rows of unit length, classes from a sparse logistic model.
- csv: 20 columns of normal numbers under a header, then the class.

Each in two formats of numbers: `full`, shortest round-trip decimals (what numpy
and pandas write, 16 or 17 digits), and `short`, six significant digits (what people publish).
"""

import json
import pathlib
import sys

import numpy as np

FEATURES = 50_000
DRAWS = 75
COLUMNS = 20
BATCH = 1_000


def number_format(name):
    return repr if name == "full" else (lambda value: f"{value:.6g}")


def text(rng, features=FEATURES):
    """An infinite sequence of batches (rows, columns, values, positive) in the shape of rcv1.

    Rows and columns count from 0; `positive` has the class of each of the BATCH rows.
    """
    odds = 1 / np.arange(1, features + 1) ** 0.9
    odds = rng.permutation(odds / odds.sum())
    idf = -np.log1p(-((1 - odds) ** DRAWS))
    truth = np.where(rng.random(features) < 0.05, rng.standard_normal(features), 0.0) * 20
    cumulative = np.cumsum(odds)
    while True:
        words = np.searchsorted(cumulative, rng.random((BATCH, DRAWS)) * cumulative[-1])
        keys, counts = np.unique(np.arange(BATCH)[:, None] * features + words, return_counts=True)
        rows, columns = np.divmod(keys, features)
        values = counts * idf[columns]
        values /= np.sqrt(np.bincount(rows, values**2, BATCH))[rows]
        scores = np.bincount(rows, values * truth[columns], BATCH)
        yield rows, columns, values, rng.random(BATCH) < 1 / (1 + np.exp(-scores))


def lines(spell, batch, begin="{label} "):
    """The lines of a batch in svmlight format, or in a format with another beginning of the line."""
    rows, columns, values, positive = batch
    cells = [f"{j}:{spell(v)}" for j, v in zip((columns + 1).tolist(), values.tolist())]
    ends = np.cumsum(np.bincount(rows, minlength=BATCH)).tolist()
    return "".join(
        f"{begin.format(label='+1' if label else '-1')}{' '.join(cells[start:end])}\n"
        for label, start, end in zip(positive.tolist(), [0, *ends], ends)
    )


def svmlight(spell, rng):
    """An infinite sequence of batches (text, rows, entries)."""
    for batch in text(rng):
        yield lines(spell, batch), BATCH, len(batch[2])


def csv(spell, rng):
    """An infinite sequence of batches (text, rows, entries); the first one includes the header."""
    truth = rng.standard_normal(COLUMNS)
    header = ",".join(f"x{j}" for j in range(1, COLUMNS + 1)) + ",class\n"
    while True:
        values = rng.standard_normal((BATCH, COLUMNS))
        positive = rng.random(BATCH) < 1 / (1 + np.exp(-(values @ truth)))
        lines = [
            f"{','.join(map(spell, row))},{int(label)}\n" for row, label in zip(values.tolist(), positive.tolist())
        ]
        yield header + "".join(lines), BATCH, BATCH * COLUMNS
        header = ""


def main(name, size, path, generator):
    form, number_form = name.split("-")
    batches = {"svmlight": svmlight, "csv": csv}[form](number_format(number_form), np.random.default_rng(20261115))
    path, size = pathlib.Path(path), int(size)
    facts = {"bytes": 0, "rows": 0, "entries": 0, "features": FEATURES if form == "svmlight" else COLUMNS}
    facts["generator"] = generator
    partial = path.with_suffix(path.suffix + ".partial")
    with partial.open("wb") as file:
        while facts["bytes"] < size:
            text, rows, entries = next(batches)
            facts["bytes"] += file.write(text.encode())
            facts["rows"] += rows
            facts["entries"] += entries
    partial.rename(path)
    path.with_suffix(".json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
