"""Tables of fits, as text and HTML."""

from __future__ import annotations

import html
import json
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted


class Summary:
    """A table of a fit: its certificate, its coefficients, and inference where it is valid."""

    def __init__(self, title: str, lines: list[tuple[str, str]], head: list[str], rows: list[list[str]]):
        self.title = title
        self.lines = lines
        self.head = head
        self.rows = rows

    def __str__(self) -> str:
        text = [self.title, ""]
        text += [f"  {name:<12} {value}" for name, value in self.lines]
        if self.rows:
            table = [self.head, *self.rows]
            widths = [max(len(row[j]) for row in table) for j in range(len(self.head))]
            text.append("")
            for row in table:
                cells = [row[0].ljust(widths[0])] + [
                    cell.rjust(width) for cell, width in zip(row[1:], widths[1:])
                ]
                text.append(("  " + "   ".join(cells)).rstrip())
        return "\n".join(text)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def cells(row: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"

        lines = "".join(cells([name, value], "td") for name, value in self.lines)
        table = cells(self.head, "th") + "".join(cells(row, "td") for row in self.rows) if self.rows else ""
        return f"<p><b>{html.escape(self.title)}</b></p><table>{lines}</table><table>{table}</table>"


def summarize(estimator: Any, most: int) -> Summary:
    """The summary of a fitted estimator, with at most `most` coefficients."""
    check_is_fitted(estimator)
    certificate = estimator.certificate_
    if "model_" not in estimator.__dict__:
        title = f"{type(estimator).__name__}: {estimator.n_features_in_} features"
        return Summary(title, [("not proved", certificate.claim())], [], [])
    models = estimator.model_ if isinstance(estimator.model_, list) else [estimator.model_]
    fit = json.loads(models[0].part("fit"))
    lines = [("certified" if certificate.holds else "not proved", certificate.claim())]
    lines.append(("status", str(fit["status"])))
    lines += [("note", note) for note in fit["notes"]]
    if fit.get("solver"):
        lines.append(("solver", f"{fit['solver']['name']} ({fit['solver']['why']})"))
    title = f"{type(estimator).__name__}: {fit['rows']} rows × {estimator.n_features_in_} features"
    inference = json.loads(models[0].part("inference")) if len(models) == 1 else None
    names = models[0].feature_names
    if inference:
        lines += [
            (label, f"{inference[name]:.6g}")
            for label, name in [("ln L", "log_likelihood"), ("AIC", "aic"), ("BIC", "bic")]
            if inference.get(name) is not None
        ]
        head = ["", "coef", "std err", inference["kind"], "p", "95 % interval"]
        rows = []
        for name, c in list(zip([*names, "(intercept)"], inference["coefficients"]))[:most]:
            test = [f"{c[key]:.4g}" if c[key] is not None else "–" for key in ("statistic", "p_value")]
            interval = f"[{c['lower']:.4g}, {c['upper']:.4g}]"
            rows.append([name, f"{c['estimate']:.6g}", f"{c['standard_error']:.4g}", *test, interval])
        return Summary(title, lines, head, rows)
    planes = [model.hyperplanes() for model in models]
    if any(plane is None for plane in planes):
        return Summary(title, lines, [], [])
    weights = np.vstack([plane[0] for plane in planes])
    intercepts = np.concatenate([plane[1] for plane in planes])
    largest = np.sort(np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:most])
    classes = getattr(estimator, "classes_", None)
    if classes is not None and len(weights) == len(classes):
        head = ["", *(str(label) for label in classes)]
    else:
        head = ["", *(["coef"] if len(weights) == 1 else [str(k) for k in range(len(weights))])]
    rows = [[names[j], *(f"{w:.6g}" for w in weights[:, j])] for j in largest]
    rows.append(["(intercept)", *(f"{b:.6g}" for b in intercepts)])
    return Summary(title, lines, head, rows)
