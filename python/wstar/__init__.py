"""Classic linear models with scikit-learn's interface, each with a certificate.

>>> from sklearn.datasets import load_iris
>>> import wstar
>>> X, y = load_iris(return_X_y=True)
>>> model = wstar.LogisticRegression().fit(X, y)
>>> bool(model.verify(X, y))
True
"""

from .lasso import ElasticNet, Lasso
from .least_squares import LinearRegression
from .logistic import LogisticRegression
from .quantile import QuantileRegressor
from .ridge import Ridge, RidgeClassifier
from .svm import LinearSVC

__all__ = [
    "ElasticNet",
    "Lasso",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "QuantileRegressor",
    "Ridge",
    "RidgeClassifier",
]
