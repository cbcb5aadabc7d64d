"""Where an interrupted study goes on: a folder, and what is to be known about it."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxonline._util import check
from jaxonline.simulation.fingerprint import code_of, describe
from jaxonline.simulation.store import Store


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A folder that keeps what a study has computed, wherever `checkpoint=` is asked for; a mere path does as well.

    The folder belongs to one study. What decides its numbers is compared before they are used: all numbers, the source
    of the functions and classes of yours that are met, the globals they read, versions of the libraries. A study that
    differs is refused, with what differs. Where something cannot be seen (a generator of random numbers that a function
    reads, a function of C) name a version, and another one whenever you change the code: then the version and the
    numbers are compared, and no source.

    Blocks carry checksums: one that was damaged is set aside, with a warning, and computed again. One process at a time
    works in a folder.

    Args:
        folder: made when absent.
        version: a name of yours for this version of the study.
        every: seconds after which what a block in progress has come to is kept as well, at least 0.

    Raises:
        TypeError: `folder` is no path, `version` no text.
        ValueError: an empty `folder` or `version`, or `every` below 0.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = jo.Checkpoint(folder, version="1", every=60.0)
        ...     first, again = (
        ...         jo.simulate(game, learner, n_runs=2, n_rounds=6, checkpoint=checkpoint) for _ in range(2)
        ...     )
        >>> bool((first.cumulative_loss == again.cumulative_loss).all())
        True
    """

    folder: str | os.PathLike[str]
    version: str | None = None
    every: float = 30.0

    def __post_init__(self):
        if not isinstance(self.folder, str | os.PathLike):
            raise TypeError(f"checkpoint must be a folder or a Checkpoint, got {self.folder!r}")
        if not os.fspath(self.folder):
            raise ValueError("checkpoint must name a folder, got ''")
        if self.version is not None and not isinstance(self.version, str):
            raise TypeError(f"version must be a text, got {self.version!r}")
        if self.version == "":
            raise ValueError("version must not be empty, got ''")
        check.not_negative("every", self.every)
        object.__setattr__(self, "folder", Path(self.folder))

    @classmethod
    def of(cls, given: "str | os.PathLike[str] | Checkpoint") -> "Checkpoint":
        """What was given for `checkpoint`."""
        return given if isinstance(given, Checkpoint) else cls(given)

    def __truediv__(self, name: str) -> "Checkpoint":
        """For a part of the study: a folder inside this one."""
        return dataclasses.replace(self, folder=Path(self.folder) / name)

    def code(self, items: Mapping[str, Any]) -> str:
        """What the user's own functions and classes in some items are, now; the version where there is one.

        Raises:
            TypeError: something cannot be seen, and there is no version.
        """
        return code_of(items) if self.version is None else self.version

    def open(self, study: Mapping[str, Any]) -> Store:
        """The folder, to be entered.

        Args:
            study: everything that decides the numbers, by name.

        Raises:
            TypeError: something cannot be seen, and there is no version.
        """
        return Store(Path(self.folder), describe(study, self.version), float(self.every))
