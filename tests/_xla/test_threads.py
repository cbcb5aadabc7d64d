"""Threads play the blocks of a CPU that is one device: same numbers, errors, cancellation and settings."""

import itertools
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stores
from count_programs import n_compiled
from small_study import assert_same_bits, study
from tiers import some

import jaxonline as jo
from jaxonline._xla import threads
from jaxonline._xla.compile_options import has_host_callbacks
from jaxonline._xla.threads import Cancelled, map_in_threads, run_parallel, share_cores, usable_cores
from jaxonline.simulation import blocks, jobs
from jaxonline.verify.sampling import Sampler

RUNS, PIECES = 10, 4  # five blocks of each job; pieces of a block


@pytest.fixture
def cores(monkeypatch):

    def of(n):
        monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: range(n), raising=False)

    return of


@pytest.fixture(scope="module")
def reference():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "usable_cores", lambda: 1)
        return study(n_runs=RUNS)


class Stop(Exception):
    pass


def at_a_time(monkeypatch):
    """Will hold, of each wave, how many were being played when it began."""
    playing, seen, play_wave, lock = [], [], jobs._play_wave, threading.Lock()

    def counted(job, programs, wave, *rest):
        with lock:
            playing.append(wave.tolist())
            seen.append(len(playing))
        try:
            time.sleep(0.05)
            return play_wave(job, programs, wave, *rest)
        finally:
            with lock:
                playing.remove(wave.tolist())

    monkeypatch.setattr(jobs, "_play_wave", counted)
    return seen


@pytest.mark.parametrize(
    ("n_cores", "devices", "n_threads"), some([(1, 1, 1), (3, 1, 3), (40, 1, 5), (4, 2, 1)], (3, 1, 3))
)
def test_number_of_threads_does_not_change_the_bits(reference, cores, monkeypatch, n_cores, devices, n_threads):
    """Each job has five blocks; that of the comparator is one."""
    cores(n_cores)
    seen = at_a_time(monkeypatch)
    mesh = blocks.default_mesh(jax.devices()[:devices])
    assert_same_bits(study(n_runs=RUNS, mesh=mesh), reference)
    assert max(seen) == n_threads


def test_thread_count_is_limited(cores):
    cores(100)
    assert blocks.thread_count(blocks.default_mesh(jax.devices()[:1]), 1000) == blocks.MAX_THREADS == 32
    assert blocks.thread_count(blocks.default_mesh(jax.devices()[:1]), 9) == 9
    assert blocks.thread_count(blocks.default_mesh(jax.devices()[:2]), 1000) == 1


@pytest.mark.long
def test_jax_config_applies_in_threads(cores):
    """float64 and the precision of products are settings of a thread; programs are made in this one."""
    cores(2)
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        before = n_compiled("advance")
        found = study(n_runs=6)
        assert n_compiled("advance") == before + 2, "the environment's and the learner's"
        cores(1)
        assert_same_bits(study(n_runs=6), found)
    assert found.meta["dtype"] == "float64"


@jo.struct
class OnHost(jo.Learner):
    def init(self, key, specs):
        return jnp.zeros(specs.instance.shape, specs.instance.dtype)

    def predict(self, key, state, x):
        return state @ x

    def update(self, key, state, oracle):
        shape = jax.ShapeDtypeStruct(state.shape, state.dtype)
        return 0.1 + jax.pure_callback(lambda s: np.asarray(s) / 2, shape, state, vmap_method="broadcast_all"), None


def test_programs_with_host_callbacks_use_one_thread(cores, monkeypatch):
    """Such a call waits for a thread of XLA, and others that wait as well have them all: it would never end."""
    cores(2)
    game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
    options = {"n_runs": 6, "n_rounds": 5, "block_size": 2, "mesh": blocks.default_mesh(jax.devices()[:1])}
    seen = at_a_time(monkeypatch)
    found = jo.simulate(game, OnHost(), **options)
    assert max(seen) == 1
    states = 0.2 * (1 - 0.5 ** np.arange(5))
    np.testing.assert_allclose(found.cumulative_loss[0, :, -1], np.sum((states - 1) ** 2), rtol=1e-5)


def test_has_host_callbacks_finds_nested_callbacks():
    def hidden(call):
        def looped(x):
            inner = jax.jit(lambda y: jax.lax.cond(y > 0, lambda z: call(z), lambda z: z, y))
            return jax.lax.fori_loop(0, 3, lambda _, y: inner(y), x)

        return jax.jit(jax.vmap(looped)).trace(jnp.ones(2)).jaxpr

    host = [
        lambda x: jax.pure_callback(np.sin, x, x, vmap_method="broadcast_all"),
        lambda x: (jax.debug.print("{x}", x=x), x)[1],
        lambda x: (jax.debug.callback(lambda _: None, x), x)[1],
    ]
    assert [has_host_callbacks(hidden(call)) for call in host] == [True] * 3
    assert not has_host_callbacks(hidden(jnp.sin))


@pytest.mark.long
def test_debug_nans_uses_one_thread(cores):
    cores(3)
    mesh = blocks.default_mesh(jax.devices()[:1])
    game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
    options = {"n_runs": 4, "n_rounds": 40, "block_size": 2, "mesh": mesh}
    diverges = jo.GradientLearner(jo.estimators.FullGradient(), 1e30)
    with jax.debug_nans(True):
        assert blocks.thread_count(mesh, 9) == 1
        for _ in range(2):
            with pytest.raises(FloatingPointError, match="nan"):
                jo.simulate(game, diverges, **options)
    assert blocks.thread_count(mesh, 9) == 3


def test_progress_from_threads_is_monotone(reference, cores):
    cores(3)
    told = []

    def slowly(done, total, what):
        time.sleep(0.003 * (done % 3))
        told.append((done, total, what))

    study(n_runs=RUNS, progress=slowly)
    assert [done for done, _, _ in told] == list(range(1, 41))
    assert {total for _, total, _ in told} == {40}
    assert {what for _, _, what in told} == {
        f"{of}, block {n} of 5" for of in ("best in hindsight", "learner") for n in range(1, 6)
    }


@pytest.mark.parametrize("at", some([1, 5, 6, 17, 23, 33], 23))
def test_interrupt_stops_threads_and_the_study_resumes(reference, cores, tmp_path, at):
    """No piece is told of after that, and no thread is left; the store is that of a study in one go."""
    cores(3)
    told = []

    def stop(done, total, what):
        told.append(done)
        if done == at:
            raise Stop
        if done > at:
            time.sleep(0.2)  # by now the others have heard it

    study(n_runs=RUNS)  # its programs are there, so that no thread compiles any more
    before = set(threading.enumerate())
    checkpoint = jo.Checkpoint(tmp_path / "kept", every=0.0)
    with pytest.raises(Stop):
        study(n_runs=RUNS, checkpoint=checkpoint, progress=stop)
    assert set(threading.enumerate()) <= before, "a thread of an earlier test may end meanwhile"
    assert at <= told[-1] <= at + 2, "those of the two others that were being played"
    assert_same_bits(study(n_runs=RUNS, checkpoint=checkpoint), reference)
    study(n_runs=RUNS, checkpoint=tmp_path / "whole")
    assert stores.tree(tmp_path / "kept") == stores.tree(tmp_path / "whole")


def test_verify_samples_in_threads(cores, monkeypatch):
    names, mesh = set(), blocks.default_mesh(jax.devices()[:1])

    def sampled(n_cores):
        cores(n_cores)
        sampler = Sampler.create(_estimate, 3, 64, mesh)
        return [np.array(values) for values, _ in sampler.blocks(64 * 7 - 5)]

    one = sampled(1)
    threads_of = blocks.map_in_threads
    monkeypatch.setattr(blocks, "map_in_threads", lambda *args: names.add(args[2]) or threads_of(*args))
    for first, second in itertools.zip_longest(one, sampled(3)):
        np.testing.assert_array_equal(first, second)
    assert names == {3}
    assert [len(values) for values in one] == [64] * 6 + [59]


def test_verify_does_not_list_all_blocks_first():
    """However many there may be, of which time allows a few."""
    values, _ = next(Sampler.create(_estimate, 3, 64, blocks.default_mesh(jax.devices()[:1])).blocks(2**36))
    assert values.shape == (64, 2)


def _estimate(key):
    return jax.random.normal(key, (2,)) ** 3


def test_map_in_threads_keeps_order_and_limits_lookahead():
    asked, began = [], []

    def items():
        for i in range(20):
            asked.append(i)
            yield i

    def work(i):
        began.append(i)
        time.sleep(0.03 * (i % 3 == 0))
        return i * i

    results = map_in_threads(work, items(), 2)
    assert [next(results), next(results)] == [0, 1]
    assert len(asked) <= 6
    assert list(results) == [i * i for i in range(2, 20)]
    assert sorted(began) == list(range(20))


def test_single_thread_is_the_calling_thread():
    found = list(map_in_threads(lambda _: threading.current_thread(), range(3), 1))
    assert set(found) == {threading.current_thread()}


def test_first_error_is_raised_and_others_are_cancelled():
    ended, left = threading.Event(), []

    def work(i):
        if i == 1:
            raise Stop(i) from ZeroDivisionError("why")
        if not ended.wait(20):
            raise AssertionError("it was not told")
        left.append(i)
        raise Cancelled

    with pytest.raises(Stop, match="1") as failure:
        list(map_in_threads(work, range(10), 3, ended))
    assert set(left) <= {0, 2}
    assert isinstance(failure.value.__cause__, ZeroDivisionError)


def test_numpy_errstate_applies_in_threads():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        run_parallel([lambda: np.log(np.zeros(1))] * 2, n_threads=2)
    with np.errstate(divide="ignore"):
        run_parallel([lambda: np.log(np.zeros(1))] * 2, n_threads=2)


def test_nested_threads_share_cores(cores):
    cores(8)
    assert usable_cores() == 8
    with share_cores(2):
        assert usable_cores() == 4
        with share_cores(3):
            assert usable_cores() == 1
    assert list(map_in_threads(lambda _: usable_cores(), range(4), 4)) == [2] * 4
    assert run_parallel([usable_cores] * 2) == [4] * 2
    assert run_parallel([lambda: run_parallel([usable_cores] * 9)], n_threads=4) == [[1] * 9], "one job, eight threads"
