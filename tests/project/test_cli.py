"""The program `jaxonline`: imports, versions, pipes, full disks and exit codes; and where `make` has its caches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fresh_python import ROOT, run_python
from typer.testing import CliRunner

from jaxonline.cli import app


def program(*arguments, stdout=subprocess.PIPE, **variables):
    """`python -m jaxonline` in a process of its own."""
    left_out = "COLUMNS", "FORCE_COLOR", "NO_COLOR", "XLA_FLAGS"
    environment = {key: value for key, value in os.environ.items() if key not in left_out}
    return subprocess.run(
        [sys.executable, "-m", "jaxonline", *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
        timeout=120, env=environment | {"PYTHONPATH": str(ROOT)} | variables,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["new", "--help"], ["--version"]])
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
    jaxonline, jax, python = done.stdout.strip().split(", ")
    assert [each.split()[0] for each in (jaxonline, jax, python)] == ["jaxonline", "jax", "Python"]
    assert python.split()[1] == sys.version.split()[0]
    script = Path(sys.executable).with_name("jaxonline")
    shown = subprocess.run(
        [script, "--version"], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert shown.stdout == done.stdout


@pytest.mark.long
def test_output_in_a_pipe_has_no_colour():
    for arguments in (["--help"], ["list", "UCB1"], ["nonsense"]):
        done = program(*arguments, TERM="xterm-256color")
        assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.long
def test_a_closed_pipe_does_not_stop_a_study(tmp_path):
    """As in `run | head -1`: no traceback, and all outputs."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = program("run", "mistakes", "--runs", "2", "--out", str(tmp_path / "out"), stdout=closed)
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
        assert (tmp_path / "out" / "report.html").exists()
        assert program("--help", stdout=closed).returncode == 0


@pytest.mark.long
def test_a_full_standard_output_is_an_error():
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


# ---------------------------------------------------------------------------------------------------------------------
# The Makefile

SHOW = """
show:
	@echo "$$UV_CACHE_DIR"
	@echo "$$MPLCONFIGDIR"
	@echo "$$JAX_COMPILATION_CACHE_DIR"
"""
HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "UV_CACHE_DIR", "MPLCONFIGDIR")


@pytest.fixture
def tree(tmp_path):
    """A work tree with nothing in it, in a path with a space and a letter beyond ASCII."""
    folder = tmp_path / "a treé"
    folder.mkdir()
    (folder / "Makefile").write_text((ROOT / "Makefile").read_text() + SHOW)
    return folder


def caches(tree, **variables):
    """Of uv and matplotlib, "" for the one that they take themselves; and of jax. Nothing is made."""
    inherited = (*HOMES, "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    environment = {key: value for key, value in os.environ.items() if key not in inherited}
    environment |= {key: str(value) for key, value in variables.items()}
    command = ["make", "--silent", "show"]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=True)
    assert [path.name for path in tree.iterdir()] == ["Makefile"]
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("variables", "locked", "inside"),
    [
        (["HOME"], [], []), (["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"], [], []),
        ([], ["HOME"], ["uv", "matplotlib"]),
        (["HOME"], ["XDG_CACHE_HOME"], ["uv"]), (["HOME"], ["XDG_CONFIG_HOME"], ["matplotlib"]),
        (["HOME"], ["UV_CACHE_DIR", "MPLCONFIGDIR"], ["uv", "matplotlib"]),
    ],
)  # fmt: skip
def test_make_uses_caches_in_the_work_tree_if_shared_ones_are_locked(tree, tmp_path, variables, locked, inside):
    """Also shared ones that are not there yet. A file is a place where not even the superuser can make a folder."""
    (tmp_path / "locked").write_text("")
    given = dict.fromkeys(variables, tmp_path / "shared") | dict.fromkeys(locked, tmp_path / "locked" / "new")
    wanted = [str(tree / ".cache" / name) if name in inside else "" for name in ("uv", "matplotlib")]
    assert caches(tree, **given) == [*wanted, str(tree / ".jax_cache")]
    own = {"HOME": tmp_path, "UV_CACHE_DIR": tmp_path / "uv", "MPLCONFIGDIR": tmp_path / "mpl"}
    assert caches(tree, **own)[:2] == [str(tmp_path / "uv"), str(tmp_path / "mpl")]
