"""Storage of `NoisyKernel`: sizes for a horizon, and the probability that these sizes do not suffice."""

from typing import Annotated

import numpy as np
from jaxtyping import Array, Float, Int

from jaxonline.estimators.count_distributions import Geometric
from jaxonline.estimators.count_protocol import CountDistribution
from jaxonline.estimators.feature_maps import FeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.paired_feature_maps import PairedFeatureMap
from jaxonline.learners.kernels.expansion import count_chunks
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Interval, NonNegativeInt, Rounds

_MAX_LEVELS = 512
_MAX_TENSOR_ENTRIES = 4096


@struct
class Storage:
    """Sizes of the state of `NoisyKernel`; `Storage.for_horizon` chooses the sizes for a horizon and a risk.

    Args:
        tensor_levels: D; the parts of the hypothesis at levels n <= D are stored as tensors with d^n entries.
        deepest: largest accepted level of an estimate.
        most_pairs: largest number of pairs of an estimate, 0 for dot-product kernels.
        most_fresh: largest number of fresh estimates of a pair (those for the gradient's length).
        n_chunks: number of chunks, with D + 1 copies each, for the levels above D.

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
        repetitions: Count = 1,
    ) -> "Storage":
        """Return sizes with which a run of `n_rounds` overflows with a probability of about `risk` or less.

        Args:
            feature_map: estimator of the feature map.
            length: estimator of the gradient's length.
            dimension: dimension of the instances.
            n_rounds: horizon.
            risk: accepted probability of an overflow. If a distribution exceeds 511 copies, pairs or estimates too
                often, a ValueError states a p or a horizon that suffices.
            repetitions: number of pairs (g~, Psi~) in a round (`NoisyKernel.repetitions`).

        Example:
            >>> import jaxonline as jo
            >>> from jaxonline.estimators.count_distributions import Geometric
            >>> from jaxonline.estimators.feature_maps import GaussianFeatureMap
            >>> from jaxonline.estimators.gradient_length import GradientLength
            >>> feature_map = GaussianFeatureMap(jo.kernels.Gaussian(2.0), Geometric(2.0))
            >>> length = GradientLength.for_loss(jo.losses.Squared(), Geometric(2.0), 1.0)
            >>> storage = jo.learners.Storage.for_horizon(feature_map, length, dimension=5, n_rounds=500)
            >>> storage.tensor_levels, storage.overflow_probability(feature_map, length, 500) < 1e-6
            (3, True)
        """
        n_pairs = n_rounds * repetitions  # of g~ and Psi~
        estimates = n_pairs * (1.0 + _mean(length))
        deepest = _limit("law of feature_map", _level_distribution(feature_map), risk / 4, estimates, n_rounds)
        pairs, most_pairs = _pair_distribution(feature_map), 0
        if pairs is not None:
            most_pairs = _limit("pair_law of feature_map", pairs, risk / 4, estimates, n_rounds)
        most_fresh = _limit("law of length", length.series.law, risk / 4, n_pairs, n_rounds)
        plans = []
        for levels in range(deepest + 1):
            if dimension**levels > _MAX_TENSOR_ENTRIES:
                break
            total = _chunk_distribution(feature_map, length, levels, deepest, n_pairs)
            tails = np.cumsum(total[::-1])[::-1]
            n_chunks = max(1, int(np.sum(tails > risk / 4)))
            tensors = sum(dimension**n for n in range(levels + 1))
            floats = tensors + n_chunks * ((levels + 1) * dimension + 1)
            plans.append((floats, levels, n_chunks))
        _, levels, n_chunks = min(plans)
        return cls(
            tensor_levels=levels,
            deepest=deepest,
            most_pairs=most_pairs,
            most_fresh=most_fresh,
            n_chunks=n_chunks,
        )

    def overflow_probability(
        self, feature_map: FeatureMap, length: GradientLength, n_rounds: int, repetitions: int = 1
    ) -> float:
        """Return a bound on the probability that a run of `n_rounds` overflows."""
        n_pairs = n_rounds * repetitions
        estimates = n_pairs * (1.0 + _mean(length))
        pairs = _pair_distribution(feature_map)
        probability = estimates * _tail(_level_distribution(feature_map), self.deepest + 1)
        if pairs is not None:
            probability += estimates * _tail(pairs, self.most_pairs + 1)
        probability += n_pairs * _tail(length.series.law, self.most_fresh + 1)
        total = _chunk_distribution(feature_map, length, self.tensor_levels, self.deepest, n_pairs)
        return min(1.0, probability + float(total[self.n_chunks + 1 :].sum()))


def _update_probability(length: GradientLength) -> float:
    """Return the probability that a pair changes the hypothesis."""
    if float(np.asarray(length.series.constant)) != 0.0:
        return 1.0
    coefficients = np.asarray(length.series.coefficients)
    return float(np.exp(length.series.law.log_table(len(coefficients)))[coefficients != 0.0].sum())


def _tail(distribution: CountDistribution, n: int) -> float:
    """Return P(N >= n) for a distribution of N, computed as one compiled program."""
    return float(run_compiled(_tail_of, distribution, n))


def _tail_of(distribution: CountDistribution, n: Int[Array, "*shape"]) -> Float[Array, "*shape"]:
    return distribution.tail(n)


def _mean(length: GradientLength) -> float:
    return length.series.law.mean()


def _level_distribution(feature_map: FeatureMap) -> CountDistribution:
    return feature_map.law  # type: ignore[attr-defined]


def _pair_distribution(feature_map: FeatureMap) -> CountDistribution | None:
    return feature_map.pair_distribution() if isinstance(feature_map, PairedFeatureMap) else None


def _limit(argument: str, distribution: CountDistribution, risk: float, draws: float, n_rounds: int) -> int:
    """Return the smallest n >= 1 with P(N > n) <= risk / draws; raise a ValueError if n is not below 512."""
    probability = risk / draws
    is_likely = np.asarray(run_compiled(_tail_of, distribution, np.arange(1, _MAX_LEVELS + 1)), float) > probability
    if not is_likely[-1]:
        return max(1, int(np.argmin(is_likely)))
    actual = _tail(distribution, _MAX_LEVELS)
    remedies = [f"p at least {probability ** (-1 / _MAX_LEVELS):.3f}"] if isinstance(distribution, Geometric) else []
    max_rounds = int(n_rounds * probability / actual)
    remedies += [f"n_rounds at most {max_rounds:,}"] if max_rounds else []
    raise ValueError(
        f"{argument}: exceeds {_MAX_LEVELS - 1} too often for n_rounds = {n_rounds:,} and this risk (must be at most "
        f"{probability:.2g} (got {actual:.2g}))" + (f"; use {' or '.join(remedies)}" if remedies else "")
    )


def _chunk_distribution(
    feature_map: FeatureMap, length: GradientLength, levels: int, deepest: int, n_pairs: int
) -> np.ndarray:
    """Return the distribution of the number of chunks stored for `n_pairs`; levels beyond `deepest` are not stored."""
    n_levels = max(_MAX_LEVELS, deepest + 1)
    pmf = np.exp(_level_distribution(feature_map).log_table(n_levels))
    one = np.zeros(n_levels + 1)
    np.add.at(one, [count_chunks(n, levels) for n in range(n_levels)], _update_probability(length) * pmf)
    one[0] += 1.0 - one.sum()
    mean = n_pairs * float(one @ np.arange(len(one)))
    spread = np.sqrt(n_pairs * float(one @ np.arange(len(one)) ** 2))
    size = 1 << int(np.ceil(np.log2(max(2 * len(one), mean + 40 * spread + 200))))
    return np.maximum(np.fft.irfft(np.fft.rfft(one, size) ** n_pairs, size), 0.0)
