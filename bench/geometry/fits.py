"""The table of fits whose objectives are compared: maximum margin and least absolute deviations."""

from peers import wstar


def table(found, title, objective, digits):
    """`found`: [{"name", "results": {contender: measurement}}]; `objective` names that column."""
    lines = [
        f"**{title}**",
        "",
        (
            f"| set | contender | fitting, s | ours is faster by | {objective} | above ours, relative | relative gap "
            "| whole process, s | peak memory, MB |"
        ),
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        ours = one["results"][wstar.NAME]
        for name, run in one["results"].items():
            if name == wstar.NAME:
                title, faster, above, gap = one["name"], "", "", f"{run['relative_gap']:.1e}"
            else:
                title, gap = "", ""
                faster = f"{run['seconds'] / ours['seconds']:.1f} ×"
                above = relative(run["objective"], ours["objective"])
            value = "does not separate" if run["objective"] is None else f"{run['objective']:.{digits}}"
            lines.append(
                f"| {title} | {name} | {run['seconds']:.3f} | {faster} | {value} | {above} | {gap} "
                f"| {run['wall']:.2f} | {run['peak_bytes'] / 1e6:.0f} |"
            )
    verified = sum(one["results"][wstar.NAME]["verified"] for one in found)
    return lines + ["", f"- `wstar verify` accepts {verified} of {len(found)} of our certificates"]


def relative(theirs, ours):
    return "" if theirs is None or ours is None else f"{theirs / ours - 1:.1e}"
