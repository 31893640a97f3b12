"""Separability: small margins against linear programming, badly scaled columns, digits, and text with n < d."""

import itertools

import data
import measure
from peers import scikit_learn, scipy, wstar

# rows, features, the change of the set (see sets.py)
THIN = [
    (100_000, 50, "plain"),
    (100_000, 50, "flipped"),
    (100_000, 50, "scaled"),
    (20_000, 20, "plain"),
    (20_000, 20, "flipped"),
    (20_000, 20, "scaled"),
]
NAMES = {"plain": "margin 0.01", "flipped": "five labels flipped", "scaled": "columns × 10^±3"}
RESCALED_SETS = 20


def run(quick, rounds):
    found = {"thin": [thin(*of, quick, rounds) for of in THIN], "rescaled": rescaled()}
    if files := data.real("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"):
        found["digits"] = digits(*files, quick)
    if files := data.real("20news/20news_tfidf.train.svm.gz"):
        found["text"] = text(*files, rounds)
    return found


def thin(rows, features, change, quick, rounds):
    if quick:
        rows //= 20
    arguments = ["thin", rows, features, 0.01, 1, change]
    path, file = data.generated(f"thin-{rows}x{features}-{change}.csv", "geometry.sets", *arguments)
    print(f"   separability, {rows} × {features}, {NAMES[change]}", flush=True)
    data.warm(path)
    contenders = {wstar.NAME: lambda: wstar.separate(path)}
    for method in scipy.METHODS:
        contenders[f"{scipy.NAME} {method}"] = lambda method=method: scipy.separate(path, method)
    runs = measure.interleaved(contenders, rounds, measure.PATIENCE)
    return {"rows": rows, "features": features, "change": change, "file": file, "results": runs}


def rescaled():
    """The number of sets that each contender separates, without times."""
    paths = []
    for seed in range(RESCALED_SETS):
        arguments = ["thin", 200, 10, 0.001, seed, "scaled"]
        paths.append(data.generated(f"rescaled-{seed}.csv", "geometry.sets", *arguments)[0])
    print(f"   {len(paths)} sets with columns × 10^±3: how many are separated", flush=True)
    ours = [wstar.separate(path) for path in paths]
    counts = {wstar.NAME: sum(one["verdict"] == "separable" and one["verified"] for one in ours)}
    return {"sets": len(paths), "separated": counts | scikit_learn.count_separated(paths)["separated"]}


def digits(images, labels, quick):
    """All pairs of digits, ours only: each in a separate process, with the proof written and checked."""
    print("   MNIST, all pairs of digits", flush=True)
    pairs = []
    for a, b in itertools.combinations(range(3 if quick else 10), 2):
        run = wstar.separate(images, "--labels", labels, "--pair", f"{a},{b}")
        print(f"   {a} | {b}: {run['verdict']:<16} {run['seconds']:8.3f} s", flush=True)
        pairs.append({"pair": [a, b]} | run)
    return pairs


def text(path, rounds):
    """The first class of 20news against the rest: fewer rows than features."""
    print("   20news, class 1 against the rest", flush=True)
    data.warm(path)
    contenders = {wstar.NAME: lambda: wstar.separate(path, "--positive", "1")}
    return measure.interleaved(contenders, rounds)[wstar.NAME]


def agree(results):
    """Whether all verdicts agree; this linear programme does not distinguish quasi-separable from inseparable."""
    said = {"separable" if run["verdict"] == "separable" else "not separable" for run in results.values()}
    strange = [run["verdict"] for run in results.values() if run["verdict"].startswith(("wrong", "undecided"))]
    return len(said) == 1 and not strange


def table(found):
    lines = [
        "**Separable or not**",
        "",
        "| set | contender | verdict | deciding, s | ours is faster by | whole process, s | peak memory, MB |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for one in found["thin"]:
        results = one["results"]
        for name, run in results.items():
            ours = name == wstar.NAME
            title = f"{one['rows']:,} × {one['features']}, {NAMES[one['change']]}" if ours else ""
            faster = "" if ours else f"{run['seconds'] / results[wstar.NAME]['seconds']:.0f} ×"
            verdict = run["verdict"] + (", proof checked" if ours and run["verified"] else "")
            lines.append(
                f"| {title} | {name} | {verdict} | {run['seconds']:.3f} | {faster} "
                f"| {run['wall']:.2f} | {run['peak_bytes'] / 1e6:.0f} |"
            )
    agreeing = sum(agree(one["results"]) for one in found["thin"])
    verified = sum(one["results"][wstar.NAME]["verified"] for one in found["thin"])
    lines += [
        "",
        (
            f"- verdicts agree on {agreeing} of {len(found['thin'])} sets; `wstar verify` accepts {verified} of "
            f"{len(found['thin'])} of our proofs"
        ),
        f"- of {found['rescaled']['sets']} sets of 200 × 10 with columns × 10^±3, all separable, are separated by "
        + ", ".join(f"{name} {count}" for name, count in found["rescaled"]["separated"].items()),
    ]
    if pairs := found.get("digits"):
        lines.append(digits_line(pairs))
    if run := found.get("text"):
        lines.append(
            f"- 20news, first class against the rest (11,293 × 73,712): {run['verdict']}, "
            f"deciding {run['seconds']:.2f} s, whole process {run['wall']:.2f} s, "
            f"proof {'checked' if run['verified'] else 'NOT accepted'}"
        )
    return lines


def digits_line(pairs):
    verdicts = [run["verdict"] for run in pairs]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))
    slowest = max(pairs, key=lambda run: run["seconds"])
    total = {clock: sum(run[clock] for run in pairs) for clock in ("seconds", "wall", "verify_wall")}
    return (
        f"- MNIST, {len(pairs)} pairs of digits: {counts}; deciding {total['seconds']:.1f} s in all "
        f"(longest {slowest['seconds']:.1f} s, {slowest['pair'][0]} | {slowest['pair'][1]}), "
        f"{total['wall']:.1f} s with reading the file for each pair; "
        f"{sum(run.get('exact', False) for run in pairs)} proofs exact, {sum(run['verified'] for run in pairs)} "
        f"accepted by `wstar verify` ({total['verify_wall']:.1f} s)"
    )
