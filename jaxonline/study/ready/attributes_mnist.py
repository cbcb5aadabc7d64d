"""Digits of MNIST in pairs: the splits, the learners, and the choice of their parameters by cross-validation.

Everything that is chosen (means of pixels, which of them are constant, parameters) is chosen on the training part.
All pairs share their shapes, padded, so that each learner is one program.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from jaxonline._util.threads import in_parallel
from jaxonline.estimators.attribute_pairs import on_the_cone
from jaxonline.learners.attributes.baseline import l1_minimum
from jaxonline.learners.attributes.streams import play_streams

D = 784
TEST = 10  # a part in ten
N_ROWS = 13_824  # of the training part of any pair, rounded up: 9/10 of the 15,170 ones and sevens
STREAMS = 2  # folds in one program
DESCENTS, FINAL_DESCENTS = 150, 600  # of Lasso and Baseline, in cross-validation and after it


class Grids(NamedTuple):
    """The parameters that cross-validation chooses from.

    Attributes:
        ridge: penalties alpha of |Xw - y|^2 / n + alpha |w|^2.
        lasso: radii of the l1 ball; of the Baseline: `baseline`.
        baseline: radii of the l1 ball.
        aer: regularisers lambda, and radii of the l1 ball.
        aerr: step sizes, and radii of the l2 ball.
        folds: of the cross-validation.
    """

    ridge: tuple[float, ...] = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
    lasso: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    baseline: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
    aer: tuple[tuple[float, ...], tuple[float, ...]] = ((2.0, 4.0, 8.0, 16.0, 32.0), (1.0, 2.0, 4.0, 8.0, 16.0))
    aerr: tuple[tuple[float, ...], tuple[float, ...]] = ((3e-6, 1e-5, 3e-5, 1e-4), (0.25, 0.5, 1.0, 2.0))
    folds: int = 10


QUICK = Grids((1e-3, 1e-2), (4.0, 16.0), (0.25, 1.0), ((4.0, 12.0), (2.0, 8.0)), ((1e-5, 3e-5), (0.5, 1.0)), 3)


class Split(NamedTuple):
    """A training and a test part of the images of two digits, the first of which is -1.

    Attributes:
        X: training images, live pixels first [n, 784].
        y: -1 or +1 [n].
        X_test: as X.
        y_test: as y.
        live: the number of pixels that learners play with.
        folds: the rows of each fold.
    """

    X: Float[np.ndarray, "n 784"]
    y: Float[np.ndarray, "n"]
    X_test: Float[np.ndarray, "m 784"]
    y_test: Float[np.ndarray, "m"]
    live: int
    folds: list[Int[np.ndarray, "size"]]

    def errors(self, w: Float[np.ndarray, "... 784"]) -> np.ndarray:
        """Mean squared error and part of wrong signs on the test part [..., 2]."""
        values = np.asarray(w) @ self.X_test.T
        squared = np.mean((values - self.y_test) ** 2, axis=-1)
        return np.stack([squared, np.mean(np.sign(values) != self.y_test, axis=-1)], axis=-1)


def split_pair(
    X: np.ndarray, y: np.ndarray, pair: tuple[int, int], seed: tuple[int, ...], folds: int, centred: bool
) -> Split:
    """Nine tenths of the images of two digits for training, chosen at random.

    Args:
        X: the pixels of all images, from 0 to 255; here they go from 0 to 1.
        y: their digits.
        pair: of the digits.
        seed: of the split.
        folds: how many.
        centred: whether the training mean of each pixel is taken off, and pixels are left out that are constant in
            the training part.
    """
    rng = np.random.default_rng([*seed, *pair])
    order = rng.permutation(np.flatnonzero((y == pair[0]) | (y == pair[1])))
    pixels, label = X[order].astype(np.float32) / 255, np.where(y[order] == pair[0], -1.0, 1.0).astype(np.float32)
    n_test = len(order) // TEST
    train = pixels[n_test:]
    live = D
    if centred:
        constant = train.max(axis=0) == train.min(axis=0)
        first = np.argsort(constant, kind="stable")
        live = int(D - constant.sum())
        pixels = (pixels - train.mean(axis=0))[:, first]
        pixels[:, live:] = 0.0
    rows = np.arange(len(train))  # the order is random already
    return Split(pixels[n_test:], label[n_test:], pixels[:n_test], label[:n_test], live, np.array_split(rows, folds))


class Found(NamedTuple):
    """What a learner found: w [784], its parameters, and the function that plays it on the first t rows."""

    w: Float[np.ndarray, "784"]
    parameters: tuple[float, ...]
    prefixes: Callable[[tuple[int, ...]], np.ndarray]


def _chosen(split: Split, w: np.ndarray, parameters: list[tuple[float, ...]]) -> tuple[float, ...]:
    """The parameters with the least mean squared error on the folds, from hypotheses [folds, parameters, 784]."""
    errors = [
        np.mean((np.asarray(of) @ split.X[fold].T - split.y[fold]) ** 2, axis=1)
        for of, fold in zip(w, split.folds, strict=True)
    ]
    mean = np.mean(errors, axis=0)
    return parameters[int(np.nanargmin(np.where(np.isfinite(mean), mean, np.inf)))]


# ---------------------------------------------------------------------------------------------------------------------
# All attributes: ridge and Lasso


class PixelMoments(NamedTuple):
    """Means of x x' [..., 784, 784] and of y x [..., 784]."""

    A: np.ndarray
    b: np.ndarray


def full_moments(split: Split, rows: np.ndarray) -> PixelMoments:
    """From all pixels of the rows: sums."""
    return PixelMoments(split.X[rows].T @ split.X[rows], split.X[rows].T @ split.y[rows])


def _leaving_out(parts: list[PixelMoments], sizes: list[int]) -> PixelMoments:
    """The means of all parts but one, for each of them, from the sums of each."""
    A, b, n = *(np.sum(each, axis=0) for each in zip(*parts, strict=True)), sum(sizes)
    without = [
        PixelMoments((A - part.A) / (n - size), (b - part.b) / (n - size))
        for part, size in zip(parts, sizes, strict=True)
    ]
    return PixelMoments(*(np.stack(each).astype(np.float32) for each in zip(*without, strict=True)))


def by_moments(
    split: Split, solve: Callable[[PixelMoments, tuple[float, ...], int], np.ndarray], grid: tuple[float, ...],
    moments: Callable[[np.ndarray], PixelMoments],
) -> Found:  # fmt: skip
    """A learner that sees moments only: its parameter from `grid`, and its hypothesis.

    Args:
        split: the images.
        solve: of means [P, 784, 784], hypotheses [P, parameters, 784], with so many steps.
        grid: the parameters.
        moments: the sums over rows of what is seen of them.
    """
    parts = [moments(fold) for fold in split.folds]
    candidates = solve(_leaving_out(parts, [len(fold) for fold in split.folds]), grid, DESCENTS)
    (best,) = _chosen(split, candidates, [(each,) for each in grid])

    def after(sums: PixelMoments, n: int) -> np.ndarray:
        return np.asarray(solve(PixelMoments(sums.A[None] / n, sums.b[None] / n), (best,), FINAL_DESCENTS))[0, 0]

    def prefixes(ends: tuple[int, ...]) -> np.ndarray:
        found, sums, begin = [], PixelMoments(np.zeros((D, D)), np.zeros(D)), 0
        for end in ends:
            more = moments(np.arange(begin, end))
            sums, begin = PixelMoments(sums.A + more.A, sums.b + more.b), end
            found.append(after(sums, end))
        return np.stack(found)

    total = PixelMoments(*(np.sum(each, axis=0) for each in zip(*parts, strict=True)))
    return Found(after(total, len(split.y)), (best,), prefixes)


def solve_ridge(means: PixelMoments, alphas: tuple[float, ...], n_steps: int) -> np.ndarray:
    """argmin w'Aw - 2 w'b + alpha |w|^2."""
    del n_steps
    from scipy.linalg import cho_factor, cho_solve

    def one(A: np.ndarray, b: np.ndarray, alpha: float) -> np.ndarray:
        A = A.astype(np.float32, copy=True)
        A.flat[:: D + 1] += alpha
        return cho_solve(cho_factor(A, overwrite_a=True, check_finite=False), b.astype(np.float32), check_finite=False)

    return np.stack([[one(A, b, alpha) for alpha in alphas] for A, b in zip(*means, strict=True)])


def solve_in_l1_ball(means: PixelMoments, radii: tuple[float, ...], n_steps: int, cone: bool = False) -> np.ndarray:
    """argmin w'Aw - 2 w'b over the l1 ball, by descent from 0."""
    jobs = [
        lambda A=A, b=b: _descend(
            jnp.asarray(A, jnp.float32), jnp.asarray(b, jnp.float32), jnp.array(radii), n_steps, cone
        )
        for A, b in zip(*means, strict=True)
    ]
    return np.stack([np.asarray(each) for each in in_parallel(jobs)])


@partial(jax.jit, static_argnames=("n_steps", "cone"))
def _descend(A, b, radii, n_steps, cone):
    A = on_the_cone(A) if cone else A
    return jax.vmap(lambda radius: l1_minimum(A, b, radius, jnp.zeros_like(b), n_steps))(radii)


# ---------------------------------------------------------------------------------------------------------------------
# k attributes: Baseline, AER, AERR


def pair_moments(split: Split, n_attributes: int, seed: tuple[int, ...]) -> Callable[[np.ndarray], PixelMoments]:
    """Sums of the Baseline's moments over rows: k/2 pairs of live pixels of each, which are drawn once for each row."""
    d, half = split.live, n_attributes // 2
    rng = np.random.default_rng([*seed, 1])
    pairs = rng.integers(d * d, size=(len(split.y), half))
    while len(again := np.flatnonzero(_repeats(pairs))):  # the pairs of a row are different
        pairs[again] = rng.integers(d * d, size=(len(again), half))

    def moments(rows: np.ndarray) -> PixelMoments:
        i, j = pairs[rows] // d, pairs[rows] % d
        x_i, x_j = (np.take_along_axis(split.X[rows], of, axis=1).astype(float) for of in (i, j))
        A = np.bincount((i * D + j).ravel(), (x_i * x_j).ravel() * d * d / n_attributes, D * D).reshape(D, D)
        y = split.y[rows][:, None] * d / n_attributes
        b = np.bincount(i.ravel(), (y * x_i).ravel(), D) + np.bincount(j.ravel(), (y * x_j).ravel(), D)
        return PixelMoments(A + A.T, b)

    return moments


def _repeats(pairs: np.ndarray) -> np.ndarray:
    ordered = np.sort(pairs, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)


def by_streams(
    law: str, split: Split, grid: tuple[tuple[float, ...], tuple[float, ...]], n_attributes: int, seed: int
) -> Found:
    """AER or AERR: the parameters from the grid of rates and radii, and the averaged hypothesis after all rows."""
    n = len(split.y)
    X, y = np.zeros((N_ROWS, D), np.float32), np.zeros(N_ROWS, np.float32)
    X[:n], y[:n] = split.X, split.y
    device = jnp.asarray(X), jnp.asarray(y)
    key = jax.random.key(seed)

    def play(
        rows: list[np.ndarray], keys: Any, parameters: list[tuple[float, ...]], ends: tuple[int, ...]
    ) -> np.ndarray:
        padded = np.zeros((len(rows), N_ROWS), np.int32)
        for to, of in zip(padded, rows, strict=True):
            to[: len(of)] = of
        rates, radii = np.array(parameters).T
        found = play_streams(law, *device, padded, keys, rates, radii, n_attributes, ends, split.live)
        return np.asarray(found)

    everything = np.arange(n)
    training = [np.setdiff1d(everything, fold, assume_unique=True) for fold in split.folds]
    shortest = min(map(len, training))
    parameters = [(rate, radius) for rate in grid[0] for radius in grid[1]]
    chunks = [list(range(first, min(first + STREAMS, len(training)))) for first in range(0, len(training), STREAMS)]
    keys = jax.random.split(key, len(training) + 1)
    jobs = [
        lambda chunk=chunk: play([training[f] for f in chunk], keys[np.array(chunk)], parameters, (shortest,))[0]
        for chunk in chunks
    ]
    best = _chosen(split, np.concatenate(in_parallel(jobs)), parameters)

    def prefixes(ends: tuple[int, ...]) -> np.ndarray:
        return play([everything], keys[-1:], [best], ends)[:, 0, 0]

    return Found(prefixes((n,))[0], best, prefixes)


def learn(name: str, split: Split, grids: Grids, n_attributes: int, seed: tuple[int, ...]) -> Found:
    """Play one of `LEARNERS`."""
    stream = int(np.random.default_rng([*seed, 2]).integers(2**31))
    if name == "ridge":
        return by_moments(split, solve_ridge, grids.ridge, partial(full_moments, split))
    if name == "Lasso":
        return by_moments(split, solve_in_l1_ball, grids.lasso, partial(full_moments, split))
    if name in ("Baseline", "Baseline, cone"):
        solve = partial(solve_in_l1_ball, cone=name == "Baseline, cone")
        return by_moments(split, solve, grids.baseline, pair_moments(split, n_attributes, seed))
    return by_streams(name.lower(), split, getattr(grids, name.lower()), n_attributes, stream)


LEARNERS = ("ridge", "Lasso", "AER", "AERR", "Baseline", "Baseline, cone")
