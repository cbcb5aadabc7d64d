"""Runs of the study `attributes-protocol`: errors of ridge, Lasso and AER on one split of a pair of digits."""

import itertools
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from jaxonline.engines.attribute_streams import StreamHypotheses, play_streams
from jaxonline.study.ready import attributes_mnist as digits

PIXELS: tuple[digits.Pixels, ...] = "raw", "centred", "root"
PARTS = "test part", "training part", "all rows"
HYPOTHESES = "mean", "last half", "last w"  # the mean of all w, or of the last half of them, or the last w
# numbers of pixels of each image for the estimate of x and for the prediction
SIZES = (2, 2), (3, 1), (4, 1), (4, 2), (2, 4), (4, 4)
LAMBDAS = 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0
RADII = 4.0, 8.0, 16.0
PARAMETERS = tuple(itertools.product(LAMBDAS, RADII))
PENALTIES = tuple(np.geomspace(1e-3, 10.0, 9).tolist())  # of ridge on few images, alpha of |Xw - y|^2 / n + alpha |w|^2


class PairErrors(NamedTuple):
    """Mean squared errors and shares of wrong signs (the last axis) on one split of a pair, for all scalings of pixels.

    `ridge` and `lasso` have their errors on each of the `PARTS`; `folds` has AER's mean squared errors in
    cross-validation, `aer` its errors on the test part, and `equal` the squared test error of ridge that sees as many
    pixels as AER.
    """

    ridge: Float[np.ndarray, "pixels parts 2"]
    lasso: Float[np.ndarray, "pixels parts 2"]
    folds: Float[np.ndarray, "pixels sizes hypotheses parameters"]
    aer: Float[np.ndarray, "pixels sizes hypotheses parameters 2"]
    equal: Float[np.ndarray, "pixels sizes"]


def run_pair(
    X: np.ndarray, y: np.ndarray, pair: tuple[int, int], seed: tuple[int, ...], folds: int
) -> dict[str, np.ndarray]:
    """Return the fields of `PairErrors`."""
    splits = [digits.split_pair(X, y, pair, seed, folds, pixels) for pixels in PIXELS]
    grids, own = digits.Grids(folds=folds), (*seed, *pair)
    jobs = [partial(_aer, split, sizes, own) for split in splits for sizes in SIZES]
    jobs += [partial(_on_parts, split, name, grids, own) for name in ("ridge", "Lasso") for split in splits]
    jobs += [partial(_ridge_at_equal_cost, split, sum(sizes)) for split in splits for sizes in SIZES]
    results = digits.run_in_threads(jobs)
    shape = len(splits), len(SIZES)
    n = len(splits) * len(SIZES)
    streams, on_parts, equal = results[:n], results[n:-n], results[-n:]
    in_folds, aer = (np.stack(part).reshape(*shape, *part[0].shape) for part in zip(*streams, strict=True))
    ridge, lasso = np.reshape(on_parts, (2, len(splits), len(PARTS), 2))
    return PairErrors(ridge, lasso, in_folds, aer, np.reshape(equal, shape))._asdict()


def _on_parts(split: digits.Split, name: str, grids: digits.Grids, seed: tuple[int, ...]) -> np.ndarray:
    """Return the errors [parts, 2] of ridge or Lasso, with the penalty that cross-validation chooses."""
    w = digits.learn(name, split, grids, 4, seed).w
    test, training = split.errors(w), digits.errors_on(w, split.X, split.y)
    n_test, n_training = len(split.y_test), len(split.y)
    return np.stack([test, training, (n_test * test + n_training * training) / (n_test + n_training)])


def _aer(split: digits.Split, sizes: tuple[int, int], seed: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return AER's squared errors in cross-validation [hypotheses, parameters], and its test errors [..., 2]."""
    X, y, rows, (shortest, n) = digits.fold_streams(split)
    key = jax.random.key(int(np.random.default_rng([*seed, 4]).integers(2**31)))[None]
    rates, radii = np.array(PARAMETERS).T
    ends = shortest // 2, n // 2, shortest, n
    streams = play_streams(
        "aer", X, y, rows, key, rates, radii, sum(sizes), ends, split.live, n_for_prediction=sizes[1]
    )
    in_folds = _hypotheses(streams, 0, ends)[:, :-1]  # [hypotheses, folds, parameters, d]
    errors = [
        digits.errors_on(in_folds[:, i], split.X[fold], split.y[fold])[..., 0] for i, fold in enumerate(split.folds)
    ]
    return np.mean(errors, axis=0), split.errors(_hypotheses(streams, 1, ends)[:, -1])


def _hypotheses(streams: StreamHypotheses, i: int, ends: tuple[int, ...]) -> np.ndarray:
    """Return the three `HYPOTHESES` after `ends[i + 2]` rounds; the last half starts after `ends[i]` rounds."""
    half, end = ends[i], ends[i + 2]
    mean_at_half, mean, last = (
        np.asarray(w) for w in (streams.average[i], streams.average[i + 2], streams.last[i + 2])
    )
    return np.stack([mean, (end * mean - half * mean_at_half) / (end - half), last])


def _ridge_at_equal_cost(split: digits.Split, n_attributes: int) -> float:
    """Return the test error of ridge on so many whole images that it sees as many pixels as AER on the training part.

    Leave-one-out cross-validation on these images chooses the penalty.
    """
    from sklearn.linear_model import RidgeCV

    n = max(2, round(len(split.y) * n_attributes / digits.D))
    ridge = RidgeCV([alpha * n for alpha in PENALTIES], fit_intercept=False).fit(split.X[:n].astype(float), split.y[:n])
    return float(split.errors(np.asarray(ridge.coef_))[0])
