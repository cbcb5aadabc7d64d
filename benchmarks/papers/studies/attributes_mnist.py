"""Classification of pairs of MNIST digits: splits, learners, and the choice of parameters by cross-validation.

The means of pixels, the set of constant pixels, and the parameters depend only on the training part. The data of all
pairs are padded to one shape, so that each learner is compiled only once.
"""

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float, Int
from threadpoolctl import threadpool_limits

from benchmarks.papers.engines.attributes import play_streams
from jaxonline._xla.threads import run_parallel
from jaxonline.learners.attributes import minimise_on_l1_ball
from jaxonline.numerics.elementwise import exact_products
from jaxonline.simulation.tuning import argmin_finite

D = 784
TEST_DIVISOR = 10  # a tenth of the images is the test part
N_ROWS = 13_824  # padded training rows of any pair; at most 9/10 of the 15,170 ones and sevens
N_DESCENT_STEPS = 50  # of the Baseline
MAX_SWEEPS = 1000, 30_000  # of Lasso by coordinate descent for each penalty: in cross-validation, and after it
DUALITY_GAPS = 1e-3, 1e-6  # at which it stops, relative to the mean of y^2


Pairs = tuple[tuple[float, ...], ...]
Pixels = Literal["raw", "centred"]


class Grids(NamedTuple):
    """Candidate parameters of each learner for cross-validation, and the number of folds."""

    # penalties alpha of |Xw - y|^2 / n + alpha |w|^2
    ridge: tuple[float, ...] = (1e-3, 3e-3, 1e-2, 3e-2)
    # falling penalties alpha of |Xw - y|^2 / (2 n) + alpha |w|_1, which give the same w as radii
    lasso: tuple[float, ...] = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
    baseline: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)  # radii of the l1 ball
    # online gradient descent: pairs of a step size and a radius of the l2 ball
    descent: Pairs = ((3e-4, 4.0), (1e-3, 4.0), (3e-3, 4.0), (1e-2, 4.0))
    # AER: pairs of a regulariser lambda and a radius of the l1 ball; AERR: of a step size and a radius of the l2 ball
    aer: Pairs = ((8.0, 4.0), (8.0, 8.0), (8.0, 16.0), (16.0, 4.0), (16.0, 8.0))
    aerr: Pairs = ((1e-5, 0.5), (1e-5, 1.0), (1e-5, 4.0), (2e-5, 0.5), (2e-5, 1.0))
    folds: int = 10


QUICK = Grids(
    ridge=(1e-3, 1e-2), lasso=(1e-2, 1e-3), baseline=(0.25, 1.0, 4.0), descent=((1e-3, 4.0), (3e-3, 4.0)),
    aer=((8.0, 4.0), (8.0, 8.0)), aerr=((1e-5, 1.0), (2e-5, 0.5)), folds=3,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test images of two digits, with label -1 for the first digit."""

    X: Float[np.ndarray, "n 784"]  # live pixels first
    y: Float[np.ndarray, "n"]
    X_test: Float[np.ndarray, "m 784"]
    y_test: Float[np.ndarray, "m"]
    live: int  # number of pixels that learners use
    folds: list[Int[np.ndarray, "size"]]  # consecutive rows

    def errors(self, w: Float[np.ndarray, "... 784"]) -> np.ndarray:
        """Return the mean squared error and the share of wrong signs on the test part [..., 2]."""
        values = np.asarray(w) @ self.X_test.T
        squared = np.mean((values - self.y_test) ** 2, axis=-1)
        return np.stack([squared, np.mean(np.sign(values) != self.y_test, axis=-1)], axis=-1)

    @functools.cached_property
    def moments(self) -> list["PixelMoments"]:
        """The sums of the moments of all pixels over each fold."""
        return [full_moments(self, fold) for fold in self.folds]

    @functools.cached_property
    def streams(self) -> "FoldStreams":
        """The streams of cross-validation."""
        n = len(self.y)
        X, y = np.zeros((N_ROWS, D), np.float32), np.zeros(N_ROWS, np.float32)
        X[:n], y[:n] = self.X, self.y
        all_rows = np.arange(n)
        streams = [*(np.setdiff1d(all_rows, fold, assume_unique=True) for fold in self.folds), all_rows]
        rows = np.zeros((len(streams), N_ROWS), np.int32)
        for row, indices in zip(rows, streams, strict=True):
            row[: len(indices)] = indices
        return FoldStreams(jnp.asarray(X), jnp.asarray(y), rows, (min(map(len, streams)), n))


def split_pair(
    X: np.ndarray, y: np.ndarray, pair: tuple[int, int], seed: tuple[int, ...], folds: int, pixels: Pixels
) -> Split:
    """Split the images of two digits at random, nine tenths for training.

    Pixels are scaled from [0, 255] to [0, 1]. From "centred" pixels the training mean of each pixel is subtracted, and
    pixels that are constant in the training part are left out.
    """
    rng = np.random.default_rng([*seed, *pair])
    order = rng.permutation(np.flatnonzero((y == pair[0]) | (y == pair[1])))
    values, label = X[order], np.where(y[order] == pair[0], -1.0, 1.0).astype(np.float32)
    n_test = len(order) // TEST_DIVISOR
    live = D
    if pixels == "centred":
        train = values[n_test:]
        varies = train.max(axis=0) > train.min(axis=0)
        live = int(varies.sum())
        centred = values[:, varies] - train[:, varies].mean(axis=0, dtype=np.float64).astype(np.float32)
        values = np.zeros(values.shape, np.float32)
        values[:, :live] = centred
    values = values / np.float32(255)
    rows = np.arange(len(order) - n_test)  # the order is random already
    return Split(values[n_test:], label[n_test:], values[:n_test], label[:n_test], live, np.array_split(rows, folds))


class TrainedLearner(NamedTuple):
    """A trained learner: w [784], its parameters, and a function that trains it on the first t rows."""

    w: Float[np.ndarray, "784"]
    parameters: tuple[float, ...]
    prefixes: Callable[[tuple[int, ...]], np.ndarray]


def _best_parameters(split: Split, w: np.ndarray, parameters: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the parameters with the least mean squared error on the folds, for hypotheses [folds, parameters, 784]."""
    errors = [
        np.mean((np.asarray(hypotheses) @ split.X[fold].T - split.y[fold]) ** 2, axis=1)
        for hypotheses, fold in zip(w, split.folds, strict=True)
    ]
    return parameters[argmin_finite(np.mean(errors, axis=0))]


# ---------------------------------------------------------------------------------------------------------------------
# From moments: ridge, Lasso, the Baseline


class PixelMoments(NamedTuple):
    """Sums or means over images of x x' [784, 784] and of y x [784], which are observed or estimated."""

    A: np.ndarray
    b: np.ndarray

    def mean(self, n: int) -> "PixelMoments":
        """Divide the sums by the number of rows."""
        return PixelMoments(*((sums / n).astype(np.float32) for sums in self))

    def subtract(self, other: "PixelMoments") -> "PixelMoments":
        """Subtract the sums of other rows."""
        return PixelMoments(self.A - other.A, self.b - other.b)


def by_moments(
    split: Split, solve: Callable[[PixelMoments, tuple[float, ...], bool], np.ndarray], grid: tuple[float, ...],
    parts: list[PixelMoments], moments: Callable[[np.ndarray], PixelMoments],
) -> TrainedLearner:  # fmt: skip
    """Train a learner that sees only moments; `parts` has the sums of each fold, `moments(rows)` sums over rows.

    `solve(means, parameters, final)` returns hypotheses [parameters, 784], less precisely if `final` is False.
    """
    total = PixelMoments(*(functools.reduce(np.add, arrays) for arrays in zip(*parts, strict=True)))
    n = len(split.y)
    candidates = [
        solve(total.subtract(part).mean(n - len(fold)), grid, False)
        for part, fold in zip(parts, split.folds, strict=True)
    ]
    (best,) = _best_parameters(split, np.stack(candidates), [(parameter,) for parameter in grid])

    def train(sums: PixelMoments, n: int) -> np.ndarray:
        return solve(sums.mean(n), (best,), True)[0]

    def prefixes(ends: tuple[int, ...]) -> np.ndarray:
        hypotheses, sums, begin = [], PixelMoments(np.zeros((D, D)), np.zeros(D)), 0
        for end in ends:
            more = moments(np.arange(begin, end))
            sums, begin = PixelMoments(sums.A + more.A, sums.b + more.b), end
            hypotheses.append(train(sums, end))
        return np.stack(hypotheses)

    return TrainedLearner(train(total, n), (best,), prefixes)


def full_moments(split: Split, rows: np.ndarray) -> PixelMoments:
    """Return the sums of the moments of all pixels over consecutive rows."""
    X, y = (array[rows[0] : rows[-1] + 1] for array in (split.X, split.y))
    return PixelMoments(X.T @ X, X.T @ y)  # BLAS computes X.T @ X with half the operations


def solve_ridge(means: PixelMoments, alphas: tuple[float, ...], final: bool) -> np.ndarray:
    """Return the ridge solution argmin w'Aw - 2 w'b + alpha |w|^2 for each alpha."""
    from scipy.linalg import cho_factor, cho_solve

    live = means.A.diagonal() > 0
    A, b, w = means.A[np.ix_(live, live)], means.b[live], np.zeros((len(alphas), D), np.float32)
    for row, alpha in zip(w, alphas, strict=True):
        shifted = A.copy()
        shifted.flat[:: len(b) + 1] += alpha
        row[live] = cho_solve(cho_factor(shifted, overwrite_a=True, check_finite=False), b, check_finite=False)
    return w


def solve_lasso(means: PixelMoments, alphas: tuple[float, ...], final: bool) -> np.ndarray:
    """Return the Lasso solution argmin w'Aw / 2 - w'b + alpha |w|_1 for each alpha, by coordinate descent.

    The solver is scikit-learn's, along falling alpha. As the moments are given, scikit-learn uses the data only for the
    number of rows and the mean of y^2, so a single row is passed. It warns (`ConvergenceWarning`) where the number of
    sweeps does not suffice.
    """
    from sklearn.linear_model import lasso_path

    w, dtype = np.zeros((len(alphas), D), np.float32), np.float64 if final else np.float32
    A, b, row = means.A.astype(dtype), means.b.astype(dtype), (np.zeros((1, D), dtype, order="F"), np.ones(1, dtype))
    options: dict[str, Any] = {"alphas": np.array(alphas), "precompute": A, "Xy": b, "check_input": False}
    _, path, _ = lasso_path(*row, **options, tol=DUALITY_GAPS[final], max_iter=MAX_SWEEPS[final])
    w[:] = path.T
    return w


def solve_baseline(means: PixelMoments, radii: tuple[float, ...], final: bool, cone: bool) -> np.ndarray:
    """Return argmin w'Aw - 2 w'b over the l1 ball, by descent from 0; `cone`: first make A positive semi-definite."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import eigsh

    A, live = means.A, means.A.any(axis=0)
    if cone:
        values, vectors = eigh(A[np.ix_(live, live)], driver="evd", overwrite_a=True, check_finite=False)
        values, vectors = values[values > 0], vectors[:, values > 0]
        A = np.zeros_like(A)
        A[np.ix_(live, live)] = (vectors * values) @ vectors.T
        largest = values.max(initial=0.0)
    else:
        options: dict[str, Any] = {"v0": np.ones(D, A.dtype), "tol": 1e-2, "return_eigenvectors": False}
        largest = abs(eigsh(A, k=1, **options)[0])
    curvature = 2.1 * largest
    arrays = (jnp.asarray(array, jnp.float32) for array in (A, means.b, np.array(radii), curvature))
    return np.asarray(_descend(*arrays, N_DESCENT_STEPS))


@partial(jax.jit, static_argnames=("n_steps",))
@exact_products()
def _descend(A, b, radii, curvature, n_steps):
    return jax.vmap(lambda radius: minimise_on_l1_ball(A, b, radius, jnp.zeros_like(b), n_steps, curvature))(radii)


def pair_moments(split: Split, n_attributes: int, seed: tuple[int, ...]) -> Callable[[np.ndarray], PixelMoments]:
    """Return a function that sums the Baseline's moments over rows, from k/2 random pairs of live pixels per row."""
    d, half = split.live, n_attributes // 2
    rng = np.random.default_rng([*seed, 1])
    pairs = rng.integers(d * d, size=(len(split.y), half))
    while len(repeated := np.flatnonzero(_has_repeats(pairs))):  # the pairs of a row are distinct
        pairs[repeated] = rng.integers(d * d, size=(len(repeated), half))

    def moments(rows: np.ndarray) -> PixelMoments:
        i, j = pairs[rows] // d, pairs[rows] % d
        x_i, x_j = (split.X[rows[:, None], indices].astype(float) for indices in (i, j))
        A = np.bincount((i * D + j).ravel(), (x_i * x_j).ravel() * d * d / n_attributes, D * D).reshape(D, D)
        y = split.y[rows][:, None] * d / n_attributes
        b = np.bincount(i.ravel(), (y * x_i).ravel(), D) + np.bincount(j.ravel(), (y * x_j).ravel(), D)
        return PixelMoments(A + A.T, b)

    return moments


def _has_repeats(pairs: np.ndarray) -> np.ndarray:
    ordered = np.sort(pairs, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)


# ---------------------------------------------------------------------------------------------------------------------
# Online: AER, AERR, and gradient descent that sees all pixels


# Runs an online learner on streams of rows: (X, y, rows, parameters, ends) -> averages [ends, streams, parameters, 784]
StreamLearner = Callable[[jax.Array, jax.Array, np.ndarray, Pairs, tuple[int, ...]], ArrayLike]


def by_streams(split: Split, run_streams: StreamLearner, grid: Pairs) -> TrainedLearner:
    """Train an online learner: choose its parameters from the grid, and return the averaged hypothesis after all rows.

    The stream of all rows runs with all parameters, together with the streams of the folds; this is faster than a later
    run with the chosen parameters.
    """
    X, y, rows, lengths = split.streams

    def run(rows: np.ndarray, parameters: Pairs, ends: tuple[int, ...]) -> np.ndarray:
        return np.asarray(run_streams(X, y, rows, parameters, ends))

    hypotheses = run(rows, grid, lengths)
    best = _best_parameters(split, hypotheses[0, :-1], grid)
    return TrainedLearner(
        hypotheses[1, -1, grid.index(best)], best, lambda ends: run(rows[-1:], (best,), ends)[:, 0, 0]
    )


class FoldStreams(NamedTuple):
    """Padded training rows, and the streams of the rows outside of each fold and, last, of all rows."""

    X: jax.Array
    y: jax.Array
    rows: Int[np.ndarray, "folds+1 n_rows"]
    lengths: tuple[int, int]  # of the shortest stream, and of all rows


def few_pixels(algorithm: str, n_attributes: int, dimension: int, seed: int) -> StreamLearner:
    """Return the learner AER or AERR; in each round, it sees the same few coordinates in all folds."""
    key = jax.random.key(seed)[None]

    def run(X: jax.Array, y: jax.Array, rows: np.ndarray, parameters: Pairs, ends: tuple[int, ...]) -> jax.Array:
        rates, radii = np.array(parameters).T
        return play_streams(algorithm, X, y, rows, key, rates, radii, n_attributes, ends, dimension)  # type: ignore[arg-type]

    return run


def all_pixels(X: jax.Array, y: jax.Array, rows: np.ndarray, parameters: Pairs, ends: tuple[int, ...]) -> jax.Array:
    """Run online gradient descent that sees all pixels, equal to `GradientLearner(FullGradient())`."""
    steps, radii = jnp.array(parameters, X.dtype).T
    return _gradient_descent(X, y, rows, steps[None], radii[None], jnp.array(ends, jnp.int32))


@jax.jit
@exact_products()
def _gradient_descent(X, y, rows, steps, radii, ends):
    def run_round(t, state):
        w, total = state  # [S, G, 784]
        x, error = X[rows[:, t]], jnp.einsum("sgd,sd->sg", w, X[rows[:, t]]) - y[rows[:, t]][:, None]
        w = w - (2 * steps * error)[..., None] * x[:, None]
        norm = jnp.linalg.norm(w, axis=-1)
        w = w * jnp.minimum(1.0, radii / jnp.where(norm > 0, norm, 1.0))[..., None]
        return w, total + w

    def run_until(carry, end):
        t, state = carry
        state = jax.lax.fori_loop(t, end, run_round, state)
        return (end, state), state[1] / end.astype(X.dtype)

    zeros = jnp.zeros((len(rows), steps.shape[1], X.shape[1]), X.dtype)
    return jax.lax.scan(run_until, (jnp.int32(0), (zeros, zeros)), ends)[1]


def learn(name: str, split: Split, grids: Grids, n_attributes: int, seed: tuple[int, ...]) -> TrainedLearner:
    """Train a learner, given by its name in `LEARNERS`."""
    stream = int(np.random.default_rng([*seed, 2]).integers(2**31))
    if name in ("ridge", "Lasso"):
        solve, grid = (solve_ridge, grids.ridge) if name == "ridge" else (solve_lasso, grids.lasso)
        return by_moments(split, solve, grid, split.moments, partial(full_moments, split))
    if name in ("Baseline", "Baseline, cone"):
        moments = pair_moments(split, n_attributes, seed)
        solve = partial(solve_baseline, cone=name == "Baseline, cone")
        return by_moments(split, solve, grids.baseline, [moments(fold) for fold in split.folds], moments)
    if name == "gradient descent":
        return by_streams(split, all_pixels, grids.descent)
    algorithm, grid = ("aer", grids.aer) if name == "AER" else ("aerr", grids.aerr)
    return by_streams(split, few_pixels(algorithm, n_attributes, split.live, stream), grid)


LEARNERS = ("ridge", "Lasso", "gradient descent", "AER", "AERR", "Baseline", "Baseline, cone")


def run_in_threads(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run each learner in a thread; the linear algebra library then starts no threads of its own.

    Warnings of `solve_lasso` are ignored. The filters of warnings belong to all threads, so only the calling thread may
    change them.
    """
    from sklearn.exceptions import ConvergenceWarning

    with threadpool_limits(1), warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return run_parallel(jobs)
