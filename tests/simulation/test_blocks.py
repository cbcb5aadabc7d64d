"""The default width of a block, the number of calls of a block, and the distribution of runs in blocks."""

import jax
import numpy as np
import pytest
from scipy import stats
from small_study import assert_same_bits, learner, study

import jaxonline as jo
from jaxonline._xla import threads
from jaxonline.game import Specs
from jaxonline.simulation import blocks, jobs, segments
from jaxonline.simulation.blocks import default_mesh, default_width
from jaxonline.simulation.segments import BlockPrograms, records_per_call

OPTIONS = {"n_rounds": 8, "key": 3, "record_at": 4}


def arms(n_arms: int, largest: float = 0.8) -> jo.Game:
    means = np.linspace(0.2, largest, n_arms)
    return jo.Game(jo.environments.BernoulliArms(means), jo.Bandit(), loss=jo.losses.ArmLoss())


def spec(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32)


def same_bits(first: jo.Result, second: jo.Result) -> None:
    np.testing.assert_array_equal(first.cumulative_loss, second.cumulative_loss)


@pytest.fixture
def calls(monkeypatch):
    seen, programs_of = [], jobs._programs

    def watched(*arguments):
        programs = programs_of(*arguments)

        def advance(matchup, keys, t, ends, carry):
            seen.append(int(t))
            return programs.advance(matchup, keys, t, ends, carry)

        return BlockPrograms(programs.keys_of_runs, programs.begin, advance)

    monkeypatch.setattr(jobs, "_programs", watched)
    return seen


@pytest.mark.parametrize(
    ("instance", "outcome", "width"),
    [((), (2,), 128), ((), (100,), 64), ((200,), (), 32), ((10**6,), (), 8), ((20, 5), (20,), 64)],
)
def test_default_width_follows_from_the_shapes_of_the_game(instance, outcome, width):
    specs = Specs(spec(*instance), spec(*outcome))
    assert default_width(specs, 10**6, "cpu") == default_width(specs, width, "cpu") == width
    assert default_width(specs, 3, "cpu") == 3
    assert (default_width(specs, 10**6, "gpu"), default_width(specs, 3, "gpu")) == (16_384, 3)


def test_default_width_does_not_depend_on_the_number_of_cores(monkeypatch):
    results = []
    for cores in (1, 3):
        monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _, n=cores: range(n), raising=False)
        options = {"mesh": default_mesh(jax.devices()[:1]), **OPTIONS}
        results.append(jo.simulate(arms(300), jo.learners.UCB1(), n_runs=40, **options))
    assert [result.meta["block_size"] for result in results] == [16, 16]
    same_bits(*results)


def test_a_study_continues_with_its_own_block_size(tmp_path, calls):
    checkpoint = jo.Checkpoint(tmp_path, version="1")
    options = {"n_runs": 520, "checkpoint": checkpoint, **OPTIONS}
    earlier = jo.simulate(arms(2), jo.learners.UCB1(), block_size=512, **options)
    with pytest.raises(ValueError, match=r"block_size \(was 512, is 128\)"):
        jo.simulate(arms(2), jo.learners.UCB1(), block_size=128, **options)
    calls.clear()
    same_bits(jo.simulate(arms(2), jo.learners.UCB1(), **options), earlier)
    assert calls == []
    more = jo.simulate(arms(2), jo.learners.UCB1(), **options | {"n_runs": 600})
    np.testing.assert_array_equal(more.cumulative_loss[:, :520], earlier.cumulative_loss)


@pytest.mark.long
def test_recorded_rounds_per_call_change_no_bit(monkeypatch, calls, one_core):
    learners = {"one": learner(), "two": jo.sweep([learner(0.1), learner(0.3)])}
    options = {"n_runs": 5, "n_rounds": 20, "record_at": 10, "block_size": 5}
    results = []
    for number in (64, 3, 1):
        monkeypatch.setattr(segments, "MAX_RECORDS", number)
        results.append(study(learners, **options))
    assert len(calls) == 3 * (1 + 4 + 10)  # of the comparator, the learner and the sweep
    for result in results[1:]:
        assert_same_bits(result, results[0])


@pytest.mark.long
def test_a_finished_block_keeps_only_its_numbers_in_memory(monkeypatch, one_core):
    """Views would keep the arrays of all recorded rounds."""
    seen, join_blocks = [], jobs.join_blocks
    monkeypatch.setattr(jobs, "join_blocks", lambda blocks: seen.extend(map(dict, blocks)) or join_blocks(blocks))
    options = {"n_rounds": 40, "record_at": 40, "block_size": 2, "mesh": default_mesh(jax.devices()[:1])}
    jo.simulate(arms(2), jo.learners.UCB1(), n_runs=4, **options)
    assert len(seen) == 2
    for array in (array for numbers in seen for array in numbers.values()):
        assert array.base is None or array.base.nbytes == array.nbytes


def test_large_totals_are_recorded_one_at_a_time():
    carry = segments.Carry(None, segments.Totals({}, spec(2, 128, 1000, 1000), *[spec(2, 128)] * 3))
    assert records_per_call(carry) == 1
    small = segments.Totals({"loss": spec(2, 128)}, (), *[spec(2, 128)] * 3)
    assert records_per_call(carry._replace(totals=small)) == segments.MAX_RECORDS


@pytest.mark.long
def test_idle_cores_play_ahead_and_do_not_change_when_a_study_is_decided(monkeypatch, calls):
    learners = {"greedy": jo.learners.EpsilonGreedy(0.1), "random": jo.learners.EpsilonGreedy(1.0)}
    interval = jo.intervals.Betting(0.0, 1.0)
    until = jo.UntilDecided(margin=0.1, quantity="cumulative_loss", rarest_event=0.1875, interval=interval)
    options = {"mesh": default_mesh(jax.devices()[:1]), "block_size": 16, "n_runs": 4096, "stop": until, **OPTIONS}
    results, numbers = [], []
    for cores in (1, 3):
        monkeypatch.setattr(blocks, "usable_cores", lambda n=cores: n)
        calls.clear()
        results.append(jo.simulate(arms(2), learners, **options))
        numbers.append(len(calls))
    n = 2 * len(results[0].runs) // 16  # blocks of both learners
    assert numbers[0] == n <= numbers[1] <= n + 4
    assert results[0].decisions == results[1].decisions
    same_bits(*results)


def final_losses(**options):
    """Losses of 3,000 runs of Thompson sampling. Each test of their distribution has the level 1e-6."""
    sizes = {"n_runs": 3000, "n_rounds": 70, "record_at": 1, "mesh": default_mesh(jax.devices()[:1])}
    found = jo.simulate(arms(10, 0.6), jo.learners.BernoulliThompson(), **sizes, **options)
    return found.cumulative_loss[0, :, -1]


@pytest.fixture(scope="module")
def narrow():
    return final_losses(key=2)


@pytest.mark.long
def test_blocks_of_the_default_width_have_the_distribution_of_blocks_of_512_runs(narrow):
    """With other keys. The test detects losses that are .15 standard deviations larger."""

    def p_value(a, b):
        return min(stats.ks_2samp(a, b).pvalue, stats.ttest_ind(a, b, equal_var=False).pvalue)

    wide = final_losses(key=1, block_size=512)
    assert p_value(narrow, wide) > 1e-6 > p_value(narrow + 0.15 * narrow.std(), wide)


@pytest.mark.long
def test_runs_of_all_blocks_are_independent(narrow):
    """Correlations of neighbouring runs and blocks (finds .09). The test detects blocks that repeat the first."""
    width = blocks.MAX_CPU_WIDTH
    for lag in (1, width):
        assert stats.pearsonr(narrow[lag:], narrow[:-lag]).pvalue > 1e-6
    repeated = np.resize(narrow[:width], len(narrow))
    assert stats.pearsonr(repeated[width:], repeated[:-width]).pvalue < 1e-6
