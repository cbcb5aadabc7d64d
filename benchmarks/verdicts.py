"""Verdicts of `verify.unbiased` on typical estimators, right and wrong, with assumed and with stated knowledge.

    python -m benchmarks.verdicts [--seeds 15]

prints the table in docs/how-it-works.md. Each estimator is multiplied by 1, 1.01 and 1.1. The first rule assumes a
kurtosis of at most 1,000 for every estimator. The second rule uses only what the author of the estimator can derive.
"""

import argparse
import collections
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from benchmarks.papers.claims.noise import gradient_sample
from benchmarks.papers.claims.series import MEAN, SPREAD, P, noisy_number
from jaxonline import verify
from jaxonline.estimators import AttributeGradient, Geometric, SeriesEstimator, TwoCopies
from jaxonline.estimators.series import exact_second_moment
from jaxonline.feedback import NoisyCopies
from jaxonline.feedback.noise import gaussian
from jaxonline.losses import Exponential
from jaxonline.verify.result import BIASED, UNDECIDED, WITHIN_TOLERANCE

FACTORS = (1.0, 1.01, 1.1)
LETTERS = {WITHIN_TOLERANCE: "w", UNDECIDED: "u", BIASED: "b"}
ASSUMED = {"kurtosis": 1000.0}
W, X, Y = np.array([0.5, -1.0, 0.25]), np.array([0.3, -0.8, 0.6]), 0.7


class Case(NamedTuple):
    """An estimator `draw(factor, key)` with its target, and what its author knows: one option of `unbiased`."""

    name: str
    draw: Callable[[Any, jax.Array], jax.Array]
    target: Any
    known: dict[str, Any]


def _normal(factor, key):
    return factor * (1 + jax.random.normal(key))


def _two_copies(factor, key):
    feedback = NoisyCopies(gaussian(0.2 * np.eye(3)), gaussian(0.1), reveal_covariance=True)
    w, x, y = (jnp.asarray(number, jnp.float32) for number in (W, X, Y))
    return factor * gradient_sample(feedback, TwoCopies(), w, x, y, key)


def _attributes(factor, key):
    w, x, estimator = jnp.asarray(W, jnp.float32), jnp.asarray(X, jnp.float32), AttributeGradient(4)
    indices = estimator.choose(key, w)
    return factor * estimator.gradient(w, jnp.float32(Y), indices, x[indices.subset], x[indices.weighted])


def _series(estimator, factor, key):
    return factor * estimator.estimate(key, partial(noisy_number, MEAN))


def _weight(q, noise, factor, key):
    rare, own = jax.random.split(key)
    return factor * jnp.where(jax.random.uniform(rare) < q, 1 / q, 0.0) + noise * jax.random.normal(own)


def _rare_error(q, factor, key):
    """Return 1 with noise; the bias factor - 1 is in one value of probability q."""
    return 1 + _weight(q, 1.0, factor - 1, key)


def _lognormal(factor, key):
    return factor * jnp.exp(1.5 * jax.random.normal(key) - 1.5**2 / 2)


def _student(factor, key):
    return factor * (1 + jax.random.t(key, 3.0))


def _cases() -> list[Case]:
    series = SeriesEstimator.for_loss(Exponential(), Geometric(P), MEAN**2 + SPREAD**2)
    second_of_series = exact_second_moment(series, MEAN**2 + SPREAD**2)
    gradient = 2 * (W @ X - Y) * X
    largest = max(float(np.abs(g).max()) for _, g in AttributeGradient(4).support(W, X, Y))
    weights = [1, 7, 13, 20]
    return [
        Case("normal number, kurtosis 3", _normal, 1.0, {"kurtosis": 10.0}),
        Case("`TwoCopies`, kurtosis below 50", _two_copies, gradient, {"kurtosis": 50.0}),
        Case("`AttributeGradient(4)`, bounded", _attributes, gradient, {"range": (-1.1 * largest, 1.1 * largest)}),
        Case("`SeriesEstimator`, `Geometric(2)`", Partial(_series, series), -math.exp(-MEAN),
             {"second_moment": 1.21 * second_of_series}),
        *(Case(f"1/q with probability q = 2^-{n}", Partial(_weight, 2.0**-n, 0.0), 1.0, {"range": (0.0, 1.1 * 2.0**n)})
          for n in weights),
        *(Case(f"the same with noise, q = 2^-{n}", Partial(_weight, 2.0**-n, 1.0), 1.0,
               {"second_moment": 1.21 * 2.0**n + 1}) for n in weights[1:]),
        Case("normal, the error in a value of q = 2^-20", Partial(_rare_error, 2.0**-20), 1.0,
             {"second_moment": 2 + 0.21 + 0.01 * 2.0**20}),
        Case("lognormal(1.5), kurtosis 10,078", _lognormal, 1.0, {"second_moment": 1.21 * math.exp(1.5**2)}),
        Case("Student's t(3), infinite kurtosis", _student, 1.0, {"second_moment": 1.21 * 4.0}),
    ]  # fmt: skip


def count_verdicts(case: Case, factor: float, seeds: int, **known: Any) -> collections.Counter:
    """Return how often each verdict occurs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # identical samples
        estimator = Partial(case.draw, jnp.float32(factor))
        return collections.Counter(
            verify.unbiased(estimator, case.target, seed=seed, **known).verdict for seed in range(seeds)
        )


def format_counts(counts: collections.Counter, factor: float) -> str:
    """Return "15 w" or "12 u, 3 b"; wrong answers are bold."""
    wrong = {1.0: BIASED, 1.1: WITHIN_TOLERANCE}.get(factor)
    parts = [(verdict, f"{counts[verdict]} {letter}") for verdict, letter in LETTERS.items() if counts[verdict]]
    return ", ".join(f"**{text}**" if verdict == wrong else text for verdict, text in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=15, help="verifications for each cell")
    arguments = parser.parse_args()
    versions = [f"x {factor:g}" for factor in FACTORS]
    print("| estimator |", " | ".join([f"assumed, {v}" for v in versions] + ["known", *versions]), "|")
    print("| --- |" + " --- |" * 7)
    for case in _cases():
        cells = [
            [format_counts(count_verdicts(case, factor, arguments.seeds, **known), factor) for factor in FACTORS]
            for known in (ASSUMED, case.known)
        ]
        print(f"| {case.name} | {' | '.join([*cells[0], *case.known, *cells[1]])} |", flush=True)


if __name__ == "__main__":
    main()
