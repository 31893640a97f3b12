"""The maximum-margin hyperplane: ours against a support vector machine with C = 1e8."""

from functools import partial

import data
import measure
from geometry import fits
from peers import scikit_learn, wstar

# The default tolerance, and one at which the objective is comparable with ours.
TOLERANCES = ["1e-3", "1e-8"]
# Pairs of digits, measured if they are separable; 8 and 9 are separable with a very small margin.
PAIRS = [(0, 1), (3, 5), (6, 7), (8, 9)]


def run(quick, rounds):
    rows = 2_000 if quick else 20_000
    arguments = ["thin", rows, 20, 0.05, 1, "plain"]
    path, file = data.generated(f"margin-{rows}x20.csv", "geometry.sets", *arguments)
    found = [race(f"{rows:,} × 20, margin 0.05", path, file, rounds)]
    if files := data.real("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"):
        for a, b in PAIRS:
            rows = 5_000 if quick else 60_000
            arguments = ["digits", a, b, rows, *files]
            path, file = data.generated(f"digits-{a}-{b}-{rows}.idx", "geometry.sets", *arguments)
            labels = path.with_suffix(".labels")
            verdict = wstar.separate(path, "--format", "idx", "--labels", labels)["verdict"]
            name = f"MNIST {a} and {b}, {file['rows']:,} × {file['features']}"
            if verdict == "separable":
                found.append(race(name, path, file, rounds, "--format", "idx", "--labels", labels))
            else:
                print(f"   {name} is {verdict}: no hard margin", flush=True)
                found.append({"name": name, "verdict": verdict})
    return found


def race(name, path, file, rounds, *options):
    print(f"   hard margin, {name}", flush=True)
    data.warm(path)
    contenders = {wstar.NAME: lambda: wstar.hard_margin(path, *options)}
    for tolerance in TOLERANCES:
        contenders[f"SVC(C=1e8, tol={tolerance})"] = partial(scikit_learn.hard_margin, path, tolerance)
    runs = measure.interleaved(contenders, rounds, measure.PATIENCE)
    return {"name": name, "file": file, "results": runs}


def table(found):
    lines = fits.table([one for one in found if "results" in one], "Maximum margin", "½‖w‖², feasible", "12g")
    return lines + [f"- {one['name']}: {one['verdict']}, so no hard margin" for one in found if "results" not in one]
