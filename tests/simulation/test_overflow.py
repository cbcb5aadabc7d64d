"""Learners that run out of storage: such runs are counted, excluded from the means, and reported."""

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stores
from scipy import stats
from stopping import Stop, stop_after

import jaxonline as jo
from jaxonline.parameters.errors import OverflowWarning
from jaxonline.parameters.struct import struct
from jaxonline.results import Result
from jaxonline.simulation.blocks import default_mesh

ONE_DEVICE = default_mesh(jax.devices()[:1])
RUNS, ROUNDS, CAPACITY = 24, 30, 8
SHARE = 0.25


class StoringInfo(NamedTuple):
    overflow: jax.Array


@struct
class Storing(jo.Learner):
    """Always predicts 0. In a share of the rounds it wants to store something, and it has room for CAPACITY things."""

    share: float

    capacity_hint = "Storing takes no more than 8 things: ask for fewer"

    def init(self, key, specs):
        return jnp.int32(0)

    def predict(self, key, state, x):
        return jnp.zeros((), x.dtype)

    def update(self, key, state, oracle):
        stored = state + jax.random.bernoulli(key, self.share).astype(jnp.int32)
        return jnp.minimum(stored, CAPACITY), StoringInfo(stored > CAPACITY)

    def overflow_probability(self, n_rounds):
        return stats.binom.sf(CAPACITY, n_rounds, self.share)


@struct
class Silent(Storing):
    """The same without a word about it."""

    overflow_probability = jo.Learner.overflow_probability

    def update(self, key, state, oracle):
        return Storing.update(self, key, state, oracle)[0], ()


def study(learners=None, **options) -> Result:
    game = jo.Game(jo.environments.LinearModel(np.ones(2)), jo.FullInformation())
    options = {"n_runs": RUNS, "n_rounds": ROUNDS, "key": 2, "mesh": ONE_DEVICE, "record_at": 3, **options}
    return jo.simulate(game, learners or {"storing": Storing(SHARE)}, **options)


def quiet_study(learners=None, **options) -> Result:
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        return study(learners, **options)


def wanted_rounds(share: float) -> np.ndarray:
    """The first round in which more was stored than there is room for, from the keys alone; 0 without such a round."""

    def draws(run):
        key = jo.game.stream_keys(jax.random.fold_in(jax.random.key(2), run)).learner
        keys = [jax.random.fold_in(jax.random.fold_in(key, t), 1) for t in range(1, ROUNDS + 1)]
        return jnp.stack([jax.random.bernoulli(key, share) for key in keys])

    is_full = np.cumsum(jax.vmap(draws)(jnp.arange(RUNS)), axis=1) > CAPACITY
    return np.where(is_full[:, -1], np.argmax(is_full, axis=1) + 1, 0)


@pytest.fixture(scope="module")
def reference():
    return quiet_study(block_size=8)


@pytest.mark.long
def test_first_overflow_is_recorded_and_overflowed_runs_are_excluded_from_all_means(reference):
    wanted = wanted_rounds(SHARE)
    good = wanted == 0
    assert len(np.unique(wanted)) > 3, "in different rounds"
    np.testing.assert_array_equal(reference.first_overflow, wanted[None])
    assert (reference.overflowed.tolist(), reference.failed.tolist()) == ([(~good).sum()], [0])
    estimate, values = reference.mean("cumulative_loss"), reference.cumulative_loss[0, good]
    np.testing.assert_allclose(estimate.mean[0], values.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(estimate.standard_error[0], stats.sem(values), rtol=1e-12)
    assert (estimate.n_runs == good.sum()).all()
    quantiles = reference.quantiles(0.3, "cumulative_loss")[0]
    np.testing.assert_allclose(quantiles, np.quantile(values, 0.3, axis=0), rtol=1e-13)
    assert np.isfinite(reference.cumulative_loss).all(), "what was measured is still there"


@pytest.mark.long
def test_overflowed_runs_are_counted_in_tables_and_files(reference, tmp_path):
    result = quiet_study({"a": Silent(SHARE), "b": Storing(SHARE)}, comparator=jo.L2Ball(1.0))
    assert [row["overflowed"] for row in result.table()] == [0, reference.overflowed[0]]
    loaded = Result.load(result.save(tmp_path / "study.npz"))
    for other in (loaded, result):
        np.testing.assert_array_equal(other.first_overflow[1], reference.first_overflow[0])
        np.testing.assert_array_equal(other.select("b").first_overflow, reference.first_overflow)
    assert loaded.meta["overflow_probability"] == result.meta["overflow_probability"]


@pytest.mark.long
def test_overflow_warns_once_before_and_once_after_the_runs(reference):
    with pytest.warns(OverflowWarning) as caught:
        study({"storing": Storing(SHARE), "calm": Storing(0.01), "silent": Silent(SHARE)})
    start, end = (str(warning.message) for warning in caught)
    probability = stats.binom.sf(CAPACITY, ROUNDS, SHARE)
    assert probability > 0.01 > stats.binom.sf(CAPACITY, ROUNDS, 0.01)
    assert f"'storing' with probability {probability:.2g}" in start
    assert f"'storing' in {reference.overflowed[0]} of {RUNS} runs" in end
    assert all(text.endswith("ask for fewer") and text.count("ask for fewer") == 1 for text in (start, end))
    assert not any(name in text for name in ("calm", "silent") for text in (start, end))
    assert {warning.filename for warning in caught} == {__file__}, "they point to who called simulate"


def test_no_warning_without_overflow_and_the_probability_is_reported_at_the_start():
    seen, probability = [], stats.binom.sf(CAPACITY, ROUNDS, 1 / 32)
    result = study({"calm": Storing(1 / 32), "silent": Silent(SHARE)}, progress=lambda *each: seen.append(each))
    assert result.overflowed.tolist() == [0, 0]
    assert result.meta["overflow_probability"] == {"calm": probability}
    done, total, line = seen[0]
    assert (done, total) == (0, seen[-1][1])
    assert f"calm: out of storage with probability {probability:.2g} in a run of 30 rounds" in line


@pytest.mark.long
def test_overflow_probability_matches_the_observed_frequency():
    """The number of such runs among 800 is binomial with the stated probability; false alarm 1e-6. One that is off by a
    factor 1.5 is seen."""
    result = quiet_study(n_runs=800, record_at=1)
    stated, found = result.meta["overflow_probability"]["storing"], int(result.overflowed[0])
    assert stats.binomtest(found, 800, stated).pvalue > 1e-6
    assert stats.binomtest(found, 800, 1.5 * stated).pvalue < 1e-6
    assert stats.binomtest(found, 800, stated / 1.5).pvalue < 1e-6


@pytest.mark.long
def test_each_learner_of_a_sweep_reports_its_overflow_probability():
    shares = (0.0, SHARE, 0.5)
    sweep = jo.WithFeedback(jo.sweep({share: Storing(share) for share in shares}), jo.FullInformation())
    result = quiet_study({"s": sweep, "alone": jo.WithFeedback(Storing(SHARE), jo.FullInformation())})
    assert result.learners == ("s[0.0]", "s[0.25]", "s[0.5]", "alone")
    stated = result.meta["overflow_probability"]
    for name, share in zip(result.learners, (*shares, SHARE), strict=True):
        np.testing.assert_allclose(stated[name], stats.binom.sf(CAPACITY, ROUNDS, share), rtol=1e-6)
    for i, share in enumerate(shares):
        np.testing.assert_array_equal(result.first_overflow[i], wanted_rounds(share))
    np.testing.assert_array_equal(result.first_overflow[3], result.first_overflow[1])


def test_checkpoint_stores_first_overflow(reference, tmp_path):
    with warnings.catch_warnings(action="ignore"), pytest.raises(Stop):
        study(block_size=8, checkpoint=tmp_path, progress=stop_after(7))  # in the third block of three
    assert len(stores.finished(tmp_path)) == 2
    for _ in range(2):  # resumed, and read from disk alone
        with pytest.warns(OverflowWarning) as caught:
            result = study(block_size=8, checkpoint=tmp_path)
        assert f"in {reference.overflowed[0]} of {RUNS} runs" in str(caught[-1].message)
        np.testing.assert_array_equal(result.first_overflow, reference.first_overflow)
    with pytest.warns(OverflowWarning):
        replayed = study(block_size=8, runs=[20, 3])
    np.testing.assert_array_equal(replayed.first_overflow, reference.first_overflow[:, [20, 3]])


@struct
class Declares(Silent):
    overflow: Any = None
    probability: float = 0.0

    def update(self, key, state, oracle):
        return state, StoringInfo(self.overflow)

    def overflow_probability(self, n_rounds):
        return self.probability


def test_wrong_declarations_of_overflow_raise():
    with pytest.raises(TypeError, match="overflow"):
        study({"a": Declares(0.1, jnp.array([True, False]))})
    with pytest.raises(ValueError, match="overflow_probability of 'a'"):
        study({"a": Declares(0.1, None, 1.5)})
    assert quiet_study({"a": Declares(0.1)}).overflowed.tolist() == [0]
