"""Naive Bayes."""

from __future__ import annotations

import json
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn import naive_bayes
from sklearn.preprocessing import binarize
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_non_negative

from . import _engine
from .arrays import checked
from .base import CertifiedClassifier, written
from .prediction import Classifications, Probabilities


class _Counted(Probabilities, Classifications, CertifiedClassifier):
    """What the three densities share."""

    def _own_priors(self) -> bool:
        """Whether the priors are the user's, for which the model file has no place."""
        return False

    def save(self, path: Any) -> None:
        """Write the model to a file that `wstar.load` and the command line read.

        Parameters
        ----------
        path : str or path-like
            The file. It appears whole or not at all.
        """
        if self._own_priors():
            raise ValueError("a model file has no place for priors or smoothing of your own")
        super().save(path)

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_tally", None)

    def _is_degenerate(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Whether a class has no weight, or is the only one: then there is nothing to prove."""
        weights = self._weights(sample_weight, X)
        kept = y if weights is None else y[weights > 0]
        return len(np.unique(y)) == 1 or len(np.unique(kept)) < len(np.unique(y))

    def _estimate(self, X: Any, codes: np.ndarray, sample_weight: Any) -> dict[str, Any]:
        weights = self._weights(sample_weight, X)
        model = self._engine_fit(X, self._goal(codes), weights, self._settings())
        self._forget()
        self._keep(model)
        return json.loads(model.part("predictor"))["estimate"]

    def _ask(self, X: Any, what: str) -> tuple[np.ndarray, Any]:
        if what != "scores" and len(getattr(self, "classes_", ())) == 1:
            # The only class there is, whatever its score.
            scores, dtype = super()._ask(X, "scores")
            if what == "classes":
                return np.zeros(len(scores), dtype=np.int64), dtype
            return np.full_like(scores, what == "probabilities"), dtype
        return super()._ask(X, what)

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
        return self._ask(X, "scores")[0]

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Add rows to the sums: the estimate is that of all rows so far, as `fit` would find it.

        Earlier rows are gone, so there is no certificate; `verify` makes one from all rows together.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels there will be; needed by the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The updated estimator.
        """
        self._validate_params()
        known = getattr(self, "classes_", None) if classes is None else np.unique(classes)
        if known is not None and len(known) == 1:
            # The only class there is needs no engine, and no proof.
            self._forget()
            return super().partial_fit(X, y, classes, sample_weight)
        self._remember(y)
        first = _check_partial_fit_first_call(self, classes)
        X, y = checked(self, X, y, reset=first, **self._accepts)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"The target label(s) {unknown} in y do not exist in the initial classes {self.classes_}"
            )
        before, seen = (None, 0) if first else self._sums()
        weights = self._weights(sample_weight, X)
        table = self._table(self._counts(X), self._goal(self._coded(y)), weights)
        sums, model = _engine.tally(table, written(self._settings()), before, seen, self._threads(X))
        self._tally = sums, seen + int(len(y) if weights is None else np.count_nonzero(weights))
        super()._forget()
        if model is not None:
            self._keep(model)
        self._set_sums(*sums)
        return self

    def _sums(self) -> tuple[_engine.Sums, int]:
        """The sums over all rows so far, and how many rows those are."""
        if "_tally" not in self.__dict__:
            model = getattr(self, "model_", None)
            seen = 0 if model is None else int(json.loads(model.part("fit"))["rows"])
            self._tally = self._sums_of_fit(), seen
        return self._tally

    def _settings(self) -> dict[str, Any]:
        """The engine's settings."""
        raise NotImplementedError

    def _sums_of_fit(self) -> _engine.Sums:
        """The sums that the attributes stand for."""
        raise NotImplementedError

    def _set_sums(self, totals: np.ndarray, firsts: np.ndarray, squares: np.ndarray | None) -> None:
        """Sets the attributes by the sums."""
        raise NotImplementedError

    def _counts(self, X: Any) -> Any:
        return X


class GaussianNB(_Counted, naive_bayes.GaussianNB):
    """Gaussian naive Bayes: a mean and a variance for each class and column.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Probabilities of the classes; by default their shares of the rows.
    var_smoothing : float, default=1e-9
        The share of the largest variance that is added to all.
    n_jobs : int, default=None
        Threads of a fit, None for all.

    Attributes
    ----------
    classes_, class_count_, class_prior_, theta_, var_, epsilon_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        That means, variances and counts are the data's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wstar import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> model.certificate_.holds, model.score(X, y)
    (True, 0.96)
    """

    def __init__(self, *, priors=None, var_smoothing=1e-9, n_jobs=None):
        super().__init__(priors=priors, var_smoothing=var_smoothing)
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **naive_bayes.GaussianNB._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    _accepts: ClassVar[dict[str, Any]] = {"accept_sparse": False}

    def _functions(self) -> _engine.Scores:
        return _engine.Scores.gaussian(self.class_prior_, self.theta_, self.var_)

    def _own_priors(self) -> bool:
        return self.priors is not None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GaussianNB:
        """Fit and certify.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        self._remember(y)
        X, y = checked(self, X, y, accept_sparse=False)
        if self._is_degenerate(X, y, sample_weight):
            self._forget()
            return super().fit(X, y, sample_weight)
        codes = self._labels(y)
        priors = None if self.priors is None else self._checked_priors()
        self._set_estimate(self._estimate(X, codes, sample_weight))
        counted = np.ones(len(codes)) if sample_weight is None else self._weights(sample_weight, X)
        self.class_count_ = np.bincount(codes, weights=counted, minlength=len(self.classes_))
        if priors is not None:
            self.class_prior_ = priors
        return self

    def _set_estimate(self, estimate: dict[str, Any]) -> None:
        """The engine's estimate by scikit-learn's names."""
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


class _Discrete(_Counted):
    """What the two densities of counts share."""

    _density = ""

    def _own_priors(self) -> bool:
        plain = isinstance(self.alpha, Real) and self.alpha > 0
        return not plain or not self.fit_prior or self.class_prior is not None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        self._remember(y)
        X, y = checked(self, X, y)
        if self._is_degenerate(X, y, sample_weight):
            self._forget()
            return super().fit(X, y, sample_weight)
        codes = self._labels(y)
        estimate = self._estimate(self._counts(X), codes, sample_weight)
        self._set_sums(np.array(estimate["totals"]), np.array(estimate["counts"]), None)
        return self

    def _settings(self) -> dict[str, Any]:
        alpha = self._check_alpha()
        smoothing = float(alpha) if isinstance(alpha, Real) and alpha > 0 else 1.0
        return {"method": "naive-bayes", "density": self._density, "smoothing": smoothing}

    def _sums_of_fit(self) -> _engine.Sums:
        return self.class_count_, self.feature_count_, None

    def _set_sums(self, totals: np.ndarray, firsts: np.ndarray, squares: np.ndarray | None) -> None:
        self.class_count_, self.feature_count_ = totals, firsts
        self._update_feature_log_prob(self._check_alpha())
        self._update_class_log_prior(class_prior=self.class_prior)


class BernoulliNB(_Discrete, naive_bayes.BernoulliNB):
    """Bernoulli naive Bayes: whether each column is there or not.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to every count.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept.
    binarize : float or None, default=0.0
        What lies above it is there; None if X holds only 0 and 1.
    fit_prior : bool, default=True
        Whether the classes have the probabilities of the sample; else all the same.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities of the classes.
    n_jobs : int, default=None
        Threads of a fit, None for all.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, feature_count_, feature_log_prob_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        That the counts are the data's own.

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
        self, *, alpha=1.0, force_alpha=True, binarize=0.0, fit_prior=True, class_prior=None, n_jobs=None
    ):
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

    def _functions(self) -> _engine.Scores:
        yes = self.feature_log_prob_
        no = np.log1p(-np.exp(yes))
        return _engine.Scores.linear(yes - no, self.class_log_prior_ + no.sum(axis=1), self.binarize)

    def _answer(self, taken: Any, X: Any, what: str) -> tuple[np.ndarray, bool]:
        if sp.issparse(X) and self.binarize is not None and self.binarize < 0:
            raise ValueError("Cannot binarize a sparse matrix with threshold < 0")
        return super()._answer(taken, X, what)

    def _own_priors(self) -> bool:
        return super()._own_priors() or self.binarize not in (None, 0.0)

    def _counts(self, X: Any) -> Any:
        # The engine looks for what lies above 0.
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
        return super().verify(self._counts(checked(self, X, reset=False)), y, sample_weight)


class MultinomialNB(_Discrete, naive_bayes.MultinomialNB):
    """Multinomial naive Bayes: rows of counts.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to every count.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept.
    fit_prior : bool, default=True
        Whether the classes have the probabilities of the sample; else all the same.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities of the classes.
    n_jobs : int, default=None
        Threads of a fit, None for all.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, feature_count_, feature_log_prob_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        That the counts are the data's own.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from wstar import MultinomialNB
    >>> X, y = load_digits(return_X_y=True)
    >>> MultinomialNB().fit(X, y).certificate_.holds
    True
    """

    _density = "multinomial"

    def __init__(self, *, alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, n_jobs=None):
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.n_jobs = n_jobs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **naive_bayes.MultinomialNB._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    def _functions(self) -> _engine.Scores:
        return _engine.Scores.linear(self.feature_log_prob_, self.class_log_prior_)

    def _counts(self, X: Any) -> Any:
        check_non_negative(X, "MultinomialNB (input X)")
        return X
