"""Where an interrupted study goes on: a folder or a URL, and what is to be known about it."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.types import NonNegativeFloat, Text
from jaxonline.parameters.validation import check_fields
from jaxonline.store.blocks import Store
from jaxonline.store.filesystem import is_url, storage_at
from jaxonline.store.fingerprint import describe_inputs, hash_user_code
from jaxonline.store.layout import StoreLayout


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """Where a study keeps what it has computed, wherever `checkpoint=` is asked for; a mere path or URL does as well.

    It is a zarr store, which `xarray.open_zarr` opens at any moment, labelled (learner, run, round), NaN where nothing
    was played yet; `jo.load_result` reads it too.

    It belongs to one study. What decides its numbers is compared before they are used: all numbers, the source of the
    functions and classes of yours that are met, the globals they read, versions of the libraries, the kind of device. A
    study that differs is refused, with what differs. Where something cannot be seen (a generator of random numbers that
    a function reads, a function without its source) name a version, and another one whenever you change the code: then
    the version and the numbers are compared, and no source.

    A study with more runs, or more rounds, is the same one: it goes on, and what was recorded stays. For more rounds
    each block is played from its state at the old horizon where `keep_states` was set, otherwise again from round 1.

    Blocks carry checksums: one that was damaged is set aside, with a warning, and computed again. In a folder one
    process works at a time. At a URL (`s3://bucket/study`, anything that fsspec reaches) nothing is locked: two that
    work there do the same work twice, and write the same bytes.

    Args:
        folder: a path, made when absent, or a URL.
        version: a name of yours for this version of the study.
        every: seconds after which what a block in progress has come to is kept as well.
        keep_states: whether the states of learners at the horizon stay, for more rounds. They may be large.

    Raises:
        TypeError: `folder` is no path.
        ValueError: `folder` is empty.

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

    def __post_init__(self):
        if not isinstance(self.folder, str | os.PathLike):
            raise ArgumentTypeError("checkpoint", f"must be a folder or a Checkpoint (got {self.folder!r})")
        if not os.fspath(self.folder):
            raise ArgumentError("checkpoint", "must name a folder (got '')")
        check_fields(self)
        if not is_url(self.folder):
            object.__setattr__(self, "folder", Path(self.folder))

    @classmethod
    def of(cls, given: "str | os.PathLike[str] | Checkpoint") -> "Checkpoint":
        """What was given for `checkpoint`."""
        return given if isinstance(given, Checkpoint) else cls(given)

    def __truediv__(self, name: str) -> "Checkpoint":
        """For a part of the study: a folder inside this one."""
        inside = f"{str(self.folder).rstrip('/')}/{name}" if is_url(self.folder) else Path(self.folder) / name
        return dataclasses.replace(self, folder=inside)

    def code(self, items: Mapping[str, Any]) -> str:
        """What the user's own functions and classes in some items are, now; the version where there is one.

        Raises:
            TypeError: something cannot be seen, and there is no version.
        """
        return hash_user_code(items) if self.version is None else self.version

    def open(
        self, study: Mapping[str, Any], layout: StoreLayout | None = None, meta: Mapping[str, Any] | None = None,
        exclusive: bool = True,
    ) -> Store:  # fmt: skip
        """The store, to be entered.

        Args:
            study: everything that decides the numbers, by name.
            layout: of what is played; None for a store of numbers with names.
            meta: attributes of the study.
            exclusive: whether this process locks and creates the store. False: another process holds it open.

        Raises:
            TypeError: something cannot be seen, and there is no version.
            ValueError: a URL that nothing reaches.
        """
        about, every = describe_inputs(study, self.version), float(self.every)
        return Store(storage_at(self.folder), about, every, layout, meta, self.keep_states, exclusive)
