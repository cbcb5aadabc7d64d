"""The settings that every method shares."""

import dataclasses

from jax.sharding import Mesh

from jaxonline import _check
from jaxonline.verify._sampling import Progress


@dataclasses.dataclass(frozen=True)
class Settings:
    """Error rates, and how samples are drawn; the names are those of `unbiased`."""

    detect: float
    level: float
    power: float
    kurtosis: float
    samples: int | None
    max_samples: int
    seed: int
    width: int
    mesh: Mesh | None
    progress: Progress | None

    def __post_init__(self):
        _check.positive("detect", self.detect)
        _check.number("level", self.level, above=0.0, below=1.0)
        _check.number("power", self.power, above=0.0, below=1.0)
        _check.number("kurtosis", self.kurtosis, least=1.0)
        _check.count("max_samples", self.max_samples)
        _check.count("width", self.width, least=2)
        if self.samples is not None:
            _check.count("samples", self.samples)

    @property
    def miss(self) -> float:
        """The probability of missing a bias of `detect`."""
        return 1 - self.power
