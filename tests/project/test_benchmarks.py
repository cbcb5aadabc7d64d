"""The suite of benchmarks: its tables for given measurements, and a small run of every workload."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as suite
from benchmarks.__main__ import MODULES, TESTS, main
from benchmarks._many_runs import ManyRuns, measure_sizes, shorten_horizon
from benchmarks._report import table, table_of_sizes
from benchmarks._workload import share_of_limit
from benchmarks.figure import draw, draw_sizes
from benchmarks.kernels import kernels_per_round
from benchmarks.workarounds import PROGRAMS, ROUNDS, measure_program, measure_rounds

RATES = {"jaxonline": [4.0, 6.0, 5.0], "slow": [1.0, 1.0, 1.0], "fast": [2.0, 2.0, 5.0]}
MEASURED = {
    "title": "a workload, d=1", "unit": "round", "ours": "jaxonline", "needs": {"words": 10.0, "bytes": 1.0},
    "rates": RATES, "compilation": 1.25, "megabytes": 20.0,
}  # fmt: skip


def test_a_row_has_ratio_share_and_cost(tmp_path):
    """The best alternative by medians is "fast", with ratios 2, 3 and 1; 5 rounds of 10 words are half of 100."""
    row = table([MEASURED], {"words": 100.0, "bytes": 1000.0}).splitlines()[1]
    for part in ("5 rounds", "fast", "2.00 (1.00 .. 3.00)", "1.2 s", "20 MB", "50% (random words of 32 bits)"):
        assert part in row
    assert "slow" not in row
    alone = table([MEASURED | {"rates": {"jaxonline": [5.0]}, "needs": {}}], {}).splitlines()[1]
    assert ".." not in alone
    assert "%" not in alone
    assert share_of_limit(5.0, {"words": 10.0, "bytes": 300.0}, {"words": 100.0, "bytes": 1000.0}) == (1.5, "bytes")
    assert share_of_limit(5.0, {"words": 10.0}, {"bytes": 1000.0}) is None
    draw({"machine": "m", "date": "d", "workloads": [MEASURED]}, tmp_path / "new" / "figure.png")
    assert (tmp_path / "new" / "figure.png").stat().st_size > 5000


def played(runs, width):
    """Contenders: ours does twice the work of the alternative, with at most 100 runs."""

    def ours():
        if runs > 100:
            raise MemoryError(f"no room for {runs} runs\nin blocks of {width}")
        return 2.0 * runs

    return {"jaxonline": ours, "plain jax": lambda: 1.0 * runs}


def test_sizes_have_rates_or_a_failure(monkeypatch, tmp_path, capsys):
    """Alternatives take turns with the narrowest block; widths are at most the number of runs; failures are entries."""
    clock = iter(range(1000))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))  # each turn takes a second
    sizes = list(measure_sizes(ManyRuns("many", played), "jaxonline", [10, 50, 200], [20, 40, 80], 2))
    assert [(size["runs"], size["width"]) for size in sizes] == [
        (10, 10), (50, 20), (50, 40), (50, 50), (200, 20), (200, 40), (200, 80)
    ]  # fmt: skip
    assert [size.get("rates") for size in sizes[:3]] == [
        {"jaxonline": [20.0, 20.0], "plain jax": [10.0, 10.0]},
        {"jaxonline": [100.0, 100.0], "plain jax": [50.0, 50.0]},
        {"jaxonline": [100.0, 100.0]},
    ]
    assert all(size["failed"] == "MemoryError: no room for 200 runs" for size in sizes[4:])
    (whole,) = measure_sizes(ManyRuns("whole", played, in_blocks=False), "jaxonline", [50], [20, 40], 1)
    assert (whole["width"], whole["first"]) == (50, 1.0)
    assert "50 runs, 20 a block: 100 a second" in capsys.readouterr().out

    workload = {"title": "many", "unit": "round", "ours": "jaxonline", "needs": {"words": 10.0}, "sizes": sizes}
    lines = table_of_sizes([workload], {"words": 2000.0}).splitlines()
    assert all(part in lines[2] for part in ("100 rounds", "2.00", "1.0 s", "50% (random words of 32 bits)"))
    assert ("2.00" in lines[3], "no room" in lines[5], len(lines)) == (False, True, 8)
    draw_sizes({"machine": "m", "date": "d", "workloads": [workload, MEASURED]}, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000


def test_horizons_are_shortened_for_many_runs():
    assert [shorten_horizon(2000, runs) for runs in (1, 10**6, 10**7)] == [2000, 1000, 200]


def test_device_tests_exist():
    folder = Path(__file__).parents[1]
    assert [name for name in TESTS if len(list(folder.rglob(f"test_{name}.py"))) != 1] == []


@pytest.mark.long
def test_outcomes_of_device_tests_are_reported():
    assert suite.run_tests(["size"], dict(os.environ))["passed"]
    assert not suite.run_tests(["nonsense"], dict(os.environ))["passed"]


def test_a_failing_workload_does_not_stop_the_others(monkeypatch, tmp_path):
    """On an accelerator, with many runs by default, and its tests."""
    calls = []

    def measure(module, options, environment):
        calls.append((module, options.runs, options.widths, environment["JAX_PLATFORMS"]))
        if module == "bandits":
            raise subprocess.CalledProcessError(1, module)
        return {"machine": "H", "workloads": [MEASURED | {"title": module}]}

    monkeypatch.setattr(suite, "measure", measure)
    monkeypatch.setattr(suite, "query_device", lambda environment: {"platform": "gpu", "limits": {"words": 1.0}})
    monkeypatch.setattr(suite, "run_tests", lambda names, environment: {"passed": False, "said": "1 failed"})
    file = tmp_path / "new" / "file.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks", "bandits", "attributes", "--device", "gpu", "--json", str(file)])
    with pytest.raises(SystemExit, match=r"(?s)bandits failed.*tests: 1 failed"):
        main()
    assert calls == [(module, suite.MANY, suite.WIDTHS, "cuda") for module in ("bandits", "attributes")]
    written = json.loads(file.read_text())
    assert [one["title"] for one in written["workloads"]] == ["attributes"]
    assert (written["machine"], written["tests"]) == ("H", {"passed": False, "said": "1 failed"})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], f"must be one of {', '.join(MODULES)} (got 'nonsense'"),
        (["--runs", "10", "0"], "--runs: must be at least 1 (got 0"),
        (["--widths", "64"], "--widths: requires --runs"),
        (["--history", "1.0", "--quick"], "--history: requires the usual sizes"),
    ],
)
def test_invalid_arguments_raise(monkeypatch, capsys, words, message):
    monkeypatch.setattr(suite, "query_device", lambda environment: {"platform": "cpu", "limits": {}})
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("sizes", [[], ["--runs", "24", "--widths", "16", "512"]], ids=["usual sizes", "24 runs"])
@pytest.mark.parametrize("module", MODULES)
def test_every_workload_runs(module, sizes, tmp_path):
    """In small, against what is installed; rates are positive, and ours is among them."""
    command = [sys.executable, "-m", "benchmarks", module, "--quick", "--repeats", "1", "--json", str(tmp_path / "a")]
    done = subprocess.run([*command, *sizes], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for one in json.loads((tmp_path / "a").read_text())["workloads"]:
        assert one["title"] in done.stdout
        in_sizes = sizes and module not in ("multikernel", "live")  # a run is 76 matrices, or there are no runs
        for rates in [size["rates"] for size in one["sizes"]] if in_sizes else [one["rates"]]:
            assert one["ours"] in rates
            assert all(rate > 0 for of in rates.values() for rate in of)


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [["widths", "UCB1, K=10", "--repeats", "1"], ["scaling", "memory"], ["scaling", "cores", "--repeats", "1"]]
)
def test_commands_of_widths_cores_and_memory_run(words):
    command = [sys.executable, "-m", f"benchmarks.{words[0]}", *words[1:], "--quick"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert {"widths": "default 128", "scaling": "runs, "}[words[0]] in done.stdout


@pytest.mark.long
def test_every_workaround_is_measured_with_and_without_it():
    rows = [measure_rounds(name, jobs[0], repeats=1) for name, (jobs, _) in ROUNDS.items()]
    rows += [measure_program(name, repeats=1) for name in PROGRAMS]
    assert min(row[part] for row in rows for part in ("with", "without", "ratio")) > 0


def test_kernels_of_loops_and_conditionals_are_counted():
    """The round has an addition, a conditional with a branch of two kernels, and a loop of two kernels."""
    program = """
%few (p: f32[2]) -> f32[2] {
  ROOT %p.1 = f32[2]{0} parameter(0)
}

%many (p: f32[2]) -> f32[2] {
  %a = f32[2]{0} fusion(%p.2), kind=kLoop, calls=%f
  ROOT %b = f32[2]{0} sort(%a), dimensions={0}, to_apply=%less
}

%body_of_draw (p: (s32[], f32[2])) -> (s32[], f32[2]) {
  ROOT %c = (s32[], /*index=1*/f32[2]{0}) fusion(%p.3), kind=kLoop, calls=%f
}

%condition_of_draw (p: (s32[], f32[2])) -> pred[] {
  ROOT %d = pred[] compare(%p.4, %p.4), direction=LT
}

%round (p: (s32[], f32[2])) -> (s32[], f32[2]) {
  %g = f32[2]{0} add(%e, %e)
  %h = (f32[2]{0}) conditional(%i, %g, %g), branch_computations={%few, %many}
  %k = (s32[], /*index=1*/f32[2]{0}) while(%p.5), condition=%condition_of_draw, body=%body_of_draw
  ROOT %m = (s32[], /*index=1*/f32[2]{0}) tuple(%e, %g)
}

ENTRY %main (p: (s32[], f32[2])) -> (s32[], f32[2]) {
  ROOT %n = (s32[], /*index=1*/f32[2]{0}) while(%p.6), condition=%condition_of_draw, body=%round
}
"""
    assert kernels_per_round(program) == 1 + (1 + 2) + (1 + 2)
