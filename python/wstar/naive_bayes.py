"""Naive Bayes."""

from __future__ import annotations

import json
import os
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn import naive_bayes
from sklearn.preprocessing import binarize
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_non_negative

from . import _engine
from .arrays import validated
from .base import settings_json
from .classification import CertifiedClassifier
from .prediction import Classifications, Probabilities
from .types import Numbers

if TYPE_CHECKING:
    from typing_extensions import Self


class _NaiveBayes(Probabilities, Classifications, CertifiedClassifier):
    """Base class of the three naive Bayes classifiers."""

    class_count_: npt.NDArray[np.float64]

    def _unsaved(self) -> list[str]:
        """The parameters that a model file cannot contain, because the predictions of the command line would differ."""
        return []

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `wstar.load` and the command line read.

        Parameters
        ----------
        path : str or path-like
            The file. It is written completely or not at all.
        """
        unsaved = [f"{name}={getattr(self, name)!r}" for name in self._unsaved()]
        if unsaved:
            raise ValueError(f"a model file cannot hold {', '.join(unsaved)}: pickle the estimator instead")
        super().save(path)

    def _drop_models(self) -> None:
        super()._drop_models()
        self.__dict__.pop("_tally", None)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        self._store_target_name(y)
        X, y = validated(self, X, y, **self._validation)
        if self._is_degenerate(X, y, sample_weight):
            self._drop_models()
            super().fit(X, y, sample_weight)
            return self
        self._learn(X, self._labels(y), sample_weight)
        return self

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        """Fits to validated rows with their class codes, and sets the fitted attributes."""
        raise NotImplementedError

    def _is_degenerate(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Whether there is only one class, or a class without weight: scikit-learn fits these, without a certificate."""
        weights = self._weights(sample_weight, X)
        kept = y if weights is None else y[weights > 0]
        return len(np.unique(y)) == 1 or len(np.unique(kept)) < len(np.unique(y))

    def _estimate(self, X: Any, codes: np.ndarray, sample_weight: Any) -> dict[str, Any]:
        weights = self._weights(sample_weight, X)
        model = self._engine_fit(X, self._engine_target(codes), weights, self._settings())
        self._drop_models()
        self._store_models(model)
        return json.loads(model.part("predictor"))["estimate"]

    def _evaluate(self, X: Any, what: str) -> tuple[np.ndarray, Any]:
        if what != "scores" and len(getattr(self, "classes_", ())) == 1:
            # With a single class, every row belongs to it with probability 1.
            scores, dtype = super()._evaluate(X, "scores")
            if what == "classes":
                return np.zeros(len(scores), dtype=np.int64), dtype
            return np.full_like(scores, what == "probabilities"), dtype
        return super()._evaluate(X, what)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of the joint probabilities of row and class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._evaluate(X, "scores")[0]

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the sufficient statistics: the estimate equals that of `fit` on all rows so far.

        There is no certificate, because earlier rows are no longer in memory; `verify` makes one from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels of later calls too; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The updated estimator.
        """
        self._validate_params()
        known = getattr(self, "classes_", None) if classes is None else np.unique(classes)
        if known is not None and len(known) == 1:
            # The engine needs two classes.
            self._drop_models()
            super().partial_fit(X, y, classes, sample_weight)
            return self
        self._store_target_name(y)
        first = _check_partial_fit_first_call(self, classes)
        X, y = validated(self, X, y, reset=first, **self._validation)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"The target label(s) {unknown} in y do not exist in the initial classes {self.classes_}"
            )
        before, seen = (None, 0) if first else self._sums()
        weights = self._weights(sample_weight, X)
        table = self._table(self._counts(X), self._engine_target(self._codes_of(y)), weights)
        sums, model = _engine.tally(table, settings_json(self._settings()), before, seen, self._threads(X))
        self._tally = sums, seen + int(len(y) if weights is None else np.count_nonzero(weights))
        super()._drop_models()
        if model is not None:
            self._store_models(model)
        self._set_sums(*sums)
        return self

    def _sums(self) -> tuple[_engine.Sums, int]:
        """The sums over all rows so far, and the number of rows."""
        if "_tally" not in self.__dict__:
            model = getattr(self, "model_", None)
            seen = 0 if model is None else int(json.loads(model.part("fit"))["rows"])
            self._tally = self._sums_of_fit(), seen
        return self._tally

    def _settings(self) -> dict[str, Any]:
        """The engine's settings."""
        raise NotImplementedError

    def _sums_of_fit(self) -> _engine.Sums:
        """The sums that give the fitted attributes."""
        raise NotImplementedError

    def _set_sums(self, totals: np.ndarray, firsts: np.ndarray, squares: np.ndarray | None) -> None:
        """Sets the fitted attributes from the sums."""
        raise NotImplementedError

    def _counts(self, X: Any) -> Any:
        return X


class GaussianNB(_NaiveBayes, naive_bayes.GaussianNB):
    """Gaussian naive Bayes: a mean and a variance for each class and column.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes; by default their relative frequencies.
    var_smoothing : float, default=1e-9
        The fraction of the largest variance that is added to all variances.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_prior_, theta_, var_, epsilon_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The certificate that means, variances and priors are maximum-likelihood estimates.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> model.certificate_.holds, model.score(X, y)
    (True, 0.96)
    """

    class_prior_: npt.NDArray[np.float64]
    theta_: npt.NDArray[np.float64]
    var_: npt.NDArray[np.float64]
    epsilon_: float

    def __init__(
        self, *, priors: Numbers | None = None, var_smoothing: float = 1e-9, n_jobs: int | None = None
    ) -> None:
        super().__init__(priors=priors, var_smoothing=var_smoothing)
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **naive_bayes.GaussianNB._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    _validation: ClassVar[dict[str, Any]] = {"accept_sparse": False}

    def _score_functions(self) -> _engine.Scores:
        return _engine.Scores.gaussian(self.class_prior_, self.theta_, self.var_)

    def _unsaved(self) -> list[str]:
        return [] if self.priors is None else ["priors"]

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        priors = None if self.priors is None else self._checked_priors()
        self._set_estimate(self._estimate(X, codes, sample_weight))
        weights = self._weights(sample_weight, X)
        counted = np.bincount(codes, weights=weights, minlength=len(self.classes_))
        self.class_count_ = counted.astype(np.float64)
        if priors is not None:
            self.class_prior_ = priors

    def _set_estimate(self, estimate: dict[str, Any]) -> None:
        """Sets scikit-learn's attributes from the engine's estimate."""
        self.theta_ = np.array(estimate["means"])
        variances = np.array(estimate["variances"])
        self.class_prior_ = np.array(estimate["priors"])
        centre = self.class_prior_ @ self.theta_
        overall = self.class_prior_ @ (variances + (self.theta_ - centre) ** 2)
        self.epsilon_ = self.var_smoothing * overall.max()
        self.var_ = variances + self.epsilon_

    def _settings(self) -> dict[str, Any]:
        return {"method": "naive-bayes", "density": "gaussian", "smoothing": float(self.var_smoothing)}

    def _sums_of_fit(self) -> _engine.Sums:
        model = getattr(self, "model_", None)
        if model is None:
            variances = self.var_ - self.epsilon_
        else:
            variances = np.array(json.loads(model.part("predictor"))["estimate"]["variances"])
        return self.class_count_, self.theta_, variances * self.class_count_[:, None]

    def _set_sums(self, totals: np.ndarray, firsts: np.ndarray, squares: np.ndarray | None) -> None:
        self.class_count_ = totals
        shares = totals / totals.sum()
        variances = squares / np.where(totals > 0, totals, 1.0)[:, None]
        self._set_estimate({"means": firsts, "variances": variances, "priors": shares})
        if self.priors is not None:
            self.class_prior_ = self._checked_priors()

    def _checked_priors(self) -> np.ndarray:
        priors = np.asarray(self.priors, dtype=np.float64)
        if len(priors) != len(self.classes_):
            raise ValueError("Number of priors must match number of classes.")
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        if (priors < 0).any():
            raise ValueError("Priors must be non-negative.")
        return priors


class _Discrete(_NaiveBayes):
    """Base class of Bernoulli and multinomial naive Bayes."""

    class_log_prior_: npt.NDArray[np.float64]
    feature_count_: npt.NDArray[np.float64]
    feature_log_prob_: npt.NDArray[np.float64]

    _density = ""

    def _unsaved(self) -> list[str]:
        saved = {
            "alpha": isinstance(self.alpha, Real) and float(self.alpha) > 0,
            "fit_prior": self.fit_prior,
            "class_prior": self.class_prior is None,
        }
        return [name for name, is_saved in saved.items() if not is_saved]

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        estimate = self._estimate(self._counts(X), codes, sample_weight)
        self._set_sums(np.array(estimate["totals"]), np.array(estimate["counts"]), None)

    def _settings(self) -> dict[str, Any]:
        alpha = self._check_alpha()
        smoothing = float(alpha) if isinstance(alpha, Real) and float(alpha) > 0 else 1.0
        return {"method": "naive-bayes", "density": self._density, "smoothing": smoothing}

    def _sums_of_fit(self) -> _engine.Sums:
        return self.class_count_, self.feature_count_, None

    def _set_sums(self, totals: np.ndarray, firsts: np.ndarray, squares: np.ndarray | None) -> None:
        self.class_count_, self.feature_count_ = totals, firsts
        self._update_feature_log_prob(self._check_alpha())
        self._update_class_log_prior(class_prior=self.class_prior)


class BernoulliNB(_Discrete, naive_bayes.BernoulliNB):
    """Bernoulli naive Bayes: binary features.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to every count.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept.
    binarize : float or None, default=0.0
        The threshold above which a feature is 1; None if X has only 0 and 1.
    fit_prior : bool, default=True
        Whether to estimate the priors from the rows; otherwise they are uniform.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, feature_count_, feature_log_prob_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The certificate that the counts are those of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from wstar import BernoulliNB
    >>> X, y = load_digits(return_X_y=True)
    >>> BernoulliNB(binarize=7).fit(X, y).certificate_.holds
    True
    """

    _density = "bernoulli"

    def __init__(
        self,
        *,
        alpha: float | Numbers = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Numbers | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            force_alpha=force_alpha,
            binarize=binarize,
            fit_prior=fit_prior,
            class_prior=class_prior,
        )
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **naive_bayes.BernoulliNB._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    def _score_functions(self) -> _engine.Scores:
        yes = self.feature_log_prob_
        no = np.log1p(-np.exp(yes))
        return _engine.Scores.linear(yes - no, self.class_log_prior_ + no.sum(axis=1), self.binarize)

    def _evaluate_rows(self, taken: Any, X: Any, what: str) -> tuple[np.ndarray, bool]:
        if sp.issparse(X) and self.binarize is not None and self.binarize < 0:
            raise ValueError("Cannot binarize a sparse matrix with threshold < 0")
        return super()._evaluate_rows(taken, X, what)

    def _unsaved(self) -> list[str]:
        # A file holds the engine's threshold, 0.
        return [*super()._unsaved(), *(["binarize"] if self.binarize not in (None, 0.0) else [])]

    def _counts(self, X: Any) -> Any:
        # The engine's threshold is 0.
        return X if self.binarize in (None, 0.0) else binarize(X, threshold=self.binarize)

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Recompute the certificate from data; see `CertifiedClassifier.verify`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training data.
        y : array-like of shape (n_samples,)
            Its labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit.

        Returns
        -------
        Verification
            True if the claim holds on these data, else with the objections.
        """
        return super().verify(self._counts(validated(self, X, reset=False)), y, sample_weight)


class MultinomialNB(_Discrete, naive_bayes.MultinomialNB):
    """Multinomial naive Bayes: rows of counts.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to every count.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept.
    fit_prior : bool, default=True
        Whether to estimate the priors from the rows; otherwise they are uniform.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes.
    n_jobs : int, default=None
        The number of threads; None means all cores. The fit does not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, feature_count_, feature_log_prob_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        The certificate that the counts are those of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from wstar import MultinomialNB
    >>> X, y = load_digits(return_X_y=True)
    >>> MultinomialNB().fit(X, y).certificate_.holds
    True
    """

    _density = "multinomial"

    def __init__(
        self,
        *,
        alpha: float | Numbers = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Numbers | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **naive_bayes.MultinomialNB._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    def _score_functions(self) -> _engine.Scores:
        return _engine.Scores.linear(self.feature_log_prob_, self.class_log_prior_)

    def _counts(self, X: Any) -> Any:
        check_non_negative(X, "MultinomialNB (input X)")
        return X
