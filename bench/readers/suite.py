"""The speed of reading files: ours against common readers, on generated files."""

from functools import partial

import data
import measure
from peers import liblinear, pandas, scikit_learn, wstar

# name of the file, its extension, its size, the function of the adapters, and the contenders (ours first)
WORKLOADS = [
    ("svmlight-full", "svm", 150_000_000, "read_svmlight", [wstar, liblinear, scikit_learn]),
    ("svmlight-short", "svm", 150_000_000, "read_svmlight", [wstar, liblinear, scikit_learn]),
    ("csv-full", "csv", 200_000_000, "read_csv", [wstar, pandas]),
    ("csv-short", "csv", 200_000_000, "read_csv", [wstar, pandas]),
]
ROUNDS = 5


def run(quick):
    results = []
    for name, ending, size, task, contenders in WORKLOADS:
        size = size // 10 if quick else size
        path, file = data.generated(f"{name}-{size // 1_000_000}.{ending}", "readers.files", name, size)
        print(f"   {name}: {file['bytes'] / 1e6:.0f} MB, {file['rows']} rows", flush=True)
        data.warm(path)
        runs = measure.interleaved(
            {peer.NAME: partial(getattr(peer, task), str(path)) for peer in contenders},
            rounds=3 if quick else ROUNDS,
        )
        for peer in contenders:
            runs[peer.NAME]["version"] = peer.version()
            rows = runs[peer.NAME].get("rows", file["rows"])
            if rows != file["rows"]:
                raise RuntimeError(f"{peer.NAME} read {rows} rows of {file['rows']}: {path}")
        results.append({"name": name, "file": file, "matrix_bytes": matrix_bytes(name, file), "results": runs})
    return {"rounds": 3 if quick else ROUNDS, "workloads": results}


def matrix_bytes(name, file):
    """Bytes of the matrix in f64 and its classes in compact storage (CSR: u32 columns, u64 row starts)."""
    entry = 8 + 4 if name.startswith("svmlight") else 8
    starts = 8 * (file["rows"] + 1) if name.startswith("svmlight") else 0
    return file["entries"] * entry + starts + 4 * file["rows"]


def table(result):
    """The results as Markdown."""
    machine = result["machine"]
    lines = [
        (
            f"{result['date']}, commit {machine['commit']}: {machine['processor']}, {machine['cores']} cores, "
            f"{machine['memory_gb']} GB, load {machine['load_at_start']} at the start; "
            f"medians of {result['rounds']} interleaved rounds."
        ),
        "",
        "| file | reader | reading, s | MB/s | ours is faster by | whole process, s | peak memory, MB |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for workload in result["workloads"]:
        megabytes = workload["file"]["bytes"] / 1e6
        ours = workload["results"][wstar.NAME]
        for name, run in workload["results"].items():
            faster = "" if name == wstar.NAME else f"{run['seconds'] / ours['seconds']:.1f} ×"
            file = f"{workload['name']}, {megabytes:.0f} MB" if name == wstar.NAME else ""
            lines.append(
                f"| {file} | {name} {run['version']} | {run['seconds']:.3f} | {megabytes / run['seconds']:.0f} "
                f"| {faster} | {run['wall']:.3f} | {run['peak_bytes'] / 1e6:.0f} |"
            )
    lines.append("")
    for workload in result["workloads"]:
        peak = workload["results"][wstar.NAME]["peak_bytes"]
        matrix, mapped = workload["matrix_bytes"], workload["file"]["bytes"]
        bound = 2 * matrix + mapped
        lines.append(
            f"- {workload['name']}: our peak of {peak / 1e6:.0f} MB is {'within' if peak <= bound else 'ABOVE'} "
            f"2 × the matrix ({matrix / 1e6:.0f} MB) + the mapped file = {bound / 1e6:.0f} MB"
        )
    return "\n".join(lines)
