"""Python as a user starts it: a fresh interpreter, one CPU device, jax's usual configuration."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_python(code: str, folder: Path = ROOT) -> str:
    """Standard output of a program; warnings are errors."""
    return _run([sys.executable, "-W", "error", "-c", code], folder)


def run_commands(lines: str, folder: Path) -> str:
    """Standard output of lines of shell, in which `python` is this one; the first that fails ends them."""
    return _run(["bash", "-e", "-c", lines], folder, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def _run(command: list[str], folder: Path, **others: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    environment |= {"PYTHONPATH": str(ROOT)} | others
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
