"""The growth of the cost of a fit with rows, features and entries, ours and the best peer's.

All are logistic fits at C = 1: of dense sets with a free intercept, of sparse ones without.
"""

import math
from typing import Any

import measure
import record
from fits.race import race
from fits.suite import best_peer
from fits.workloads import LOGISTIC, Workload
from peers import glum, liblinear_official, scikit_learn, snapml, wstar

DENSE = LOGISTIC | {"intercept": True}
DENSE_PEERS = [glum, scikit_learn]
SPARSE_PEERS = [snapml, liblinear_official]

# Name for --only: title, kind of set, task, peers, the quantity that grows, the size of a set for a value of it, and the values.
CURVES: dict[str, Any] = {
    "rows-dense": (
        "dense, 20 features", "dense", DENSE, DENSE_PEERS, "rows", lambda n: (n, 20),
        [10_000, 100_000, 1_000_000, 10_000_000],
    ),
    "rows-sparse": (
        "sparse, 1,000 features, 10 entries a row", "sparse", LOGISTIC, [glum, *SPARSE_PEERS], "rows",
        lambda n: (n, 1_000, 10), [10_000, 100_000, 1_000_000, 10_000_000],
    ),
    "features-dense": (
        "dense, 100,000 rows", "dense", DENSE, DENSE_PEERS, "features", lambda d: (100_000, d),
        [10, 30, 100, 300, 1_000],
    ),
    "entries-sparse": (
        "sparse, 100,000 rows, 50,000 features", "sparse", LOGISTIC, SPARSE_PEERS, "entries a row",
        lambda k: (100_000, 50_000, k), [3, 10, 30, 100, 300],
    ),
}  # fmt: skip
NAMES = list(CURVES)
# A quick run has only the first points, with a tenth of the rows.
QUICK = 2


def run(quick: bool, only: str | None = None) -> dict[str, Any]:
    found = {}
    for name, (title, kind, task, peers, axis, sizes, values) in CURVES.items():
        if only not in (None, name):
            continue
        points = []
        for value in values[:QUICK] if quick else values:
            size = sizes(value)
            size = (size[0] // 10, *size[1:]) if quick else size
            workload = Workload(f"{name}-{value}", f"{title}: {value:,} {axis}", (kind,), size, size, task, peers)
            measured = race(workload, quick)
            points.append({"value": value} | measured)
        found[name] = {"title": title, "axis": axis, "points": points}
    return {"versions": {wstar.NAME: wstar.version()}, "workloads": found}


def exponent(points: list[dict[str, Any]], seconds: list[float]) -> float:
    """The exponent of the power law through the last points, at which fixed costs are smallest."""
    (low, high), (first, last) = [(points[i]["value"]) for i in (-3, -1)], [seconds[i] for i in (-3, -1)]
    return math.log(last / first) / math.log(high / low)


def seconds(points: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """Our times, and those of the best peer at each point."""
    ours = [point["results"][wstar.NAME]["seconds"] for point in points]
    return ours, [point["results"][best_peer(point["results"])]["seconds"] for point in points]


def table(result: dict[str, Any]) -> str:
    if not result["quick"]:
        plot(result)
    lines = [
        "| what grows | at | best peer | ours, s | ratio | peak memory, MB, ours and theirs |",
        "|---|---:|---|---:|---:|---:|",
    ]
    laws = []
    for curve in result["workloads"].values():
        for point in curve["points"]:
            results = point["results"]
            peer = best_peer(results)
            ours, theirs = results[wstar.NAME], results[peer]
            cells = [
                f"{curve['axis']}: {curve['title']}" if point is curve["points"][0] else "",
                f"{point['value']:,}",
                f"{peer} {theirs['seconds']:.3g} s",
                f"{ours['seconds']:.3g}",
                f"{theirs['seconds'] / ours['seconds']:.1f}",
                f"{ours['peak_bytes'] / 1e6:,.0f} / {theirs['peak_bytes'] / 1e6:,.0f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
        if len(curve["points"]) >= 3:
            ours, theirs = (exponent(curve["points"], times) for times in seconds(curve["points"]))
            laws.append(
                f"- {curve['axis']} ({curve['title']}): over the last three points ours grows with the power"
                f" {ours:.2f}, the best peer with {theirs:.2f}"
            )
    picture = [] if result["quick"] else [f"![How cost grows](runs/{result['date']}/growth.svg)", ""]
    return "\n".join([*picture, *lines, "", *laws])


def plot(result: dict[str, Any]) -> None:
    """Draws the curves in a separate process, so that the driver stays small (see measure.py)."""
    curves = []
    for curve in result["workloads"].values():
        ours, theirs = seconds(curve["points"])
        values = [point["value"] for point in curve["points"]]
        curves.append(
            {"title": curve["title"], "axis": curve["axis"], "values": values, "ours": ours, "theirs": theirs}
        )
    folder = record.BENCH / "runs" / result["date"]
    folder.mkdir(parents=True, exist_ok=True)
    points = record.WORK / "growth.json"
    points.write_text(record.text(curves))
    measure.inside("growth.plot", "draw", str(points), str(folder / "growth.svg"))
