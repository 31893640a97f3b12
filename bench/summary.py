"""The table at the top of the README: every workload of every suite that has a peer, from results.json."""

from typing import Any

HEAD = [
    "| workload | best peer | ours | ratio | at least | floor | passes | peak memory, ours and theirs |",
    "|---|---|---:|---:|---:|---:|---:|---:|",
]


def row(
    title: str,
    peer: str,
    theirs: dict[str, Any],
    ours: dict[str, Any],
    at_least: float | None,
    read_bytes: float | None,
    bandwidth: float | None,
) -> dict[str, Any]:
    """One row; `peer` is the name and the setting of the best peer."""
    return {
        "workload": title,
        "peer": peer,
        "peer_seconds": theirs["seconds"],
        "seconds": ours["seconds"],
        "ratio": theirs["seconds"] / ours["seconds"],
        "at_least": at_least,
        "floor": read_bytes / bandwidth if read_bytes and bandwidth else None,
        "passes": ours.get("passes"),
        "peak_bytes": ours["peak_bytes"],
        "peer_peak_bytes": theirs["peak_bytes"],
        "remark": remark(theirs, ours),
    }


def remark(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    """A remark that a reader of the row needs."""
    said = []
    if theirs.get("above", 0) > 1e-6:
        near = theirs.get("setting", {}).get("above", 1) <= 1e-6
        again = "although this setting was sufficient before" if near else "and no setting is sufficient"
        said.append(f"the peer ends {theirs['above']:.1e} above the optimum {again}")
    if ours.get("relative_gap", 0) > 1e-6 or ours.get("above", 0) > 1e-6 or not ours.get("holds", True):
        said.append("OURS IS NOT WITHIN 1e-6")
    return "; ".join(said)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The table; a ratio below the one to reach is in italics."""
    lines = list(HEAD)
    for one in rows:
        reached = one["at_least"] is None or one["ratio"] >= one["at_least"]
        ratio = f"{one['ratio']:.2g}" if one["ratio"] < 10 else f"{one['ratio']:.0f}"
        cells = [
            one["workload"] + (f" ({one['remark']})" if one["remark"] else ""),
            f"{one['peer']} {duration(one['peer_seconds'])}",
            duration(one["seconds"]),
            f"**{ratio}**" if reached else f"*{ratio}*",
            "" if one["at_least"] is None else f"{one['at_least']:g}",
            "" if one["floor"] is None else duration(one["floor"]),
            "" if one["passes"] is None else f"{one['passes']:.4g}",
            f"{one['peak_bytes'] / 1e6:,.0f} / {one['peer_peak_bytes'] / 1e6:,.0f} MB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def duration(seconds: float) -> str:
    """Three digits in a suitable unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}" if seconds < 1000 * scale else f"{seconds / scale:.0f} {unit}"
    return f"{seconds * 1e6:.3g} µs"
