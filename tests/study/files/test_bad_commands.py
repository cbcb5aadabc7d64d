"""Bad command lines: each is refused at once, in two lines on standard error that name the option, with exit code 2.

They run in this process. What would begin the work, or reach for the network, raises `Worked`, which is exit code 3.
"""

import pytest
from typer.testing import CliRunner

from jaxonline.claims import registry
from jaxonline.cli import app
from jaxonline.datasets import loading
from jaxonline.study import study
from jaxonline.study.ready import multikernel_runs

HUGE = str(10**18)
LONG = "x" * 300 + ".json"

# the command line, and what is said of it
ON_TOP = {
    "nonsense": "command: unknown name (got 'nonsense')",
    "quikstart": "did you mean 'quickstart'?",
    "variance": "did you mean 'reproduce variance'?",
    "reproduce variace": "did you mean 'reproduce variance'?",
    "reproduce quickstart": "did you mean 'quickstart'?",
    "--nonsense": "--nonsense",
    "reproduce --seed 1": "--seed",
    "quickstart --rusn 5": "--rusn",
    "quickstart more": "more",
    "quickstart --runs": "--runs",
    "verify E11": "E11",
}
VERIFY = {
    "--claim ": "--claim: must not be empty",
    "--claim E99": "--claim: must match at least one claim (got 'E99'",
    "--claim expnential": "did you mean 'exponential'?",
    "--claim E11 --claims E11": "--claims",
    "--samples 0": "--samples: must be at least 2 (got 0",
    "--samples 1": "--samples: must be at least 2 (got 1",
    f"--samples {HUGE}": "--samples: must be at most 2147483647 (got 1000000000000000000",
    "--samples 1e6": "--samples",
    "--figure ": "--figure: must be a file that can be written (got ''); it is empty",
    "--figure folder": "--figure: must be a file that can be written (got 'folder'); it is a folder",
    "--figure file/x.png": "--figure: must be a file that can be written (got 'file/x.png'); file is not a folder",
    "--figure claims.nonsense": "--figure: must end in one of .eps, .jpg, .pdf, .png, .svg (got 'claims.nonsense'",
    "--figure claims": "--figure: must end in one of",
    "--json a.svg --figure a.svg": "--json: must be a file of its own (got 'a.svg', in the way of figure",
    "--json a.svg --figure a.svg/b.svg": "--json: must be a file of its own (got 'a.svg', in the way of figure",
}
SEEDS = {
    "--seed -1": "--seed: must be at least 0 (got -1",
    "--seed 4294967296": "--seed: must be below 2^32 (got 4294967296",
    "--seed 9223372036854775808": "--seed: must be below 2^32",
    "--seed many": "--seed",
    "--seed 1.5": "--seed",
    "--seed ": "--seed",
}
FILES = {
    "--json ": "--json: must be a file that can be written (got ''); it is empty",
    "--json folder": "--json: must be a file that can be written (got 'folder'); it is a folder",
    "--json file/x.json": "--json: must be a file that can be written (got 'file/x.json'); file is not a folder",
    "--json /proc/nowhere/x.json": "--json: must be a file that can be written (got '/proc/nowhere/x.json'",
    f"--json {LONG}": "--json: must be a file that can be written",
}
FOLDERS = {
    "--out ": "--out: must be a folder that can be written (got ''); it is empty",
    "--out file": "--out: must be a folder that can be written (got 'file'); file is not a folder",
    "--out file/deep/er": "--out: must be a folder that can be written (got 'file/deep/er'); file is not a folder",
    "--out /proc/nowhere": "--out: must be a folder that can be written (got '/proc/nowhere'); no such file",
    "--checkpoint ": "--checkpoint: must be a folder that can be written (got ''); it is empty",
    "--checkpoint file": "--checkpoint: must be a folder that can be written (got 'file'); file is not a folder",
    "--checkpoint /proc/nowhere": "--checkpoint: must be a folder that can be written",
    "--json here --out here": "--json: must be a file of its own (got 'here', in the way of out",
    "--json here --out here/deep": "--json: must be a file of its own (got 'here', in the way of out",
    "--json here --checkpoint here": "--json: must be a file of its own (got 'here', in the way of checkpoint",
}
FIELDS = {
    "quickstart": {
        "--runs 0": "--runs: must be at least 1 (got 0",
        "--runs -1": "--runs: must be at least 1 (got -1",
        "--runs many": "--runs: must be a valid integer (got many",
        "--runs 1.5": "--runs: must be a valid integer",
        "--runs ": "--runs: must not be empty",
        f"--runs {HUGE}": "--runs: must be at most 1,000,000 (got 1000000000000000000",
        "--passes 0": "--passes: must be at least 1 (got 0",
        "--radius 0": "--radius: must be above 0 (got 0",
        "--radius nan": "--radius: must be a finite number (got nan",
        "--radius inf": "--radius: must be a finite number (got inf",
        "--eta -0.5": "--eta: must be above 0 (got -0.5",
        "--noise-variance x": "--noise-variance: must be a valid number",
        "--only ": "--only: must not be empty",
        "--only nobody": "--only: must be among",
    },
    "reproduce variance": {
        "--ps 1": "--ps: must be above 1 (got 1",
        "--ps 2,x": "--ps: must be a valid number",
        "--ps ,": "--ps: must be at least 1",
        "--guess 0": "--guess: must not be 0",
        "--mean nan": "--mean: must be a finite number",
        "--mean 100": "--mean",
        "--noise-variance 0": "--noise-variance: must be above 0",
    },
    "reproduce noisy-kernels": {
        "--kernels nonsense": "--kernels: must be among 'exponential kernel', 'Gaussian kernel' (got 'nonsense'",
        "--losses sqared": "did you mean 'squared'?",
        "--ps 1.0": "--ps: must be above 1 (got 1.0",
        "--overheads -1": "--overheads: must be at least 0 (got -1",
        "--overheads nan": "--overheads: must be at least 0 (got nan",
        "--etas 0": "--etas: must be above 0 (got 0",
        "--etas ,": "--etas: must be at least 1 (got 0 of them",
        "--runs 3": "--runs: must be at least 4 (got 3",
        f"--rounds {HUGE}": "--rounds: must be at most 1,000,000",
        "--instances 1": "--instances: must be at least 2 (got 1",
    },
    "reproduce gaussian-noise": {
        "--rounds 0": "--rounds: must be at least 128 (got 0",
        "--rounds 200": "--rounds: must be a multiple of 128 (got 200",
        "--noises 0,0.8": "--noises: must be below width / sqrt(2) = 0.707 (got 0.8",
        "--noises -0.1": "--noises: must be at least 0 (got -0.1",
        "--shown-noise 0.8": "--shown-noise: must be below width / sqrt(2) = 0.707 (got 0.8",
        "--only nobody": "--only: must be among",
        "--data nowhere": "--data: must name folders and files that exist (got 'nowhere'",
        "--data folder": "--data: must hold Airfoil (got folder",
        "--sets Airfol": "did you mean 'Airfoil'?",
    },
    "reproduce impossibility": {
        "--radius 1": "--radius: must be above 1 (got 1",
        "--rounds 15": "--rounds: must be at least 16 (got 15",
        "--only nobody": "--only: must be among",
        "--only two-copies": "did you mean 'two copies'?",
    },
    "reproduce multikernel": {
        "--sets nonsense": "--sets: must name a data set (name: ",
        "--sets AR(4),AR(4)": "--sets: must have different names (got 'AR(4)' twice",
        "--data nowhere": "--data: must name folders and files that exist (got 'nowhere'",
        "--data folder": "--data: must hold Airfoil (got folder",
        "--seeds many": "--seeds: must be a number",
        "--seeds 0": "--seeds: must be a number",
        "--seeds 5-2": "--seeds: must be a number",
        f"--seeds {HUGE}": "--seeds: must be at most 10000, each below 2^32",
        "--seeds 4294967296,": "--seeds: must be at most 10000, each below 2^32",
        f"--draws {HUGE}": "--draws: must be at most 1,000,000",
        "--sampler other": "--sampler: must be 'correct' or 'published' (got other",
        "--dtype float16": "--dtype: must be",
        "--impute mode": "--impute: must be 'mean' or 'median' (got mode",
        "--sets table.csv --target nonsense": "table.csv has no column 'nonsense'",
        "--sets table.csv --target 9": "table.csv has no column 9",
        "--sets file": "--sets: must name a data set (file: must end in one of",
    },
}
TABLE = {
    **ON_TOP,
    **{f"verify {options}": words for options, words in (VERIFY | SEEDS | FILES).items()},
    **{f"quickstart {options}": words for options, words in (SEEDS | FILES | FOLDERS).items()},
    **{f"{command} {options}": words for command, own in FIELDS.items() for options, words in own.items()},
}


class Worked(RuntimeError):
    """The work was begun."""


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """A folder with a file, a folder and a table, in which nothing can be done."""

    def work(*arguments, **options):
        raise Worked

    places = (study, "simulate"), (registry, "run_parallel"), (multikernel_runs, "run_set")
    for module, name in (*places, (loading, "fetch_file"), (loading, "fetch_openml")):
        monkeypatch.setattr(module, name, work)
    monkeypatch.delenv("JAXONLINE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "table.csv").write_text("a,b\n1,2\n3,4\n")
    before = sorted(tmp_path.rglob("*"))
    yield
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "kept"


def test_the_table_is_long():
    assert len(TABLE) >= 60


@pytest.mark.parametrize("line", TABLE)
def test_a_bad_command_is_two_lines(line, refused):
    done = CliRunner().invoke(app, line.split(" "))
    assert done.exit_code == 2, done.output
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: ")
    assert TABLE[line].lower() in first.lower()
    assert second.startswith("Try 'jaxonline")
    assert second.endswith("--help'.")
    assert "Traceback" not in done.output
