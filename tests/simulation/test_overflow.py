"""Learners that run out of storage: such runs are counted, excluded from the means, and reported."""

import warnings
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stores
from scipy import stats

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
class Silent(jo.Learner):
    """The same without a word about it."""

    share: float

    init = Storing.init
    predict = Storing.predict

    def update(self, key, state, oracle):
        return Storing.update(self, key, state, oracle)[0], ()


def game() -> jo.Game:
    return jo.Game(jo.environments.LinearModel(np.ones(2)), jo.FullInformation())


def study(learners=None, **options) -> Result:
    options = {"n_runs": RUNS, "n_rounds": ROUNDS, "key": 2, "mesh": ONE_DEVICE, "record_at": 3, **options}
    return jo.simulate(game(), {"storing": Storing(SHARE)} if learners is None else learners, **options)


def quiet_study(learners=None, **options) -> Result:
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        return study(learners, **options)


def wanted_rounds(share: float, runs=range(RUNS), rounds: int = ROUNDS) -> np.ndarray:
    """The first round in which more was stored than there is room for, from the keys alone."""
    first = []
    for run in runs:
        learner_key = jo.game.stream_keys(jax.random.fold_in(jax.random.key(2), run)).learner
        keys = jax.vmap(lambda t, k=learner_key: jax.random.fold_in(jax.random.fold_in(k, t), 1))(
            jnp.arange(1, rounds + 1)
        )
        stored = np.cumsum(jax.vmap(lambda k: jax.random.bernoulli(k, share))(keys))
        first.append(int(np.argmax(stored > CAPACITY)) + 1 if stored[-1] > CAPACITY else 0)
    return np.array(first)


@pytest.fixture(scope="module")
def reference():
    return quiet_study(block_size=8)


@pytest.mark.long
def test_first_overflow_is_recorded(reference):
    wanted = wanted_rounds(SHARE)
    assert 0 < (wanted > 0).sum() < RUNS, "some runs, not all"
    assert len(np.unique(wanted[wanted > 0])) > 2, "in different rounds"
    np.testing.assert_array_equal(reference.first_overflow, wanted[None])
    assert reference.overflowed.tolist() == [(wanted > 0).sum()]
    assert reference.failed.tolist() == [0]


@pytest.mark.long
def test_overflowed_runs_are_excluded_from_all_means(reference):
    good = wanted_rounds(SHARE) == 0
    estimate, values = reference.mean("cumulative_loss"), reference.cumulative_loss[0, good]
    np.testing.assert_allclose(estimate.mean[0], values.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(estimate.standard_error[0], stats.sem(values), rtol=1e-12)
    assert (estimate.n_runs == good.sum()).all()
    np.testing.assert_allclose(
        reference.quantiles(0.3, "cumulative_loss")[0], np.quantile(values, 0.3, axis=0), rtol=1e-13
    )
    assert np.isfinite(reference.cumulative_loss).all(), "what was measured is still there"


@pytest.mark.long
def test_overflowed_runs_are_counted_in_table_and_xarray(reference, tmp_path):
    result = quiet_study({"a": Silent(SHARE), "b": Storing(SHARE)}, comparator=jo.L2Ball(1.0))
    count = reference.overflowed[0]
    assert [row["overflowed"] for row in result.table()] == [0, count]
    loaded = Result.load(result.save(tmp_path / "study.npz"))
    for other in (loaded, result):
        np.testing.assert_array_equal(other.first_overflow[1], reference.first_overflow[0])
        np.testing.assert_array_equal(other.select("b").first_overflow, reference.first_overflow)
    assert loaded.meta["overflow_probability"] == result.meta["overflow_probability"]
    assert result.to_xarray().first_overflow.dims == ("learner", "run")


@pytest.mark.long
def test_overflow_warns_once_before_and_once_after_the_runs(reference):
    """They name the learner, its probability, how many of how many runs, and the way out."""
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


def test_no_warning_without_overflow():
    result = study({"calm": Storing(0.0), "silent": Silent(SHARE)})
    assert result.overflowed.tolist() == [0, 0]
    assert result.meta["overflow_probability"] == {"calm": 0.0}


def test_overflow_probability_is_reported_at_the_start():
    seen = []
    result = quiet_study(progress=lambda *each: seen.append(each))
    stated = result.meta["overflow_probability"]["storing"]
    assert stated == stats.binom.sf(CAPACITY, ROUNDS, SHARE)
    done, total, line = seen[0]
    assert (done, total) == (0, seen[-1][1])
    assert f"storing: out of storage with probability {stated:.2g} in a run of 30 rounds" in line


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
    """Also in an entrant; and the runs are those of the learners alone."""
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


class Interrupted(Exception):
    pass


def test_checkpoint_stores_first_overflow(reference, tmp_path):
    def stop(done, total, what):
        if done == 7:  # the third block of three is not finished
            raise Interrupted

    with warnings.catch_warnings(action="ignore"), pytest.raises(Interrupted):
        study(block_size=8, checkpoint=tmp_path, progress=stop)
    assert len(stores.finished(tmp_path)) == 2
    for _ in range(2):  # resumed, and read from disk alone
        with pytest.warns(OverflowWarning) as caught:
            result = study(block_size=8, checkpoint=tmp_path)
        assert f"in {reference.overflowed[0]} of {RUNS} runs" in str(caught[-1].message)
        np.testing.assert_array_equal(result.first_overflow, reference.first_overflow)
    with pytest.warns(OverflowWarning):
        replayed = study(block_size=8, runs=[20, 3])
    np.testing.assert_array_equal(replayed.first_overflow, reference.first_overflow[:, [20, 3]])


def test_wrong_declarations_of_overflow_raise():
    @struct
    class Many(Silent):
        def update(self, key, state, oracle):
            return state, StoringInfo(jnp.array([True, False]))

    @struct
    class Nothing(Silent):
        def update(self, key, state, oracle):
            return state, StoringInfo(None)

    @struct
    class Wrong(Silent):
        def overflow_probability(self, n_rounds):
            return 1.5

    with pytest.raises(TypeError, match="overflow"):
        study({"a": Many(0.1)})
    with pytest.raises(ValueError, match="overflow_probability of 'a'"):
        study({"a": Wrong(0.1)})
    assert study({"a": Nothing(0.1)}).overflowed.tolist() == [0]
