"""Certificates of fits, and the results of their verification."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

#: Lower and upper ends.
Interval = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Certificate:
    """A claim about a fit, with the numbers that prove it.

    Attributes
    ----------
    kind : str
        The kind of the claim: ``"duality-gap"``, ``"maximum-likelihood"``, ``"mistake-bound"``, ``"separation"``,
        ``"hard-margin"``, ``"min-error"``, or ``"none"``.
    holds : bool
        Whether the stored numbers prove the claim. `verify` recomputes them from the data.
    primal, dual : float or None
        The objective at the solution and a lower bound on the optimum, each summed over all problems of the
        fit.
    gap, relative_gap : float or None
        An upper bound on the distance of the objective from its infimum, with all rounding errors, and the
        largest relative gap of any problem of the fit.
    reach : float or None
        If not None, columns are dependent up to rounding, and the bound covers only parameters of up to this
        multiple of ``max(abs(parameter), 1)``.
    tol : float or None
        The relative gap that was requested.
    parts : list of dict
        The claim of each problem (one for each class of a one-vs-rest fit, one for each target) with its
        numbers.
    coef_interval_, intercept_interval_ : tuple of two ndarrays, or None
        Lower and upper ends of intervals that contain the coefficients and the intercept of the exact optimum, in the
        shapes of ``coef_`` and ``intercept_``, where the fit has proved them.
    """

    kind: str
    holds: bool
    primal: float | None = None
    dual: float | None = None
    gap: float | None = None
    relative_gap: float | None = None
    reach: float | None = None
    tol: float | None = None
    parts: list[dict[str, Any]] = field(default_factory=list, repr=False)
    coef_interval_: Interval | None = field(default=None, repr=False, compare=False)
    intercept_interval_: Interval | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def of(documents: list[dict[str, Any]], holds: bool) -> Certificate:
        """The certificate of several targets, from one document of the engine for each."""
        kind = documents[0]["kind"]
        parts: list[dict[str, Any]] = []
        for document in documents:
            rest = {name: value for name, value in document.items() if name not in ("kind", "parts")}
            parts += document.get("parts") or [rest]
        numbers: dict[str, Any] = {}
        if all("primal" in part and "dual" in part for part in parts):
            primal, dual = (sum(part[name] for part in parts) for name in ("primal", "dual"))
            reaches = [part["reach"] for part in parts if part.get("reach") is not None]
            numbers = {
                "primal": primal,
                "dual": dual,
                # The difference of P and D would lose a tiny gap; other kinds of certificates have no bound of their own.
                "gap": sum(part.get("gap", part["primal"] - part["dual"]) for part in parts),
                "relative_gap": max(part["relative_gap"] for part in parts),
                "tol": max(part["tol"] for part in parts),
            }
            if reaches:
                numbers["reach"] = min(reaches)
        return Certificate(kind, holds, **numbers, parts=parts)

    def with_intervals(self, proved: list[Any], coef: npt.ArrayLike, intercept: npt.ArrayLike) -> Certificate:
        """The certificate with proved intervals, from one list of subproblems for each model; unchanged if one is absent."""
        if not proved or not all(proved):
            return self
        problems = [problem for model in proved for problem in model]
        features = np.shape(coef)[-1]
        lower, upper = (
            np.array([problem[end] for problem in problems], dtype=float) for end in ("lower", "upper")
        )

        def of_coef(side: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            return np.asarray(side[:, :features].reshape(np.shape(coef)))

        def of_intercept(side: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            if side.shape[1] == features:
                return np.zeros(np.shape(intercept))
            return np.asarray(side[:, features].reshape(np.shape(intercept)))

        return replace(
            self,
            coef_interval_=(of_coef(lower), of_coef(upper)),
            intercept_interval_=(of_intercept(lower), of_intercept(upper)),
        )

    def claim(self) -> str:
        """The claim in words."""
        many = f" in each of {len(self.parts)} problems" if len(self.parts) > 1 else ""
        first = self.parts[0] if self.parts else {}
        if self.kind == "duality-gap":
            if self.relative_gap is None or self.relative_gap > 1e10:
                return "no bound on the distance to the optimum is known"
            within = f"within {max(self.relative_gap, 0.0):.2g} of the optimum{many}"
            reach = "" if self.reach is None else f", for parameters up to {self.reach:g} times as large"
            return f"{within} (P {self.primal:.10g}, D {self.dual:.10g}){reach}"
        if self.kind == "maximum-likelihood":
            return f"every parameter is the maximum-likelihood estimate, to {first['deviation']:.2g}"
        if self.kind == "hard-margin":
            margins = ", ".join(f"{(0.5 / part['primal']) ** 0.5:.6g}" for part in self.parts)
            return f"the largest margin: {margins}, to {self.relative_gap:.2g}"
        if self.kind == "separation":
            margins = ", ".join(f"[{part['lower']:.6g}, {part['upper']:.6g}]" for part in self.parts)
            return f"the largest margin lies in {margins}"
        if self.kind == "min-error":
            return f"{first['errors']} errors, and no hyperplane costs less than {first['lower_bound']:.6g}"
        if self.kind == "mistake-bound":
            texts = [
                f"{part['updates']} updates made, at most {part['bound']:.6g} possible"
                for part in self.parts
                if part["bound"] is not None
            ]
            return "; ".join(texts) or "no bound on the number of mistakes is known"
        return "nothing is claimed"


@dataclass(frozen=True)
class Verification:
    """The result of verifying a certificate against data; true if the claim holds.

    Attributes
    ----------
    holds : bool
        Whether the claim holds on these data.
    objections : list of str
        The reasons why it does not hold.
    certificate : Certificate
        The recomputed certificate.
    """

    holds: bool
    objections: list[str]
    certificate: Certificate

    def __bool__(self) -> bool:
        return self.holds
