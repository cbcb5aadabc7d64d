"""Second-order regret bounds of `MLPoly`, `MLProd` and `BOA`, computed from the instantaneous regrets of a run.

The instantaneous regret of expert k in round t is r_tk = (own loss) - (loss of expert k), V_tk is the sum of its
squares up to round t, and R_tk is the regret. The bounds need only that the own loss is at most the weighted mean of
the experts' losses, as for a convex loss. Losses may have any range, and the environment may react to the moves.

Gaillard, Stoltz and van Erven (2014) and Wintenberger (2017) prove bounds of the order of sqrt(V_Tk ln K) for similar
rules. The rules of this package are those of the `opera` package: their rates depend on the largest |r_tk| so far,
and a round is weighed with the rate after that round. So the theorems as published are not about them. The functions
here have the same proofs with the rates of the rules.

ML-Poly, rates n_t: since sum_k n_(t-1)k max(R_(t-1)k, 0) r_tk <= 0, the sum over k of n_tk max(R_tk, 0)^2 grows by at
most sum_k n_(t-1)k r_tk^2 in round t.

ML-Prod and BOA have weights proportional to n_(t-1)k exp(n_(t-1)k A_(t-1)k), where A is a sum of gains g. Let W_t be
the sum over k of exp(n_tk A_tk). Rates do not increase after round 1, and with a = n_(t-1) / n_t every x > 0 has x <=
x^a + (a - 1) a^(-a/(a-1)). This, and the inequality of the weighted mean, give W_t <= (1 + max_k c_tk) W_(t-1) +
sum_k b_tk, with b_tk and c_tk from n_(t-1), n_t and r_t. Finally A_tk <= ln W_t / n_tk, and r <= g / s + n r^2 with
the scale s = 1 of ML-Prod and s = 1/2 of BOA.
"""

import math

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.bounds.assumptions import assumes
from jaxonline.learners.experts.combiners import INITIAL_RATE
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import PositiveFloat
from jaxonline.parameters.validation import validate_arguments


@cites("gaillard2014second")
@assumes()
@validate_arguments
def ml_poly(regrets: Float[ArrayLike, "T K"], initial: PositiveFloat = INITIAL_RATE) -> Float[np.ndarray, "T K"]:
    """Regret bound of `MLPoly` to each expert after each round: sqrt((1/n_tk) sum over s <= t, j of n_(s-1)j r_sj^2).

    The rates are 1/n_tk = 1/initial + V_tk + (the largest squared r up to round t). If |r| <= E, the sum over s is at
    most (1 + E^2 initial) ln(1 + initial V_tj) for each expert j. With the default `initial` = 2^-20 the rates hardly
    change, so the bound is about sqrt(sum_j V_tj) until V is near 2^20. A bound that depends mainly on the V of its own
    expert needs `initial` near 1 / E^2.

    Args:
        regrets: instantaneous regrets r [T, K] of a run.
        initial: initial rate of the rule.

    Example:
        >>> from jaxonline.bounds import ml_poly
        >>> ml_poly([[0.5, -0.5], [0.5, -0.5]], initial=1.0).round(3).tolist()  # regrets 0.5 and 1 to expert 0
        [[0.866, 0.866], [1.208, 1.208]]
    """
    r = _checked(regrets)
    squares = r**2
    largest = np.maximum.accumulate(squares.max(axis=1))
    inverse = 1.0 / initial + np.cumsum(squares, axis=0) + largest[:, None]
    before = np.vstack([np.full((1, r.shape[1]), 1.0 / initial), inverse[:-1]])
    return np.sqrt(inverse * np.cumsum((squares / before).sum(axis=1))[:, None])


@cites("gaillard2014second")
@assumes()
@validate_arguments
def ml_prod(regrets: Float[ArrayLike, "T K"], initial: PositiveFloat = INITIAL_RATE) -> Float[np.ndarray, "T K"]:
    """Regret bound of `MLProd` to each expert after each round: ln W_t / n_tk + sum over s <= t of n_sk r_sk^2.

    The second term is at most 2 sqrt(V_tk ln K), and 1/n_tk = max(2 max |r|, sqrt(V_tk / ln K)). ln W_t is about ln K
    plus the logarithm of a logarithm of t. The module's documentation has the proof.

    Args:
        regrets: instantaneous regrets r [T, K] of a run.
        initial: initial value of the rule's ranges and sums of squares; 1 if losses are in [0, 1].

    Example:
        >>> from jaxonline.bounds import ml_prod
        >>> ml_prod([[0.5, -0.5], [0.5, -0.5]], initial=1.0).round(2).tolist()  # regrets 0.5 and 1 to expert 0
        [[1.51, 1.51], [1.64, 1.64]]
    """
    r = _checked(regrets)
    rates = np.minimum(0.5 / _ranges(r, initial), _root_rates(r, initial))
    return _potential_bound(r, rates, np.log1p(rates * r) / rates, scale=1.0)


@cites("wintenberger2017optimal")
@assumes()
@validate_arguments
def boa(regrets: Float[ArrayLike, "T K"], initial: PositiveFloat = INITIAL_RATE) -> Float[np.ndarray, "T K"]:
    """Regret bound of `BOA` to each expert after each round: 2 ln W_t / n_tk + sum over s <= t of n_sk r_sk^2.

    The second term is at most 2 sqrt(V_tk ln K), and 1/n_tk = max(B, sqrt(V_tk / ln K)), with B the largest |r| rounded
    up to a power of 2. The module's documentation has the proof.

    Args:
        regrets: instantaneous regrets r [T, K] of a run.
        initial: initial value of the rule's ranges and sums of squares; 1 if losses are in [0, 1].

    Example:
        >>> from jaxonline.bounds import boa
        >>> boa([[0.5, -0.5], [0.5, -0.5]], initial=1.0).round(2).tolist()  # regrets 0.5 and 1 to expert 0
        [[1.91, 1.91], [2.35, 2.35]]
    """
    r = _checked(regrets)
    ranges = 2.0 ** np.ceil(np.log2(_ranges(r, initial)))
    rates = np.minimum(1.0 / ranges, _root_rates(r, initial))
    gains = 0.5 * (r - rates * r**2 + np.where(rates * r > 0.5, ranges, 0.0))
    return _potential_bound(r, rates, gains, scale=0.5)


def _ranges(r: np.ndarray, initial: float) -> np.ndarray:
    return np.maximum(initial, np.maximum.accumulate(np.abs(r)))


def _root_rates(r: np.ndarray, initial: float) -> np.ndarray:
    return np.sqrt(math.log(r.shape[1]) / (initial + np.cumsum(r**2, axis=0)))


def _potential_bound(r: np.ndarray, rates: np.ndarray, gains: np.ndarray, scale: float) -> np.ndarray:
    """Return ln W_t / (scale n_t) + sum of n r^2, with W_t bounded from the rates n, the gains g and the regrets r."""
    before, after = rates[:-1], rates[1:]
    ratio = before / after
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        step = np.where(ratio > 1.0, (ratio - 1.0) * ratio ** (-ratio / (ratio - 1.0)), 0.0)
        # Two ways to pass from n_(t-1) to n_t: after and before the gain of the round; the smaller factor is used.
        late = np.expm1(before * gains[1:]) - scale * before * r[1:]
        growth = np.exp(after * gains[1:])
        early = growth - 1.0 - scale * before * r[1:]
        factors = np.maximum(np.minimum(late, early), 0.0).max(axis=1)
        steps = np.where(late <= early, step, step * growth).sum(axis=1)
        logarithms = [np.log(np.sum(np.exp(rates[0] * gains[0])))]
        for factor, addition in zip(np.log1p(factors), np.log(steps), strict=True):
            logarithms.append(np.logaddexp(logarithms[-1] + factor, addition))
    return np.array(logarithms)[:, None] / (scale * rates) + np.cumsum(rates * r**2, axis=0)


def _checked(regrets: ArrayLike) -> np.ndarray:
    r = check.finite_array("regrets", regrets, ndim=2).astype(float)
    if r.shape[0] < 1 or r.shape[1] < 2:
        raise ArgumentError("regrets", f"must have at least 1 round and 2 experts (got shape {r.shape})")
    return r
