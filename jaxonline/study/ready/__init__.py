"""Ready studies, one file each (a large one has a second one for its figures), loaded when used."""

import importlib
from typing import Any

STUDIES = {
    "quickstart": "jaxonline.study.ready.quickstart:Quickstart",
    "variance": "jaxonline.study.ready.variance:Variance",
    "noisy-kernels": "jaxonline.study.ready.noisy_kernels:NoisyKernels",
    "gaussian-noise": "jaxonline.study.ready.gaussian_noise:GaussianNoise",
    "impossibility": "jaxonline.study.ready.impossibility:Impossibility",
    "multikernel": "jaxonline.study.ready.multikernel:MultiKernelTable",
}


def load_study(name: str) -> Any:
    """The study of that name, a class."""
    module, _, study = STUDIES[name].partition(":")
    return getattr(importlib.import_module(module), study)
