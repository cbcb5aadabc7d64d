"""One noisy copy is not enough: Theorem 3 played by the learners of the library, in both of its worlds.

In the world without noise instances are 3e or -e; in the one with noise they are e and a noisy copy is 3e or -e. A
learner that takes one copy a round and is not told the noise plays the same in both, in law, and so its regret against
linear predictors is at least `unavoidable_regret` times T in one of them. Learners that take two copies, or are told
the covariance, can tell the worlds apart.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Theorem 3.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key
from scipy import stats

from jaxonline._util import check
from jaxonline._util.struct import replace
from jaxonline.claims import PrintedKnownCovariance
from jaxonline.comparators import L2Ball
from jaxonline.environments import DataStream
from jaxonline.environments.adversaries import indistinguishable_pair, unavoidable_regret
from jaxonline.estimators import FourierFeatures, KnownCovariance, MeanOfCopies, NaiveCopy, TwoCopies
from jaxonline.estimators.feature_maps import DotProductFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.laws import Geometric, Law
from jaxonline.game import Entrant, Game, play
from jaxonline.kernels import Gaussian, Inhomogeneous, Linear
from jaxonline.learners import Constant, GradientLearner, InverseSqrt
from jaxonline.learners.featured import WithFeatures
from jaxonline.learners.kernel_gradient import KernelGradient
from jaxonline.learners.noisy_kernel import NoisyKernel, Storage
from jaxonline.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared
from jaxonline.results import Result
from jaxonline.simulation import simulate

RADIUS = 2.0  # of the balls of learners and comparator; the best predictors are e/5 and e
SECOND_MOMENT = 5.0  # of a copy
ONE, TOLD, TWO = "one copy", "one copy, covariance told", "two copies"
MEAN, OTHER = "mean of copies as if clean", "one copy, not a linear predictor"
KINDS = (ONE, TOLD, TWO, MEAN, OTHER)
WORLDS = ("without_noise", "with_noise")
_ALIKE = "one copy", "two copies"  # whose hypotheses are compared between the worlds
_ALIKE_ROUNDS = 400
_BLOCK = 128  # runs: two blocks for the default number of runs, so that two cores are busy
_SEGMENTS = 80  # of the horizon, each of which ends with a possible recorded round
_ADAM = optax.adam(1.0)


class Alike(NamedTuple):
    """Whether the hypotheses of a learner, at e, have the same law in both worlds.

    Attributes:
        rounds: after how many rounds.
        means: of the hypotheses without and with noise.
        difference: of the means, with noise minus without.
        low: lower end of its interval.
        high: upper end of its interval.
        p_value: of the two-sample Kolmogorov-Smirnov test, small where the laws differ.

    Example:
        >>> from jaxonline.study.ready.impossibility import Alike
        >>> Alike(400, (0.2, 1.0), 0.8, 0.7, 0.9, 1e-9).difference
        0.8
    """

    rounds: int
    means: tuple[float, float]
    difference: float
    low: float
    high: float
    p_value: float


class Impossibility(NamedTuple):
    """What the study brings.

    Attributes:
        without_noise: the numbers of the world without noise.
        with_noise: those of the world with noise.
        kinds: of the learners, by name: one of `KINDS`.
        unavoidable: the regret a round that no learner of kind `ONE` avoids in both worlds.
        alike: what one of the learners with one copy, and one with two, play in both worlds.

    Example:
        >>> from jaxonline.study.ready.impossibility import Impossibility
        >>> Impossibility._fields
        ('without_noise', 'with_noise', 'kinds', 'unavoidable', 'alike')
    """

    without_noise: Result
    with_noise: Result
    kinds: dict[str, str]
    unavoidable: float
    alike: dict[str, Alike]


def learners(n_rounds: int, told: Any) -> dict[str, tuple[str, Any]]:
    """The learners of the study by name, each with its kind.

    Left out are learners that need other answers than copies (full information, attributes, experts; VAW and online
    ridge read the instance itself), `MeanOfCopies(1)`, which is `NaiveCopy`, and `SurrogateKernel`, which is for
    Gaussian noise and takes two copies. Losses other than the squared one are what the learner descends; it is judged
    by the squared loss like all others. "constant steps" are eta / sqrt(T). "Algorithm 1" takes one copy and a
    geometric number of others, two in the mean.

    Args:
        n_rounds: the horizon, for which some have room or a step size.
        told: the feedback of those that are told the covariance.

    Example:
        >>> from jaxonline.environments.adversaries import indistinguishable_pair
        >>> from jaxonline.study.ready.impossibility import learners
        >>> worlds = indistinguishable_pair(reveal_covariance=True)
        >>> [name for name, (kind, _) in learners(100, worlds.with_noise.feedback).items() if kind == "two copies"]
        ['two copies', 'two copies, averaged', 'Algorithm 1, linear kernel']
    """

    def gradient(estimator: Any, eta: float = 0.05, **options: Any) -> GradientLearner:
        return GradientLearner(estimator, **{"step_size": InverseSqrt(eta), "radius": RADIUS, **options})

    def kernel(kernel: Any, radius: float | None) -> KernelGradient:
        return KernelGradient(kernel, NaiveCopy(), step_size=InverseSqrt(0.05), n_rounds=n_rounds, radius=radius)

    def informed(estimator: Any) -> Entrant:
        return Entrant(gradient(estimator), told)

    feature_map = DotProductFeatureMap(Linear(), Law([0.0, 1.0]))
    factor = (RADIUS * SECOND_MOMENT**0.5 + 1.0) ** 2  # bounds E (<w, x~> - 1)^2
    length = GradientLength.of(Squared(), Geometric(2.0), second_moment=factor)
    storage = Storage.of(feature_map, length, dimension=1, n_rounds=n_rounds)
    algorithm_1 = NoisyKernel(feature_map, length, step_size=InverseSqrt(0.025), radius=RADIUS, storage=storage)
    features = FourierFeatures.draw(jax.random.key(0), Gaussian(2.0), dimension=1, n_frequencies=400)
    fourier = WithFeatures(gradient(NaiveCopy(), 0.3, radius=None), features)
    return {
        "one copy": (ONE, gradient(NaiveCopy())),
        "one copy, averaged": (ONE, gradient(NaiveCopy(), hypothesis="average")),
        "one copy, constant steps": (ONE, gradient(NaiveCopy(), step_size=Constant.over_horizon(0.2, n_rounds))),
        "one copy, Adam": (ONE, gradient(NaiveCopy(), 0.1, optimizer=_ADAM)),
        "one copy, linear kernel": (ONE, kernel(Linear(), RADIUS)),
        "one copy, absolute loss": (ONE, gradient(NaiveCopy(SmoothedAbsolute(1.0)), 0.1)),
        "one copy, exponential loss": (ONE, gradient(NaiveCopy(Exponential()))),
        "one copy, hinge loss": (ONE, gradient(NaiveCopy(SmoothedHinge(1.0)), 0.1)),
        "one copy, logistic loss": (ONE, gradient(NaiveCopy(Logistic()), 0.3)),
        "covariance told": (TOLD, informed(KnownCovariance())),
        "told, as printed": (TOLD, informed(PrintedKnownCovariance())),
        "two copies": (TWO, gradient(TwoCopies())),
        "two copies, averaged": (TWO, gradient(TwoCopies(), hypothesis="average")),
        "Algorithm 1, linear kernel": (TWO, algorithm_1),
        "mean of 2 copies": (MEAN, gradient(MeanOfCopies(2))),
        "mean of 5 copies": (MEAN, gradient(MeanOfCopies(5))),
        "mean of 20 copies": (MEAN, gradient(MeanOfCopies(20))),
        "one copy, affine kernel": (OTHER, kernel(Inhomogeneous(1), None)),
        "one copy, Fourier features": (OTHER, fourier),
    }


def impossibility(
    n_runs: int = 256,
    n_rounds: int = 3000,
    seed: int = 0,
    progress: bool | Callable[[int, int, str], None] = False,
    only: tuple[str, ...] | None = None,
) -> Impossibility:
    """Play the study in both worlds. Regret is against the best linear predictor with |w| <= 2.

    The covariance is revealed to learners of kind `TOLD` alone: the feedback of the others hides it.

    Args:
        n_runs: runs of each learner in each world, at least 2.
        n_rounds: the horizon, at least 16.
        seed: of all randomness.
        progress: as in `simulate`.
        only: names of learners, to play no others.

    Raises:
        ValueError: for too few runs or rounds, or an unknown learner.

    Example:
        >>> from jaxonline.study.ready.impossibility import impossibility
        >>> study = impossibility(n_runs=8, n_rounds=200, only=("one copy", "two copies"))
        >>> study.alike["two copies"].difference > 0.5
        True
    """
    check.count("n_runs", n_runs, ge=2)
    check.count("n_rounds", n_rounds, ge=16)
    segment = max(1, n_rounds // _SEGMENTS)
    record_at = (segment * np.unique(np.geomspace(1, n_rounds // segment, 24).round().astype(int))).tolist()
    games, told = _as_one_program(False), _as_one_program(True)
    results, alike, kinds = [], {}, {}
    with jax.numpy_dtype_promotion("standard"):  # parts of optax do not run under a stricter one
        for game, open_game in zip(games, told, strict=True):
            known = learners(n_rounds, open_game.feedback)
            unknown = set(only or ()) - set(known)
            if unknown:
                raise ValueError(f"only must be names of learners ({', '.join(known)}), got {sorted(unknown)[0]!r}")
            played = {name: entry for name, entry in known.items() if only is None or name in only}
            kinds = {name: kind for name, (kind, _) in played.items()}
            own = {name: learner for name, (_, learner) in played.items()}
            options = {"key": seed, "record_at": record_at, "block_size": min(_BLOCK, n_runs), "progress": progress}
            results.append(simulate(game, own, n_runs=n_runs, n_rounds=n_rounds, comparator=L2Ball(RADIUS), **options))
        for name in _ALIKE:
            if name in kinds:
                learner, rounds = learners(n_rounds, None)[name][1], min(n_rounds, _ALIKE_ROUNDS)
                alike[name] = _alike(games, learner, rounds, n_runs, jax.random.key(seed))
    return Impossibility(results[0], results[1], kinds, unavoidable_regret(RADIUS), alike)


def _as_one_program(reveal_covariance: bool) -> tuple[Game, Game]:
    """The two worlds, each drawn from two rows (with noise, twice the same), so that they are compiled once."""
    pair = indistinguishable_pair(reveal_covariance=reveal_covariance)
    x = pair.with_noise.environment.X
    twice = DataStream(jnp.concatenate([x, x]), jnp.ones(2, x.dtype), order="iid")
    return pair.without_noise, replace(pair.with_noise, environment=twice)


def _alike(games: Any, learner: GradientLearner, rounds: int, n_runs: int, key: jax.Array) -> Alike:
    without, with_noise = (
        np.asarray(_hypotheses(game, learner, rounds, n_runs, jax.random.fold_in(key, i)), float)
        for i, game in enumerate(games)  # keys of their own: the two samples are independent
    )
    difference = float(with_noise.mean() - without.mean())
    interval = stats.ttest_ind(with_noise, without, equal_var=False).confidence_interval(0.95)
    test: Any = stats.ks_2samp(with_noise, without)
    means = float(without.mean()), float(with_noise.mean())
    return Alike(rounds, means, difference, float(interval.low), float(interval.high), float(test.pvalue))


@jax.jit(static_argnames=("rounds", "n_runs"))
def _hypotheses(
    game: Game, learner: GradientLearner, rounds: int, n_runs: int, key: Key[Array, ""]
) -> Float[Array, "n_runs"]:
    def hypothesis(run):
        state, _ = play(game, learner, jax.random.fold_in(key, run), rounds)
        return state.w[0]

    return jax.vmap(hypothesis)(jnp.arange(n_runs, dtype=jnp.int32))
