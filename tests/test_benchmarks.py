"""The suite of benchmarks: what its tables say of given measurements, and that every workload runs."""

import json
import subprocess
import sys

import pytest

from benchmarks.__main__ import MODULES, main, table
from benchmarks._workload import share_of_limit
from benchmarks.figure import draw

RATES = {"jaxonline": [4.0, 6.0, 5.0], "slow": [1.0, 1.0, 1.0], "fast": [2.0, 2.0, 5.0]}
MEASURED = {
    "title": "a workload, d=1", "unit": "round", "ours": "jaxonline", "needs": {"words": 10.0, "bytes": 1.0},
    "rates": RATES, "compilation": 1.25, "megabytes": 20.0,
}  # fmt: skip


def test_a_row_says_ratio_share_and_cost():
    """By hand: the best peer by medians is the fast one, at 2, 3 and 1 times; 5 rounds of 10 words are half of 100."""
    row = table([MEASURED], {"words": 100.0, "bytes": 1000.0}).splitlines()[1]
    for part in ("5 rounds", "fast", "2.00 (1.00 .. 3.00)", "1.2 s", "20 MB", "50% (random words of 32 bits)"):
        assert part in row
    assert "slow" not in row


def test_alone_there_is_no_ratio():
    row = table([MEASURED | {"rates": {"jaxonline": [5.0]}, "needs": {}}], {}).splitlines()[1]
    assert ".." not in row
    assert "%" not in row


def test_shares():
    assert share_of_limit(5.0, {"words": 10.0, "bytes": 300.0}, {"words": 100.0, "bytes": 1000.0}) == (1.5, "bytes")
    assert share_of_limit(5.0, {"words": 10.0}, {"bytes": 1000.0}) is None


def test_the_figure(tmp_path):
    draw({"machine": "m", "date": "d", "workloads": [MEASURED]}, tmp_path / "new" / "figure.png")
    assert (tmp_path / "new" / "figure.png").stat().st_size > 5000


def test_an_unknown_workload_is_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "nonsense"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert f"must be one of {', '.join(MODULES)}, got 'nonsense'" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("module", MODULES)
def test_every_workload_runs(module, tmp_path):
    """In small, against what is installed; rates are positive, and ours is among them."""
    command = [sys.executable, "-m", "benchmarks", module, "--quick", "--repeats", "1", "--json", str(tmp_path / "a")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads((tmp_path / "a").read_text())
    for one in found["workloads"]:
        assert one["rates"][one["ours"]][0] > 0
        assert one["title"] in done.stdout
    assert all(value > 0 for value in found["limits"].values())
