"""Strict mode for every test, and several simulated devices."""

import itertools
import os
from pathlib import Path

# Before jax is imported: eight simulated devices, and a compilation cache inside the work tree.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("MPLBACKEND", "Agg")

import jax
import numpy as np
import pytest
from hypothesis import settings

pytest_plugins = ["count_programs"]

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

settings.register_profile("deterministic", derandomize=True, database=None, deadline=None, print_blob=True)
settings.load_profile("deterministic")


tests_run = itertools.count(1)


@pytest.fixture(autouse=True)
def _forget_programs():
    """Each compiled program takes memory maps, and Linux grants a process 65,530 of them: too few for all programs of
    `make test-all` in one process. Reading the maps takes milliseconds, so only each hundredth test does it."""
    yield
    maps = Path("/proc/self/maps")
    if next(tests_run) % 100 == 0 and maps.exists() and maps.read_bytes().count(b"\n") > 30_000:
        jax.clear_caches()


def pytest_collection_modifyitems(items):
    """The module with the longest test is first, so that it does not run alone at the end."""
    items.sort(key=lambda item: item.path.name != "test_generated_calls.py")


@pytest.fixture(scope="module", autouse=True)
def _fast_compile(request):
    """`pytestmark = pytest.mark.fast_compile`: the module's programs are compiled without most optimisations, and
    forgotten afterwards, so that no other module compares bits with them."""
    marked = any(mark.name == "fast_compile" for mark in request.node.iter_markers())
    if not marked or jax.default_backend() != "cpu" or jax.config.read("jax_disable_most_optimizations"):
        yield
        return
    jax.clear_caches()
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
    jax.clear_caches()


@pytest.fixture
def one_core(monkeypatch):
    """Blocks are played one after the other, so that it is known which of them are finished at a given moment."""
    monkeypatch.setattr("jaxonline.simulation.blocks.usable_cores", lambda: 1)


@pytest.fixture
def x64():
    """float64 inside this test only."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def both_precisions(request):
    """The test runs twice: with float64 disabled and enabled."""
    with jax.enable_x64(request.param):
        yield np.float64 if request.param else np.float32


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; the test is skipped where JAXONLINE_DATA does not name one."""
    folder = os.environ.get("JAXONLINE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs real data: set JAXONLINE_DATA to the folder that holds mnist/, airfoil/ and concrete/")
    return Path(folder)
