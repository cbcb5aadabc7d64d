"""Settings shared by all methods of verification."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from jax.sharding import Mesh

from jaxonline.parameters import check
from jaxonline.simulation.blocks import check_mesh
from jaxonline.verify.sampling import Progress, Sampler

_ASSUMED_KURTOSIS = 1000.0


@dataclasses.dataclass(frozen=True)
class Settings:
    """Error rates and sampling options, named as in `unbiased`."""

    detect: float
    level: float
    power: float
    kurtosis: float | None
    samples: int | None
    max_samples: int
    seed: int
    width: int
    mesh: Mesh | None
    progress: Progress | None
    max_seconds: float | None = None
    per_coordinate: bool = False
    few: bool = False
    began: float = dataclasses.field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        check.positive("detect", self.detect)
        check.number("level", self.level, gt=0.0, lt=1.0)
        check.number("power", self.power, gt=0.0, lt=1.0)
        if self.kurtosis is not None:
            check.number("kurtosis", self.kurtosis, ge=1.0)
        check.count("seed", self.seed, ge=0)
        if self.mesh is not None:
            check_mesh(self.mesh)
        if self.progress is not None:
            check.function("progress", self.progress, "(done, total)")
        check.count("max_samples", self.max_samples)
        check.count("width", self.width, ge=2)
        if self.samples is not None:
            check.count("samples", self.samples)
        if self.max_seconds is not None:
            check.positive("max_seconds", self.max_seconds)
        check.flag("per_coordinate", self.per_coordinate)
        check.flag("few", self.few)

    def sampler(self, estimator: Callable[..., Any], *root: int) -> Sampler:
        """Create a sampler of the estimator; see `Sampler.create`."""
        return Sampler.create(estimator, self.seed, self.width, self.mesh, *root, few=self.few)

    @property
    def kurtosis_of_intervals(self) -> float:
        """The kurtosis that intervals assume; without a stated one they only advise the caller."""
        return _ASSUMED_KURTOSIS if self.kurtosis is None else self.kurtosis

    def states(self, kurtosis: float) -> bool:
        """Whether the caller states that the kurtosis is at most `kurtosis`."""
        return self.kurtosis is not None and self.kurtosis <= kurtosis

    @property
    def stops_early(self) -> bool:
        """Whether the verdict may be reached before all samples are drawn."""
        return self.samples is None or self.max_seconds is not None

    def is_out_of_time(self) -> bool:
        """Whether the time limit is exceeded."""
        return self.max_seconds is not None and time.monotonic() - self.began > self.max_seconds

    @property
    def miss_probability(self) -> float:
        """The probability of missing a bias of `detect`."""
        return 1 - self.power
