"""Classic linear models with scikit-learn's interface, each with a certificate.

>>> from sklearn.datasets import load_iris
>>> import wstar
>>> X, y = load_iris(return_X_y=True)
>>> model = wstar.LogisticRegression().fit(X, y)
>>> bool(model.verify(X, y))
True
"""

from .logistic import LogisticRegression

__all__ = ["LogisticRegression"]
