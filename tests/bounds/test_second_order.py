"""Second-order bounds of ML-Poly, ML-Prod and BOA: no run of a NumPy loop exceeds them, but wrong versions of them."""

import numpy as np
import pytest
from references.combiners import weights_of

from jaxonline.bounds import boa, ml_poly, ml_prod

BOUNDS = {"ml-poly": ml_poly, "ml-prod": ml_prod, "boa": boa}
STARTS = (2.0**-20, 1.0)


def losses_of(kind, T, K, seed):
    """Losses [T, K] of experts; the range of "heavy" and "jumps" is not bounded beforehand."""
    rng = np.random.default_rng(seed)
    if kind == "coins":
        return rng.integers(0, 2, size=(T, K)).astype(float)
    if kind == "gap":
        return rng.uniform(size=(T, K)) * np.linspace(0.2, 1.0, K)
    if kind == "heavy":
        return rng.standard_t(2.0, size=(T, K))
    if kind == "jumps":
        return rng.uniform(size=(T, K)) * 10.0 ** rng.integers(-6, 3, size=(T, K))
    if kind == "late":  # nothing happens in the first half
        return np.where(np.arange(T)[:, None] < T // 2, 0.0, rng.uniform(size=(T, K)))
    return np.where(np.arange(K) == (np.arange(T) // 50)[:, None] % K, 0.0, 1.0)  # "blocks": the best expert changes


def regrets_of(rule, losses, start):
    weights = weights_of(rule, losses, start=start)
    return (weights * losses).sum(axis=1)[:, None] - losses


@pytest.mark.parametrize("rule", BOUNDS)
@pytest.mark.parametrize("kind", ["coins", "gap", "heavy", "jumps", "late", "blocks"])
def test_every_regret_is_below_the_bound_in_every_round(rule, kind):
    for start in STARTS:
        for K, seed in ((2, 0), (40, 2)):
            r = regrets_of(rule, losses_of(kind, 400, K, seed), start)
            limit = BOUNDS[rule](r, start)
            assert np.isfinite(limit).all()
            assert (np.cumsum(r, axis=0) <= limit + 1e-9 * (1 + np.abs(limit))).all()


def adversarial_losses(rule, T, K, start):
    """In each round the loss is 1 for the expert with the largest weight, 0 for others: regrets grow as sqrt(T)."""
    losses = np.zeros((T, K))
    for t in range(T):
        losses[t, weights_of(rule, losses[: t + 1], start=start)[t].argmax()] = 1.0
    return losses


@pytest.mark.long
@pytest.mark.parametrize("rule", BOUNDS)
def test_an_adversary_does_not_exceed_the_bounds_but_wrong_versions(rule):
    """Without the sum over the experts (ML-Poly), without ln W (ML-Prod, BOA), the bounds are exceeded; and a rule that
    follows the worst expert exceeds the right bounds."""
    for start in STARTS:
        losses = adversarial_losses(rule, 150, 5, start)
        r = regrets_of(rule, losses, start)
        assert (np.cumsum(r, axis=0) <= BOUNDS[rule](r, start) + 1e-9).all()
    r = regrets_of(rule, losses_of("gap", 400, 40, 1), 1.0)
    limit, regret = BOUNDS[rule](r, 1.0), np.cumsum(r, axis=0)
    K = r.shape[1]
    if rule == "ml-poly":
        wrong = limit / np.sqrt(K)
    else:
        square_roots = 1.0 + np.cumsum(r**2, axis=0)
        rates = np.minimum(0.5 if rule == "ml-prod" else 1.0, np.sqrt(np.log(K) / square_roots))
        wrong = np.cumsum(rates * r**2, axis=0)
        assert (wrong < limit).all()
    assert (regret > wrong + 1e-6).any()
    losses = losses_of("gap", 400, 10, 1)
    follower = losses[:, -1:] - losses
    assert (np.cumsum(follower, axis=0) > BOUNDS[rule](follower, 1.0)).any()


@np.errstate(over="ignore")
def bound_by_loops(rule, r, start):
    """The bounds of the last round from the proofs in `jaxonline/bounds/experts.py`, entry by entry."""
    T, K = r.shape
    V = start + np.array([[(r[: t + 1, k] ** 2).sum() for k in range(K)] for t in range(T)])
    if rule == "ml-poly":
        inverse = [np.full(K, 1 / start)] + [1 / start + V[t] - start + (r[: t + 1] ** 2).max() for t in range(T)]
        return np.sqrt(inverse[-1] * sum(r[t, k] ** 2 / inverse[t][k] for t in range(T) for k in range(K)))
    ranges = np.array([[max(start, np.abs(r[: t + 1, k]).max()) for k in range(K)] for t in range(T)])
    if rule == "boa":
        ranges = 2.0 ** np.ceil(np.log2(ranges))
    scale, smallest = {"boa": (0.5, 1.0), "ml-prod": (1.0, 0.5)}[rule]
    n = np.minimum(smallest / ranges, np.sqrt(np.log(K) / V))
    gains = np.log(1 + n * r) / n if rule == "ml-prod" else (r - n * r**2 + np.where(n * r > 0.5, ranges, 0.0)) / 2
    W = np.exp(n[0] * gains[0]).sum()
    for t in range(1, T):
        factor, rest = 0.0, 0.0
        for k in range(K):
            before, after, gain = n[t - 1, k], n[t, k], gains[t, k]
            a = before / after
            step = (a - 1) / a ** (a / (a - 1)) if a > 1 else 0.0
            growth = np.exp(after * gain)
            late, early = np.exp(before * gain) - 1 - scale * before * r[t, k], growth - 1 - scale * before * r[t, k]
            factor, rest = max(factor, min(late, early)), rest + (step if late <= early else step * growth)
        W = (1 + factor) * W + rest
    return np.log(W) / (scale * n[-1]) + (n * r**2).sum(axis=0)


@pytest.mark.parametrize("rule", BOUNDS)
@pytest.mark.parametrize("kind", ["gap", "heavy", "jumps"])
def test_bounds_equal_a_loop(rule, kind):
    """Also in the first round, of which they are ln W_1 and a square."""
    for start in (0.3, 1.0):
        r = regrets_of(rule, losses_of(kind, 30, 4, 5), start)
        limit = BOUNDS[rule](r, start)
        for t in (1, 2, 30):
            np.testing.assert_allclose(limit[t - 1], bound_by_loops(rule, r[:t], start), rtol=1e-9)


def test_closed_forms_for_losses_in_the_unit_interval():
    """ML-Poly: sqrt((2 + V) 2 K ln(1 + T)). ML-Prod: on these runs the bound is below that of Adapt-ML-Prod
    (Gaillard, Stoltz and van Erven 2014, Corollary 4), which has the same order sqrt(V ln K) and larger constants."""
    K, T = 10, 2000
    for kind in ("coins", "gap", "blocks"):
        r = regrets_of("ml-poly", losses_of(kind, T, K, 3), 1.0)
        V = (r**2).sum(axis=0)
        assert (ml_poly(r, 1.0)[-1] <= np.sqrt((2 + V) * 2 * K * np.log(1 + T))).all()
        r = regrets_of("ml-prod", losses_of(kind, T, K, 3), 1.0)
        V = (r**2).sum(axis=0)
        C = 3 * np.log(K) + np.log(1 + K / (2 * np.e) * (1 + np.log(T + 1)))
        published = C / np.sqrt(np.log(K)) * np.sqrt(1 + V) + 2 * C
        ratio = ml_prod(r, 1.0)[-1] / published
        assert ((ratio > 0.1) & (ratio < 1.0)).all()
