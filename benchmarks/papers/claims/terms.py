"""Exact check of the terms P(N = n) E[theta | N = n] of an estimator that first draws an integer N.

The mean of a series estimator is the sum of these terms, the terms of its series. A sample of theta shows only
the sum, in which a wrong tenth coefficient is invisible. Here the copies take two values, so that all outcomes are
listed, and each term is compared in its own unit.
"""

import itertools

import numpy as np

from jaxonline.verify import Verification, unbiased

_MAX_SIGNS = 12


def all_signs(n: int, size: int) -> np.ndarray:
    """Return all signs of n copies, beside zeros [2^n, size]; above 12 copies one row of zeros, copies at their mean.

    An estimate is a product of independent copies. So the value at the means of the last copies is their mean.
    """
    if n > _MAX_SIGNS:
        return np.zeros((1, size))
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n))).reshape(2**n, n)
    return np.pad(signs, ((0, 0), (0, size - n)))


def check_terms(means: np.ndarray, target: float, terms: np.ndarray | None = None, rest: float = 0.0) -> Verification:
    """Check all terms and their sum.

    Args:
        means: P(N = n) E[theta | N = n] for the numbers n that matter [m].
        target: the mean of theta.
        terms: the right terms from an independent source [m]; None if only the sum is known.
        rest: the sum of the terms of all other n.
    """
    terms = means if terms is None else terms
    units = np.where(terms == 0.0, target, terms)
    ratios = [*(1.0 + (means - terms) / units), (means.sum() + rest) / target]
    values = np.asarray(ratios, np.float32)  # sufficient precision, above the errors of sums and of the targets
    return unbiased(None, np.ones(len(values)), support=[(1.0, values)])
