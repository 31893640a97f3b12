"""The package's own warnings."""


class SeparationWarning(UserWarning):
    """The classes can be separated, so that no maximum-likelihood estimate exists.

    The coefficients are then a direction along which the likelihood keeps rising, and not an estimate; a
    penalty (a finite `C`) or Firth's correction has an answer.
    """
