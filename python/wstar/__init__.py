"""Classic linear models with scikit-learn's interface, each with a certificate.

>>> from sklearn.datasets import load_iris
>>> import wstar
>>> X, y = load_iris(return_X_y=True)
>>> model = wstar.LogisticRegression().fit(X, y)
>>> bool(model.verify(X, y))
True
"""

from importlib import metadata as _metadata

from .certificate import Certificate, Verification
from .comparison import Comparison, compare
from .discriminant import LinearDiscriminantAnalysis
from .exceptions import SeparationWarning
from .files import load
from .geometry import HardMarginClassifier, Kozinec, MinErrorClassifier
from .lasso import ElasticNet, Lasso
from .least_squares import LinearRegression
from .logistic import LogisticRegression
from .naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from .path import enet_path, lasso_path
from .perceptron import AveragedPerceptron, Perceptron, PocketPerceptron, VotedPerceptron
from .quantile import QuantileRegressor
from .ridge import Ridge, RidgeClassifier
from .separation import Separation, separate
from .sgd import SGDClassifier
from .summary import Summary
from .svm import LinearSVC

try:
    __version__ = _metadata.version("wstar")
except _metadata.PackageNotFoundError:
    # Run from its sources, without being installed.
    __version__ = "0+unknown"

__all__ = [
    "AveragedPerceptron",
    "BernoulliNB",
    "Certificate",
    "Comparison",
    "ElasticNet",
    "GaussianNB",
    "HardMarginClassifier",
    "Kozinec",
    "Lasso",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MinErrorClassifier",
    "MultinomialNB",
    "Perceptron",
    "PocketPerceptron",
    "QuantileRegressor",
    "Ridge",
    "RidgeClassifier",
    "SGDClassifier",
    "Separation",
    "SeparationWarning",
    "Summary",
    "Verification",
    "VotedPerceptron",
    "compare",
    "enet_path",
    "lasso_path",
    "load",
    "separate",
]
