"""Compiler options, and the number of compilations."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from count_programs import COMPILED

import jaxonline as jo
from jaxonline._xla import compile_options as compiling
from jaxonline._xla.compile_options import Program, fast_compile_options, matmul_options, run_compiled
from jaxonline.numerics.triangular import cholesky_and_inverse
from jaxonline.simulation.blocks import default_mesh
from jaxonline.verify.sampling import Sampler


@pytest.fixture
def compiled():
    names = []

    def listen(event, seconds, fun_name=None, **_):
        if event == COMPILED:
            names.append(fun_name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.unregister_event_duration_listener(listen)


def test_unknown_compiler_options_are_left_out_with_a_warning(monkeypatch):
    monkeypatch.setattr(compiling, "_FAST_COMPILE", {"xla_no_such_option": True, "xla_cpu_prefer_vector_width": 256})
    with pytest.warns(UserWarning, match="xla_no_such_option"):
        options = fast_compile_options.__wrapped__("cpu")
    assert options == {"xla_backend_optimization_level": 0, "xla_cpu_prefer_vector_width": 256}


def test_the_installed_compiler_knows_all_options():
    names = ("_FAST_COMPILE", "_ONE_CORE_PER_LOOP", "_WIDE_VECTORS", "_FUSED_PRODUCTS")
    assert all(compiling.supported_options(getattr(compiling, name)) for name in names)


def test_programs_compile_once_per_argument_type(compiled):
    mesh = default_mesh(jax.devices()[:1])
    scaled = Program(lambda x, *, mesh, by: by * x, static_argnames=("mesh", "by"))
    scaled.trace(np.ones(3, np.float32), mesh=mesh, by=2).lower().compile()
    compiled.clear()
    for x, by in ((np.ones(3, np.float32), 2), (np.zeros(3, np.float32), 2), (np.ones(3, np.float32), 5)):
        np.testing.assert_array_equal(scaled(x, mesh=mesh, by=by), by * x)
    assert len(compiled) == 1, "what was lowered is not compiled again, and another static number is another program"


@pytest.mark.long
def test_number_of_traces_of_a_round(monkeypatch):
    """When the learner is bound to the game; the programs take that trace."""
    traced, update = [], jo.GradientLearner.update
    monkeypatch.setattr(jo.GradientLearner, "update", lambda *args: traced.append(args) or update(*args))
    game = jo.Game(jo.environments.LinearModel(np.ones(31)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), 0.1)
    result = jo.simulate(game, learner, n_runs=3, n_rounds=4, record_at=2)
    assert len(traced) == 1
    assert np.isfinite(result.cumulative_loss).all()


@pytest.mark.parametrize("cores", [1, 2, 8])
def test_loops_are_split_only_with_many_cores_per_device(monkeypatch, cores):
    """XLA would have a loop as long as this one done by all cores that it has threads for. The comparison is with the
    same compiler, so it holds for every version."""
    monkeypatch.setattr(compiling, "usable_cores", lambda: cores)
    x, mesh = np.ones(2**20, np.float32), default_mesh(jax.devices()[:1])
    program = Program(_long_loop, static_argnames=("mesh",))
    shared = "outer_dimension_partitions" in program.trace(x, mesh=mesh).lower().compile().as_text()
    by_default = "outer_dimension_partitions" in jax.jit(_long_loop).lower(x).compile().as_text()
    assert shared == (by_default and cores > 2)


def _long_loop(x, mesh=None):
    return jnp.sin(jnp.exp(jnp.cos(x)))


def test_other_platforms_have_no_compiler_options():
    assert fast_compile_options("cuda") == fast_compile_options("tpu") == matmul_options("cuda") == {}


def test_options_in_xla_flags_are_not_overridden(monkeypatch):
    """A program's own list of passes would take the place of theirs."""
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    ours = matmul_options.__wrapped__("cpu")
    assert ours["xla_disable_hlo_passes"] == "cpu-parallel-task-assigner"
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX2 --xla_disable_hlo_passes=dce")
    assert matmul_options.__wrapped__("cpu") == {
        name: value for name, value in ours.items() if name != "xla_disable_hlo_passes"
    }


def test_source_locations_of_the_package_are_excluded():
    text = jax.jit(lambda A: cholesky_and_inverse(A)).lower(jnp.eye(3)).as_text(debug_info=True)
    assert "test_compiling.py" in text
    assert "triangular.py" not in text


def test_run_compiled_is_one_program(compiled):
    x = np.linspace(0.5, 2.0, 7, dtype=np.float32)
    fast_compile_options("cpu")
    compiled.clear()
    found = run_compiled(_logarithms, x)
    assert len(compiled) == 1
    np.testing.assert_allclose(found, 1 + np.log(x) * x[::-1], rtol=1e-6)
    run_compiled(_logarithms, x + 1)
    assert len(compiled) == 1


def _logarithms(x):
    return 1.0 + jnp.log(x) * x[::-1]


def test_struct_numbers_are_arguments_of_the_program(compiled):
    x = np.array([0.3, -0.2], np.float32)
    first = run_compiled(jo.kernels.Gaussian(1.5), x, 2 * x)
    compiled.clear()
    second = run_compiled(jo.kernels.Gaussian(0.5), x, 2 * x)
    assert compiled == []
    np.testing.assert_allclose([first, second], [np.exp(-(x @ x) / 1.5**2), np.exp(-(x @ x) / 0.5**2)], rtol=1e-6)


def _third_power(key):
    return jax.random.uniform(key) ** 3


def test_few_samples_use_an_unoptimised_program(compiled):
    """They are the same samples, of two programs."""
    sampler = Sampler.create(_third_power, 0, 64, default_mesh(jax.devices()[:1]))
    for _ in range(2):
        usual = sampler.summary(64)
        few = dataclasses.replace(sampler, few=True).summary(64)
    assert compiled.count("jit(_blocks)") == 2
    np.testing.assert_allclose(few.moments.mean, usual.moments.mean, rtol=1e-6)
    assert fast_compile_options("cpu", optimised=True) != fast_compile_options("cpu", optimised=False)
