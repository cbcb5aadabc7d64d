"""Checks that the outputs of a command do not replace each other, and steps that all run although one fails."""

from collections.abc import Callable, Mapping
from pathlib import Path

from jaxonline.parameters.errors import ArgumentError


def check_distinct(files: Mapping[str, Path], folders: Mapping[str, Path] = {}) -> None:
    """Check that no output file equals another output or contains one; raises ValueError."""
    resolved = {name: path.resolve() for name, path in (*files.items(), *folders.items())}
    for name in files:
        for other, path in resolved.items():
            if other != name and resolved[name] in (path, *path.parents):
                raise ArgumentError(name, f"must be a file of its own (got '{files[name]}', in the way of {other})")


def run_all_steps(*steps: Callable[[], object]) -> None:
    """Run all steps, even if one fails; then raise one OSError with the messages of all OSErrors and ValueErrors."""
    errors: list[Exception] = []
    for step in steps:
        try:
            step()
        except (OSError, ValueError) as error:
            errors.append(error)
    if errors:
        raise OSError("; ".join(map(str, errors))) from errors[0]
