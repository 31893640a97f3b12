"""Draws the growth curves: seconds against size, both on logarithmic scales."""

import json
import pathlib


def draw(points: str, target: str) -> dict:
    import matplotlib

    matplotlib.use("svg")
    # The same curves give the same bytes.
    matplotlib.rcParams["svg.hashsalt"] = "wstar"
    from matplotlib import pyplot

    curves = json.loads(pathlib.Path(points).read_text())
    columns = min(2, len(curves))
    lines = -(-len(curves) // columns)
    figure, panels = pyplot.subplots(lines, columns, figsize=(5 * columns, 3.6 * lines), squeeze=False)
    for panel in panels.flat[len(curves) :]:
        panel.set_visible(False)
    for panel, curve in zip(panels.flat, curves):
        panel.loglog(curve["values"], curve["theirs"], "o--", color="#888888", label="best peer")
        panel.loglog(curve["values"], curve["ours"], "o-", color="#0b62a4", label="wstar")
        panel.set_title(curve["title"], fontsize=10)
        panel.set_xlabel(curve["axis"])
        panel.set_ylabel("seconds")
        panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
        panel.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})
    return {"drawn": len(curves)}
