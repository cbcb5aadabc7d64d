"""Checkpoints of a study: the folder of the study's numbers, and the inputs that identify the study."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxonline.parameters import check
from jaxonline.parameters.signatures import check_fields
from jaxonline.parameters.types import NonNegativeFloat, Text
from jaxonline.store.blocks import Store
from jaxonline.store.filesystem import Folder, local_path
from jaxonline.store.fingerprint import describe_inputs, find_user_code
from jaxonline.store.layout import StoreLayout


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The place where a study stores its computed numbers. A `checkpoint=` argument also accepts a path.

    A checkpoint is a zarr store, which `xarray.open_zarr` opens at any moment. The arrays of a checkpoint have the
    labels (learner, run, round), and are NaN where nothing is computed yet. `jo.load_result` also reads a checkpoint.

    A checkpoint belongs to one study. Before a checkpoint is used, the stored inputs that determine the numbers are
    compared with the new inputs: all numbers, the source of your functions and classes, the globals that your code
    reads, versions of libraries, and the kind of device. A different study raises an error that names the difference.
    Some inputs cannot be inspected (a random generator, a file or an environment variable that a function reads, a
    function without source). For such inputs give a `version`, and change the version whenever you change the code:
    then the version and the numbers are compared, but not the sources.

    A study with more runs or more rounds counts as the same study: the study continues, and recorded values stay. If
    more rounds are requested, each block continues from its state at the old horizon if `keep_states` was set, and
    otherwise restarts at round 1.

    Blocks have checksums. A damaged block is renamed, with a warning, and computed again. Only one process at a time
    can use a folder.

    Args:
        folder: a path; an absent folder is created.
        version: your name for this version of the study.
        every: number of seconds between two saved states of an unfinished block.
        keep_states: whether to keep the states of learners at the horizon, so that rounds can be added later. States
            may be large.

    Raises:
        TypeError: `folder` is not a path.
        ValueError: `folder` is empty or a URL.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = jo.Checkpoint(folder, version="1", every=60.0)
        ...     first, longer = (
        ...         jo.simulate(game, learner, n_runs=2, n_rounds=n, record_at=[6], checkpoint=checkpoint)
        ...         for n in (6, 9)
        ...     )
        >>> longer.rounds.tolist(), bool((first.cumulative_loss == longer.cumulative_loss[:, :, :1]).all())
        ([6, 9], True)
    """

    folder: str | os.PathLike[str]
    version: Text | None = None
    every: NonNegativeFloat = 30.0
    keep_states: bool = False

    def __post_init__(self) -> None:
        check.path("folder", self.folder)
        check_fields(self)
        object.__setattr__(self, "folder", local_path(self.folder, "folder"))

    @classmethod
    def of(cls, checkpoint: "str | os.PathLike[str] | Checkpoint") -> "Checkpoint":
        """Convert the value of an argument `checkpoint` to a `Checkpoint`."""
        if isinstance(checkpoint, Checkpoint):
            return checkpoint
        check.instance("checkpoint", checkpoint, (str, os.PathLike), "a folder, or a Checkpoint")
        return cls(local_path(check.path("checkpoint", checkpoint), "checkpoint"))

    def __truediv__(self, name: str) -> "Checkpoint":
        """Return the checkpoint of a part of the study, which is a folder inside the folder of the study."""
        return dataclasses.replace(self, folder=Path(self.folder) / name)

    def refresh_code(self, items: Mapping[str, Any]) -> str:
        """Clear the user's caches in `items`, and return the version with a hash of the user's code ("" for no code).

        Caches are those of `functools.lru_cache` and `functools.cached_property`: they may hold values that older code
        computed. Raises a TypeError if code cannot be inspected and there is no version.
        """
        code = find_user_code(items, strict=self.version is None)
        for clear in code.clear_caches:
            clear()
        return code.hash if self.version is None else f"{self.version} {code.hash}"

    def open(
        self, study: Mapping[str, Any], layout: StoreLayout | None = None, meta: Mapping[str, Any] | None = None,
        exclusive: bool = True,
    ) -> Store:  # fmt: skip
        """Return the store of the checkpoint, which is a context manager.

        Raises a TypeError if an input cannot be inspected and needs a `version`.

        Args:
            study: all inputs that decide the numbers, by name.
            layout: layout of the arrays; None for a store of named arrays.
            meta: attributes of the study.
            exclusive: whether this process locks and creates the store; False if another process holds the store open.
        """
        about, every = describe_inputs(study, self.version), float(self.every)
        return Store(Folder(Path(self.folder)), about, every, layout, meta, self.keep_states, exclusive)
