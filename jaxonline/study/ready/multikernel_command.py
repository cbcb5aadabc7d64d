"""What `jaxonline reproduce multikernel` does, with all its options."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jaxonline.study.files import write_json
from jaxonline.study.ready.multikernel import SetResult, as_json, load_sets, reproduce, scaled
from jaxonline.study.ready.multikernel_draws import Draws, draw_many
from jaxonline.study.ready.multikernel_report import drift, parse_seeds, summary, terminal_table, write


def run(
    *,
    data: Sequence[Path] | None = None,
    sets: Sequence[str] | None = None,
    seeds: str = "5",
    forward: bool = False,
    json: Path | None = None,
    target: str | None = None,
    impute: str | None = None,
    draws: int = 0,
    sampler: str = "correct",
    dtype: str = "float64",
    out: Path | None = None,
    say: Callable[[Any], None] = print,
) -> list[SetResult]:
    """Reproduce the table, and write what is asked for.

    Args:
        data: folders and files, before the folder that the environment variable JAXONLINE_DATA names.
        sets: names and files. By default the files that `data` names, or else AR(4), Airfoil and Concrete. Items of
            `data` and `sets` may be lists with commas.
        seeds: "5" for the first five, or "0,1,2", "0-4".
        forward: draw the figures for true VAW instead of online ridge. (The table and the JSON hold both.)
        json: a file for {set: {algorithm: {"ridge": [mse per seed], "vaw": [...]}}}.
        target: column of the target, by name or number, for files of columns.
        impute: "mean" or "median", for files with gaps.
        draws: of features by JAX, to see which differences are real (200 take some minutes); 0 for none.
        sampler: of OMKL-GF, "correct" or "published".
        dtype: "float64"; or "float32", which is then compared with float64.
        out: a folder for tables and figures.
        say: prints a line, or a `rich` table.

    Raises:
        ValueError: an option out of its range, and what `reproduce` raises.

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel_command import run
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "line.npz"
        ...     np.savez(file, X=np.arange(6.0)[:, None], y=np.arange(6.0))
        ...     results = run(data=[file], seeds="1", json=pathlib.Path(folder) / "line.json", say=lambda line: None)
        >>> [result.name for result in results]
        ['line']
    """
    chosen: dict[str, Any] = {"sets": _split(sets), "data": _split(data), "target": target, "impute": impute}
    settings: dict[str, Any] = {"seeds": parse_seeds(seeds), "sampler": sampler, **chosen}
    results = reproduce(**settings, dtype=dtype, progress=say)
    say(terminal_table(results))
    if dtype == "float32":
        for line in drift(results, reproduce(**settings)):
            say(line)
    if json is not None:
        say(f"{write_json(json, as_json(results))} written")
    many: list[Draws] = []
    for name, X, y in load_sets(**chosen) if draws else ():
        many.append(draw_many(name, *scaled(X, y), n_draws=draws))
        say(f"{name}: {draws} draws of the features")
    for line in summary(many):
        say(line)
    if out is not None:
        paths = write(results, out, "vaw" if forward else "ridge", many)
        say(f"{', '.join(str(path) for path in paths)} written")
    return results


def _split(items: Sequence[str | Path] | None) -> list[str]:
    """Items one by one: each may be a list with commas, unless it is a path."""
    parts = [[str(item)] if Path(item).exists() else str(item).split(",") for item in items or ()]
    return [part.strip() for group in parts for part in group if part.strip()]
