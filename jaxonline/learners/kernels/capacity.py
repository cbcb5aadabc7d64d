"""How much room a hypothesis of noisy feature vectors needs: sizes, and the probability that they do not suffice."""

from typing import Annotated

import numpy as np
from jaxtyping import Array, Float, Int

from jaxonline.estimators.count_distributions import CountDistribution, Geometric
from jaxonline.estimators.feature_maps import FeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.learners.kernels.expansion import chunks_of
from jaxonline.linalg.programs import run_compiled
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Interval, NonNegativeInt, Rounds
from jaxonline.parameters.validation import validate_arguments

_MAX_LEVELS = 512
_LARGEST_TENSOR = 4096


@struct
class Storage:
    """The sizes of a `NoisyKernel`'s state; `Storage.for_horizon` chooses them for a horizon and a risk.

    Args:
        tensor_levels: D; levels up to it are kept as tensors with d^n entries.
        deepest: the largest level of an estimate that is accepted.
        most_pairs: the largest number of pairs of an estimate, 0 for dot-product kernels.
        most_fresh: the largest number of fresh estimates in a round.
        n_chunks: room for the copies of deeper levels, in chunks of D + 1 copies.

    Example:
        >>> from jaxonline.learners import Storage
        >>> Storage(tensor_levels=2, deepest=20, most_pairs=20, most_fresh=20, n_chunks=50).n_chunks
        50
    """

    tensor_levels: NonNegativeInt = static()
    deepest: Count = static()
    most_pairs: NonNegativeInt = static()
    most_fresh: Count = static()
    n_chunks: Count = static()

    @classmethod
    @validate_arguments
    def for_horizon(
        cls,
        feature_map: FeatureMap,
        length: GradientLength,
        dimension: Count,
        n_rounds: Rounds,
        risk: Annotated[float, Interval(ge=1e-12, lt=1)] = 1e-6,
    ) -> "Storage":
        """The sizes with which a run of `n_rounds` overflows with a probability of about `risk`, or less.

        Args:
            feature_map: the estimator of the feature map.
            length: the estimator of the gradient's length.
            dimension: of the instances.
            n_rounds: the horizon.
            risk: the probability.

        Raises:
            ValueError: a law that asks for more than 511 copies, pairs or estimates too
                often for the horizon and the risk: the message says with which p or horizon it would do.

        Example:
            >>> from jaxonline.estimators.feature_maps import GaussianFeatureMap
            >>> from jaxonline.estimators.gradient_length import GradientLength
            >>> from jaxonline.estimators.count_distributions import Geometric
            >>> from jaxonline.kernels import Gaussian
            >>> from jaxonline.learners import Storage
            >>> from jaxonline.losses import Squared
            >>> feature_map = GaussianFeatureMap(Gaussian(2.0), Geometric(2.0))
            >>> length = GradientLength.for_loss(Squared(), Geometric(2.0), 1.0)
            >>> storage = Storage.for_horizon(feature_map, length, dimension=5, n_rounds=500)
            >>> storage.tensor_levels, storage.overflow_probability(feature_map, length, 500) < 1e-6
            (3, True)
        """
        estimates = n_rounds * (1.0 + _mean(length))
        deepest = _limit("feature_map must have a law", _level_law(feature_map), risk / 4, estimates, n_rounds)
        pairs, most_pairs = _pair_law(feature_map), 0
        if pairs is not None:
            most_pairs = _limit("feature_map must have a pair_law", pairs, risk / 4, estimates, n_rounds)
        most_fresh = _limit("length must have a law", length.series.law, risk / 4, n_rounds, n_rounds)
        plans = []
        for levels in range(deepest + 1):
            if dimension**levels > _LARGEST_TENSOR:
                break
            total = _chunk_distribution(feature_map, length, levels, deepest, n_rounds)
            beyond = np.cumsum(total[::-1])[::-1]
            n_chunks = max(1, int(np.sum(beyond > risk / 4)))
            floats = sum(dimension**n for n in range(levels + 1)) + n_chunks * ((levels + 1) * dimension + 1)
            plans.append((floats, levels, n_chunks))
        _, levels, n_chunks = min(plans)
        return cls(
            tensor_levels=levels,
            deepest=deepest,
            most_pairs=most_pairs,
            most_fresh=most_fresh,
            n_chunks=n_chunks,
        )

    def overflow_probability(self, feature_map: FeatureMap, length: GradientLength, n_rounds: int) -> float:
        """A bound on the probability that one run of `n_rounds` overflows."""
        estimates = n_rounds * (1.0 + _mean(length))
        pairs = _pair_law(feature_map)
        probability = estimates * _tail(_level_law(feature_map), self.deepest + 1)
        if pairs is not None:
            probability += estimates * _tail(pairs, self.most_pairs + 1)
        probability += n_rounds * _tail(length.series.law, self.most_fresh + 1)
        total = _chunk_distribution(feature_map, length, self.tensor_levels, self.deepest, n_rounds)
        return min(1.0, probability + float(total[self.n_chunks + 1 :].sum()))


def stores(length: GradientLength) -> float:
    """The probability that a round changes the hypothesis."""
    if float(np.asarray(length.series.constant)) != 0.0:
        return 1.0
    coefficients = np.asarray(length.series.coefficients)
    return float(np.exp(length.series.law.log_table(len(coefficients)))[coefficients != 0.0].sum())


def _tail(law: CountDistribution, n: int) -> float:
    """P(N >= n), as one program: operation by operation it would be six."""
    return float(run_compiled(_tail_of, law, n))


def _tail_of(law: CountDistribution, n: Int[Array, "*shape"]) -> Float[Array, "*shape"]:
    return law.tail(n)


def _mean(length: GradientLength) -> float:
    return length.series.law.mean()


def _level_law(feature_map: FeatureMap) -> CountDistribution:
    return feature_map.law  # type: ignore[attr-defined]


def _pair_law(feature_map: FeatureMap) -> CountDistribution | None:
    if not isinstance(feature_map, GaussianFeatureMap):
        return None
    return feature_map.law if feature_map.pair_law is None else feature_map.pair_law


def _limit(wanted: str, law: CountDistribution, risk: float, draws: float, n_rounds: int) -> int:
    """The smallest n, at least 1, with P(N > n) <= risk / draws.

    Raises:
        ValueError: it is not below 512.
    """
    probability = risk / draws
    likely = np.asarray(run_compiled(_tail_of, law, np.arange(1, _MAX_LEVELS + 1)), float) > probability
    if not likely[-1]:
        return max(1, int(np.argmin(likely)))
    found = _tail(law, _MAX_LEVELS)
    ways = [f"p at least {probability ** (-1 / _MAX_LEVELS):.3f}"] if isinstance(law, Geometric) else []
    longest = int(n_rounds * probability / found)
    ways += [f"n_rounds at most {longest:,}"] if longest else []
    raise ValueError(
        f"{wanted} that exceeds {_MAX_LEVELS - 1} with a probability of at most {probability:.2g} for n_rounds = "
        f"{n_rounds:,} and this risk (got {found:.2g})" + (f"; {' or '.join(ways)} would do" if ways else "")
    )


def _chunk_distribution(
    feature_map: FeatureMap, length: GradientLength, levels: int, deepest: int, n_rounds: int
) -> np.ndarray:
    """The law of the number of chunks stored in `n_rounds`, by the Fourier transform of that of one round.

    Levels beyond `deepest` are not stored.
    """
    n_levels = max(_MAX_LEVELS, deepest + 1)
    pmf = np.exp(_level_law(feature_map).log_table(n_levels))
    one = np.zeros(n_levels + 1)
    np.add.at(one, [chunks_of(n, levels) for n in range(n_levels)], stores(length) * pmf)
    one[0] += 1.0 - one.sum()
    mean = n_rounds * float(one @ np.arange(len(one)))
    spread = np.sqrt(n_rounds * float(one @ np.arange(len(one)) ** 2))
    size = 1 << int(np.ceil(np.log2(max(2 * len(one), mean + 40 * spread + 200))))
    return np.maximum(np.fft.irfft(np.fft.rfft(one, size) ** n_rounds, size), 0.0)
