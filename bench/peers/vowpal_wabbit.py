"""Vowpal Wabbit (vowpalwabbit), on a file in its own format."""

import importlib.metadata
import pathlib
from typing import Any

import measure

NAME = "Vowpal Wabbit"


def version() -> str:
    return importlib.metadata.version("vowpalwabbit")


def online_pass(path: Any) -> dict[str, Any]:
    """One pass of its default learner with logistic loss; its imports are not counted."""
    return measure.inside("peers.vowpal_wabbit", "time_pass", str(pathlib.Path(path).with_suffix(".vw")))


def time_pass(path: str) -> dict[str, Any]:
    from vowpalwabbit import Workspace

    def learn():
        # Creating a workspace with data processes all of them.
        workspace = Workspace(f"--data {path} --loss_function logistic --binary --bit_precision 18 --quiet")
        error = workspace.get_sum_loss() / max(workspace.get_weighted_examples(), 1)
        workspace.finish()
        return error

    error, seconds, peak = measure.watched(learn)
    return {"seconds": seconds, "peak_bytes": peak, "error": error}
