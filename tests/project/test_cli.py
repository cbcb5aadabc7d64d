"""The program `jaxonline`: imports, versions, pipes, full disks and exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fresh_python import ROOT, run_python
from typer.testing import CliRunner

from jaxonline.cli import app


def program(*arguments, stdout=subprocess.PIPE, **variables):
    left_out = "COLUMNS", "FORCE_COLOR", "NO_COLOR", "XLA_FLAGS"
    environment = {key: value for key, value in os.environ.items() if key not in left_out}
    return subprocess.run(
        [sys.executable, "-m", "jaxonline", *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
        timeout=120, env=environment | {"PYTHONPATH": str(ROOT)} | variables,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_slow_imports_are_deferred(arguments):
    code = f"""
import sys
from jaxonline.cli import app
try:
    app({arguments})
except SystemExit as end:
    assert not end.code
heavy = {{"jax", "jaxlib", "matplotlib", "numpy", "optax", "pandas", "scipy", "sklearn", "xarray", "zarr"}}
print(sorted(heavy & set(sys.modules)))
"""
    assert run_python(code).splitlines()[-1] == "[]"


def test_version_of_module_and_script():
    done = program("--version")
    assert done.returncode == 0, done.stderr
    assert [part.split()[0] for part in done.stdout.split(", ")] == ["jaxonline", "jax", "Python"]
    script = [Path(sys.executable).with_name("jaxonline"), "--version"]
    assert subprocess.check_output(script, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}) == done.stdout


@pytest.mark.long
def test_pipes_without_colour_closed_pipes_and_full_disks(tmp_path):
    """As in `run | head -1`: no traceback, and all outputs. A full standard output is an error."""
    for arguments in (["--help"], ["list", "UCB1"], ["nonsense"]):
        done = program(*arguments, TERM="xterm-256color")
        assert "\x1b" not in done.stdout + done.stderr
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = program("run", "mistakes", "--runs", "2", "--out", str(tmp_path / "out"), stdout=closed)
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
        assert (tmp_path / "out" / "report.html").exists()
    with open("/dev/full", "w") as full:
        done = program("list", stdout=full)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "start"),
    [
        (MemoryError("no room"), 2, "Error: no room\nTry"),
        (KeyboardInterrupt(), 130, ""),
        (RuntimeError("oh"), 3, "Trace"),
    ],
)
def test_exit_codes_tell_invalid_input_from_interruptions_and_bugs(monkeypatch, error, code, start):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("jaxonline.study.files.commands.run_file", fail)
    done = CliRunner().invoke(app, ["run", "bandits"])
    assert done.exit_code == code
    assert done.stderr.startswith(start)
