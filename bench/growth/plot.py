"""Draws the curves of growth: seconds against size, both on scales of powers of ten."""

import json
import pathlib


def draw(points: str, target: str) -> dict:
    import matplotlib

    matplotlib.use("svg")
    # The same picture gives the same bytes.
    matplotlib.rcParams["svg.hashsalt"] = "wstar"
    from matplotlib import pyplot

    curves = json.loads(pathlib.Path(points).read_text())
    columns = min(2, len(curves))
    lines = -(-len(curves) // columns)
    figure, places = pyplot.subplots(lines, columns, figsize=(5 * columns, 3.6 * lines), squeeze=False)
    for place in places.flat[len(curves) :]:
        place.set_visible(False)
    for place, curve in zip(places.flat, curves):
        place.loglog(curve["values"], curve["theirs"], "o--", color="#888888", label="best peer")
        place.loglog(curve["values"], curve["ours"], "o-", color="#0b62a4", label="wstar")
        place.set_title(curve["title"], fontsize=10)
        place.set_xlabel(curve["axis"])
        place.set_ylabel("seconds")
        place.grid(True, which="major", color="#dddddd", linewidth=0.6)
        place.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})
    return {"drawn": len(curves)}
