"""Regrets, operations and times of the multi-kernel learners of Theorems 1 and 2, for the study of their rates."""

import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from benchmarks.papers.engines.expert_sequences import aggregate
from benchmarks.papers.engines.kernel_forecasts import expert_forecasts
from benchmarks.papers.engines.vaw_blocks import BLOCK_ROUNDS, scan_blocks
from jaxonline import bounds, kernels
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.feedback import FullOracle
from jaxonline.game.protocols import Specs
from jaxonline.learners import BOA, VAW, MLPoly, MLProd, MultiKernel

CONCATENATED, TWO_LEVELS, ONE = "concatenated VAW", "VAW2", "VAW, the comparator's kernel"
CENTRES = 20  # the comparator f is a combination of so many kernel functions
LABEL_NOISE = 0.5  # labels are f(x) + noise, uniform in [-LABEL_NOISE, LABEL_NOISE]
Y_BOUND = 1.0 + LABEL_NOISE  # |f(x)| <= |f| k(x, x)^(1/2) = 1

SECOND_ORDER: dict[str, Any] = {  # rule and bound
    "ML-Poly": (MLPoly(), bounds.ml_poly), "ML-Prod": (MLProd(), bounds.ml_prod), "BOA": (BOA(), bounds.boa),
}  # fmt: skip


class RegressionProblem(NamedTuple):
    """Instances X [T, d], values of the comparator f [T], and labels y [T]."""

    X: np.ndarray
    f: np.ndarray
    y: np.ndarray


def dictionary_kernels(name: str, n_kernels: int) -> list[Any]:
    """Return N kernels with scales 1/4, 1/2, 1, 2, ..., of the family "laplacian" or "gaussian"."""
    family = {"laplacian": kernels.Laplacian, "gaussian": kernels.Gaussian}[name]
    return [family(2.0 ** (i - 2)) for i in range(n_kernels)]


def draw_problem(kernel: Any, dimension: int, n_rounds: int, seed: tuple[int, ...]) -> RegressionProblem:
    """Draw instances uniform in [0, 1]^d, and a comparator f of norm 1 in the RKHS of the kernel."""
    rng = np.random.default_rng(seed)
    centres, coefficients = rng.uniform(size=(CENTRES, dimension)), rng.normal(size=CENTRES)
    X, noise = rng.uniform(size=(n_rounds, dimension)), rng.uniform(-LABEL_NOISE, LABEL_NOISE, n_rounds)
    coefficients /= np.sqrt(coefficients @ _gram(kernel, centres, centres) @ coefficients)
    f = _gram(kernel, X, centres) @ coefficients
    return RegressionProblem(X, f, f + noise)


def _gram(kernel: Any, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.asarray(_gram_program(kernel, jnp.asarray(X), jnp.asarray(Z)))


@jax.jit
def _gram_program(kernel, X, Z):
    return jax.vmap(lambda x: jax.vmap(lambda z: kernel(x, z))(Z))(X)


def regrets(
    family: str, n_kernels: int, dimension: int, n_rounds: int, n_frequencies: int, seeds: range, seed: int
) -> dict[str, Float[np.ndarray, "S"]]:
    """Return the regret of each learner to f, in half squared losses, for each draw of problem and features.

    The features are those of the theorems, sqrt(2) cos(<omega, x> + b), with lambda = 1. A `Dictionary` divides them by
    sqrt(m), so that lambda becomes 1 / m. The comparator is in the RKHS of the second kernel (of the only one for N =
    1), so that it is a comparator of both theorems.
    """
    members = dictionary_kernels(family, n_kernels)
    own = min(1, n_kernels - 1)
    problems = [draw_problem(members[own], dimension, n_rounds, (seed, s)) for s in seeds]
    keys = [jax.random.fold_in(jax.random.key(seed), s) for s in seeds]
    draws = [Dictionary.draw(key, members, dimension, n_frequencies, "cosine") for key in keys]
    X, y = (jnp.asarray(np.stack([getattr(problem, part) for problem in problems])) for part in ("X", "y"))
    frequencies, phases = (
        jnp.stack([jnp.asarray(getattr(draw, part)) for draw in draws]) for part in ("frequencies", "phases")
    )
    predictions = jax.tree.map(np.asarray, _play(frequencies, phases, X, y, own))
    own_losses = np.stack([(problem.f - problem.y) ** 2 for problem in problems]).sum(axis=1)
    return {name: (((p - np.asarray(y)) ** 2).sum(axis=1) - own_losses) / 2 for name, p in predictions.items()}


def second_order_run(
    family: str, n_kernels: int, dimension: int, n_rounds: int, n_frequencies: int, seed: int
) -> dict[str, Float[np.ndarray, "T"]]:
    """Return for one draw, by rule, the regret to the best VAW forecaster, its bound, and V, the sum of squares.

    The rule combines the N forecasters, losses are squared errors, and the best forecaster is that after T rounds. Keys
    are "rule/regret", "rule/bound" and "rule/squares".
    """
    members = dictionary_kernels(family, n_kernels)
    problem = draw_problem(members[min(1, n_kernels - 1)], dimension, n_rounds, (seed, 0))
    key = jax.random.fold_in(jax.random.key(seed), 0)
    features = Dictionary.draw(key, members, dimension, n_frequencies, "cosine")
    z = np.asarray(expert_forecasts(features, problem.X, problem.y, regularizer=1.0 / n_frequencies).vaw)
    losses, curves = (z - problem.y[:, None]) ** 2, {}
    best = int(losses.sum(axis=0).argmin())
    for name, (rule, bound) in SECOND_ORDER.items():
        own = (np.asarray(aggregate(rule, z, problem.y).predictions) - problem.y) ** 2
        r = own[:, None] - losses
        curves[f"{name}/regret"] = r[:, best].cumsum()
        curves[f"{name}/bound"] = np.asarray(bound(r))[:, best]
        curves[f"{name}/squares"] = (r[:, best] ** 2).cumsum()
    return curves


@jax.jit
def _play(frequencies, phases, X, y, own):
    def play(draw):
        frequencies, phases, X, y = draw
        regularizer = jnp.ones((), X.dtype) / frequencies.shape[1]

        def kernel(omega, b):
            return scan_blocks(Dictionary(omega[None], b[None]), X, y, regularizer, BLOCK_ROUNDS)[0].vaw

        z = jax.vmap(kernel)(frequencies, phases)
        return {
            CONCATENATED: scan_blocks(Dictionary(frequencies, phases), X, y, regularizer, BLOCK_ROUNDS)[0].vaw,
            TWO_LEVELS: scan_blocks(None, z.T, y, jnp.ones((), X.dtype), BLOCK_ROUNDS)[0].vaw,
            ONE: z[own],
        }

    return jax.lax.map(play, (frequencies, phases, X, y))


def round_cost(
    name: str, n_kernels: int, n_frequencies: int, dimension: int, is_timed: bool
) -> dict[str, float | None]:
    """Return the operations of one round, as XLA counts them in the compiled program, and perhaps its seconds.

    One round is a prediction and an update of the learner in float64, with m features (layout "cosine") for each
    kernel.
    """
    shape = n_kernels, n_frequencies
    dictionary = Dictionary(np.ones((*shape, dimension)), np.ones(shape))
    learner: Any = VAW(features=dictionary) if name == CONCATENATED else MultiKernel(dictionary, VAW())
    x, y, key = jnp.ones(dimension), jnp.ones(()), jax.random.key(0)
    specs = Specs(jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((), y.dtype))
    state = jax.eval_shape(lambda: learner.init(key, specs))  # counting needs shapes only

    def play_round(learner: Any, state: Any, x: Array, y: Array) -> Any:
        return learner.predict(key, state, x), learner.update(key, state, FullOracle(x, y))[0]

    compiled = jax.jit(play_round).lower(learner, state, x, y).compile()
    analysis: Any = compiled.cost_analysis()
    seconds = _seconds(compiled, (learner, learner.init(key, specs), x, y)) if is_timed else None
    return {"operations": float(analysis["flops"]), "seconds": seconds}


def _seconds(compiled: Any, arguments: Any, calls: int = 20, repetitions: int = 5) -> float:
    """Return the least mean time of a call, over a few repetitions."""
    best = np.inf
    for _ in range(repetitions):
        start = time.perf_counter()
        for _ in range(calls):
            result = compiled(*arguments)
        jax.block_until_ready(result)
        best = min(best, (time.perf_counter() - start) / calls)
    return best
