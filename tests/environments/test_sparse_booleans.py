"""Sparse boolean instances: labels by hand, Winnow's bound in every run, and halving over all rules."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Int

import jaxonline as jo
from jaxonline import bounds
from jaxonline.environments import SparseBooleans
from jaxonline.learners import Halving, Perceptron, Winnow, WithFeatures
from jaxonline.losses import ZeroOne

pytestmark = pytest.mark.fast_compile
D, T, RUNS = 12, 400, 16


def histories(learner, k, r, presence=0.3, d=D):
    game = jo.Game(SparseBooleans(d, k, r, presence), jo.FullInformation(), loss=ZeroOne())
    keys = jax.random.split(jax.random.key(5), RUNS)
    return jax.jit(jax.vmap(lambda key: jo.play(game, learner, key, T)[1]))(keys)


@jo.struct
class AllRules:
    """The advice [K] of all rules "at least r of these attributes" for sets of attributes [K, k]."""

    sets: Int[Array, "K k"]
    n_required: int = jo.static()

    def __call__(self, x):
        return jnp.where(jnp.sum(x[self.sets], axis=1) >= self.n_required, 1.0, -1.0)


def test_the_relevant_attributes_are_all_sets_without_the_last_attribute():
    """Each of the 10 sets occurs in 2,000 runs; its share is within 6 standard errors of 1/10 (false alarm 1e-8)."""
    keys = jax.random.split(jax.random.key(2), 2000)
    drawn = np.sort(jax.jit(jax.vmap(lambda key: SparseBooleans(6, 2).init(key).relevant))(keys), axis=1)
    sets, counts = np.unique(drawn, axis=0, return_counts=True)
    assert sets.tolist() == [list(pair) for pair in itertools.combinations(range(5), 2)]
    assert (np.abs(counts - 200) < 6 * math.sqrt(180)).all()


@pytest.mark.long
@pytest.mark.parametrize(("k", "r"), [(2, 1), (3, 2)])
def test_labels_follow_one_set_of_attributes_and_mistakes_are_below_the_bounds(k, r):
    """In every run exactly one of all sets of k attributes explains the labels, and it lacks the last attribute.

    The presence of an attribute is within 6 standard errors of 0.3 (false alarm 1e-8). Winnow's mistakes are at most
    its bound in every run. Halving errs in the same rounds as a NumPy loop over the sets."""
    promotion = 2.0 if r == 1 else 1 + 1 / (2 * r)
    history = histories(Winnow(promotion), k, r)
    X, y = np.asarray(history.x), np.asarray(history.y)
    assert (X[..., -1] == 1).all()
    assert set(np.unique(X)) == {0.0, 1.0}
    mean = X[..., :-1].mean()
    assert abs(mean - 0.3) < 6 * math.sqrt(0.3 * 0.7 / X[..., :-1].size)
    mistakes = np.asarray(history.loss).sum(axis=1)
    assert 5 < mistakes.max() <= bounds.winnow(D, k, promotion, n_required=r)
    halving = histories(WithFeatures(Halving(), AllRules(np.array(list(itertools.combinations(range(D), k))), r)), k, r)
    np.testing.assert_array_equal(halving.y, y)
    sets = [frozenset(s) for s in itertools.combinations(range(D), k)]
    for run in range(RUNS):
        rules = {s: np.where(X[run][:, sorted(s)].sum(axis=1) >= r, 1.0, -1.0) for s in sets}
        (truth,) = [s for s, labels in rules.items() if (labels == y[run]).all()]
        assert D - 1 not in truth
        alive, made = set(sets), []
        for t in range(T):
            made.append(not y[run][t] * sum(rules[s][t] for s in alive) > 0)
            alive = {s for s in alive if rules[s][t] == y[run][t]}
        np.testing.assert_array_equal(np.asarray(halving.loss)[run], made)
        assert sum(made) <= bounds.halving(math.comb(D, k))


@pytest.mark.long
def test_perceptron_is_below_its_bound_but_above_that_of_winnow():
    """Two of 100 attributes: in every run the perceptron makes more mistakes than Winnow may make."""
    d = 100
    perceptron = np.asarray(histories(Perceptron(), 2, 1, d=d).loss).sum(axis=1)
    winnow = np.asarray(histories(Winnow(), 2, 1, d=d).loss).sum(axis=1)
    assert winnow.max() <= bounds.winnow(d, 2) < perceptron.min()
    assert perceptron.max() <= bounds.perceptron(math.sqrt(d), 0.5 / math.sqrt(2 + 0.25))


def test_winnow_bound_of_threshold_functions_is_below_that_of_littlestone():
    """Littlestone (1988): 8 r^2 + 5 k + 14 k r ln d mistakes at most for the promotion 1 + 1/(2 r) and threshold d.

    With r = 1 the bound for any promotion is that of disjunctions, Blum (1998)."""
    for d in (10, 100, 10_000):
        for r in (1, 2, 3, 7):
            for k in {r, min(2 * r, d)}:
                ours = bounds.winnow(d, k, 1 + 1 / (2 * r), n_required=r)
                assert ours <= 8 * r**2 + 5 * k + 14 * k * r * math.log(d)
    assert bounds.winnow(64, 3, 1.5, 8.0) == pytest.approx(2.5 * 3 * (1 + math.log(8) / math.log(1.5)) + 3 * 64 / 8)
