"""Ready studies: each study has a module, and perhaps modules for figures and data, which are imported on use."""

import ast
import importlib.util
from typing import Any

# By command group: `jaxonline NAME`, `jaxonline play NAME`, `jaxonline benchmark NAME`
STUDY_GROUPS = {
    "": {"quickstart": "jaxonline.study.ready.quickstart:Quickstart"},
    "play": {
        "experts": "jaxonline.study.ready.games.experts:Experts",
        "tracking": "jaxonline.study.ready.games.tracking:Tracking",
        "forecasts": "jaxonline.study.ready.games.forecasts:RealSeries",
        "mistakes": "jaxonline.study.ready.games.mistakes:FiniteClasses",
        "sparse": "jaxonline.study.ready.games.sparse:SparseAttributes",
        "perceptron": "jaxonline.study.ready.games.perceptron:Perceptrons",
        "bandits": "jaxonline.study.ready.games.bandits:Bandits",
        "delayed": "jaxonline.study.ready.games.delayed:DelayedBandits",
        "delayed-gradient": "jaxonline.study.ready.games.delayed_gradient:DelayedGradient",
        "best-arm": "jaxonline.study.ready.games.best_arm:BestArmIdentification",
        "sets": "jaxonline.study.ready.games.semi_bandits:SemiBandits",
        "duels": "jaxonline.study.ready.games.duels:Duels",
        "contextual": "jaxonline.study.ready.games.contextual:Contextual",
        "adaptive": "jaxonline.study.ready.games.adaptive:AdaptiveAdversaries",
        "quantiles": "jaxonline.study.ready.games.quantiles:Quantiles",
        "convex": "jaxonline.study.ready.games.convex:Convex",
        "strongly-convex": "jaxonline.study.ready.games.strongly_convex:StronglyConvex",
    },
    "benchmark": {
        "noisy-regression": "jaxonline.study.ready.suites.noisy_regression:NoisyRegression",
        "textbook-bandits": "jaxonline.study.ready.suites.textbook_bandits:TextbookBandits",
    },
}


def study_commands() -> dict[str, str]:
    """Return by study name the command that runs the study, without the word `jaxonline`."""
    return {name: f"{group} {name}".strip() for group, studies in STUDY_GROUPS.items() for name in studies}


def load_study(location: str) -> Any:
    """Return the class of a ready study at "module:class"."""
    module, _, study = location.partition(":")
    return getattr(importlib.import_module(module), study)


def study_title(location: str) -> str:
    """Return the title of a study, read from its source code, since importing a study takes seconds."""
    module, _, study = location.partition(":")
    loader: Any = importlib.util.find_spec(module).loader  # type: ignore[union-attr]
    classes = (node for node in ast.parse(loader.get_source(module)).body if isinstance(node, ast.ClassDef))
    fields = (node for cls in classes if cls.name == study for node in cls.body if isinstance(node, ast.AnnAssign))
    return next(ast.literal_eval(node.value) for node in fields if ast.unparse(node.target) == "title" and node.value)
