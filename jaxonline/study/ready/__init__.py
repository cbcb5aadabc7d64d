"""Ready studies, one file each (a large one has a second one for its figures), loaded when used."""

import ast
import importlib.util
from typing import Any

STUDIES = {
    "quickstart": "jaxonline.study.ready.quickstart:Quickstart",
    "variance": "jaxonline.study.ready.variance:Variance",
    "noisy-kernels": "jaxonline.study.ready.noisy_kernels:NoisyKernels",
    "gaussian-noise": "jaxonline.study.ready.gaussian_noise:GaussianNoise",
    "impossibility": "jaxonline.study.ready.impossibility:Impossibility",
    "multikernel": "jaxonline.study.ready.multikernel:MultiKernelTable",
    "attributes": "jaxonline.study.ready.attributes:FewAttributes",
}


def load_study(name: str) -> Any:
    """The study of that name, a class."""
    module, _, study = STUDIES[name].partition(":")
    return getattr(importlib.import_module(module), study)


def study_title(name: str) -> str:
    """The title of that study, read from its source: to load a study takes seconds."""
    module, _, study = STUDIES[name].partition(":")
    loader: Any = importlib.util.find_spec(module).loader  # type: ignore[union-attr]
    classes = (node for node in ast.parse(loader.get_source(module)).body if isinstance(node, ast.ClassDef))
    fields = (node for each in classes if each.name == study for node in each.body if isinstance(node, ast.AnnAssign))
    return next(ast.literal_eval(node.value) for node in fields if ast.unparse(node.target) == "title" and node.value)
