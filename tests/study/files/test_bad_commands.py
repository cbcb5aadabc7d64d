"""Invalid command lines: exit code 2 at once, and two lines on standard error that name the option.

They run in this process. Starting the work, or using the network, raises `Worked`, which gives exit code 3.
"""

import pytest
from typer.testing import CliRunner

from benchmarks.papers.claims import registry
from benchmarks.papers.studies import multikernel
from jaxonline.cli import app
from jaxonline.datasets import loading
from jaxonline.study import study

HUGE = str(10**18)
LONG = "x" * 300 + ".json"

# parts of the message by command line, separated by " ... "
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
    "--claim ": "--claim",
    "--claim E99": "--claim ... got 'E99'",
    "--claim expnential": "did you mean 'exponential'?",
    "--claim E11 --claims E11": "--claims",
    "--samples 0": "--samples ... got 0",
    "--samples 1": "--samples ... got 1",
    f"--samples {HUGE}": "--samples ... got 1000000000000000000",
    "--samples 1e6": "--samples",
    "--figure ": "--figure ... got ''",
    "--figure folder": "--figure ... got 'folder'",
    "--figure file/x.png": "--figure ... got 'file/x.png'",
    "--figure claims.nonsense": "--figure ... got 'claims.nonsense'",
    "--figure claims": "--figure",
    "--json a.svg --figure a.svg": "--json ... got 'a.svg'",
    "--json a.svg --figure a.svg/b.svg": "--json ... got 'a.svg'",
}
SEEDS = {
    "--seed -1": "--seed ... got -1",
    "--seed 4294967296": "--seed ... got 4294967296",
    "--seed 9223372036854775808": "--seed",
    "--seed many": "--seed",
    "--seed 1.5": "--seed",
    "--seed ": "--seed",
}
FILES = {
    "--json ": "--json ... got ''",
    "--json folder": "--json ... got 'folder'",
    "--json file/x.json": "--json ... got 'file/x.json'",
    "--json /proc/nowhere/x.json": "--json ... got '/proc/nowhere/x.json'",
    f"--json {LONG}": "--json",
}
FOLDERS = {
    "--out ": "--out ... got ''",
    "--out file": "--out ... got 'file'",
    "--out file/deep/er": "--out ... got 'file/deep/er'",
    "--out /proc/nowhere": "--out ... got '/proc/nowhere'",
    "--checkpoint ": "--checkpoint ... got ''",
    "--checkpoint file": "--checkpoint ... got 'file'",
    "--checkpoint /proc/nowhere": "--checkpoint",
    "--json here --out here": "--json ... got 'here'",
    "--json here --out here/deep": "--json ... got 'here'",
    "--json here --checkpoint here": "--json ... got 'here'",
}
FIELDS = {
    "quickstart": {
        "--runs 0": "--runs ... got 0",
        "--runs -1": "--runs ... got -1",
        "--runs many": "--runs ... got many",
        "--runs 1.5": "--runs",
        "--runs ": "--runs",
        f"--runs {HUGE}": "--runs ... got 1000000000000000000",
        "--passes 0": "--passes ... got 0",
        "--radius 0": "--radius ... got 0",
        "--radius nan": "--radius ... got nan",
        "--radius inf": "--radius ... got inf",
        "--eta -0.5": "--eta ... got -0.5",
        "--noise-variance x": "--noise-variance",
        "--only ": "--only",
        "--only nobody": "--only",
    },
    "reproduce variance": {
        "--ps 1": "--ps ... got 1",
        "--ps 2,x": "--ps",
        "--ps ,": "--ps",
        "--guess 0": "--guess",
        "--mean nan": "--mean",
        "--mean 100": "--mean",
        "--noise-variance 0": "--noise-variance",
    },
    "reproduce noisy-kernels": {
        "--kernels nonsense": "--kernels ... got 'nonsense'",
        "--losses sqared": "did you mean 'squared'?",
        "--ps 1.0": "--ps ... got 1.0",
        "--overheads -1": "--overheads ... got -1",
        "--overheads nan": "--overheads ... got nan",
        "--etas 0": "--etas ... got 0",
        "--etas ,": "--etas ... got 0",
        "--runs 3": "--runs ... got 3",
        f"--rounds {HUGE}": "--rounds",
        "--instances 1": "--instances ... got 1",
    },
    "reproduce gaussian-noise": {
        "--rounds 0": "--rounds ... got 0",
        "--rounds 200": "--rounds ... got 200",
        "--noises 0,0.8": "--noises ... got 0.8",
        "--noises -0.1": "--noises ... got -0.1",
        "--shown-noise 0.8": "--shown-noise ... got 0.8",
        "--only nobody": "--only",
        "--data nowhere": "--data ... got 'nowhere'",
        "--data folder": "--data ... got folder",
        "--sets Airfol": "did you mean 'Airfoil'?",
    },
    "reproduce radial-kernels": {
        "--c 5": "--c ... got 5",
        "--noise 0": "--noise ... got 0",
        "--rounds 63": "--rounds ... got 63",
        "--only nobody": "--only",
    },
    "reproduce impossibility": {
        "--radius 1": "--radius ... got 1",
        "--rounds 15": "--rounds ... got 15",
        "--only nobody": "--only",
        "--only two-copies": "did you mean 'two copies'?",
    },
    "reproduce multikernel": {
        "--sets nonsense": "--sets",
        "--sets AR(4),AR(4)": "--sets ... got 'AR(4)'",
        "--data nowhere": "--data ... got 'nowhere'",
        "--data folder": "--data ... got folder",
        "--seeds many": "--seeds",
        "--seeds 0": "--seeds",
        "--seeds 5-2": "--seeds",
        f"--seeds {HUGE}": "--seeds",
        "--seeds 4294967296,": "--seeds",
        "--sampler other": "--sampler ... got other",
        "--sets table.csv --target nonsense": "table.csv has no column 'nonsense'",
        "--sets table.csv --target 9": "table.csv has no column 9",
        "--sets file": "--sets",
    },
    "reproduce multikernel-rates": {
        "--rounds 256": "--rounds ... got 1",
        "--n-kernels 1": "--n-kernels ... got 1",
        "--rounds 256,256": "--rounds ... distinct",
        "--cost-kernels 4": "--cost-kernels ... got 1",
        "--rounds 256,8": "--rounds ... got 8",
        "--kernel nonsense": "--kernel ... got nonsense",
        "--draws 2": "--draws ... got 2",
    },
}
TABLE = {
    **ON_TOP,
    **{f"verify {options}": words for options, words in (VERIFY | SEEDS | FILES).items()},
    **{f"quickstart {options}": words for options, words in (SEEDS | FILES | FOLDERS).items()},
    **{f"{command} {options}": words for command, own in FIELDS.items() for options, words in own.items()},
}


class Worked(RuntimeError):
    """The work has started."""


@pytest.fixture
def unchanged_folder(tmp_path, monkeypatch):
    """A folder with a file, a folder and a table, that commands must not change."""

    def work(*arguments, **options):
        raise Worked

    places = (study, "simulate"), (registry, "run_parallel"), (multikernel, "run_set")
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


def test_at_least_60_command_lines_are_checked():
    assert len(TABLE) >= 60


@pytest.mark.parametrize("line", TABLE)
def test_an_invalid_command_prints_two_lines(line, unchanged_folder):
    done = CliRunner().invoke(app, line.split(" "))
    assert done.exit_code == 2, done.output
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: ")
    assert all(part in first.lower() for part in TABLE[line].lower().split(" ... "))
    assert second.startswith("Try 'jaxonline")
    assert second.endswith("--help'.")
    assert "Traceback" not in done.output
