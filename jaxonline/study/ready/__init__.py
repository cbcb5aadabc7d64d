"""Ready studies: each study has a module, and perhaps modules for figures and data, which are imported on use."""

import ast
import importlib.util
from typing import Any

# By command group: `jaxonline NAME`, `jaxonline reproduce NAME`, `jaxonline play NAME`, `jaxonline benchmark NAME`
STUDY_GROUPS = {
    "": {"quickstart": "jaxonline.study.ready.quickstart:Quickstart"},
    "reproduce": {
        "variance": "jaxonline.study.ready.variance:Variance",
        "noisy-kernels": "jaxonline.study.ready.noisy_kernels:NoisyKernels",
        "gaussian-noise": "jaxonline.study.ready.gaussian_noise:GaussianNoise",
        "radial-kernels": "jaxonline.study.ready.radial_kernels:RadialKernels",
        "impossibility": "jaxonline.study.ready.impossibility:Impossibility",
        "multikernel": "jaxonline.study.ready.multikernel:MultiKernelTable",
        "multikernel-rates": "jaxonline.study.ready.multikernel_rates:MultiKernelRates",
        "attributes": "jaxonline.study.ready.attributes:FewAttributes",
        "bandit-algorithms": "jaxonline.study.ready.published.bandit_algorithms:BanditAlgorithms",
        "finite-time-bandits": "jaxonline.study.ready.published.finite_time:FiniteTime",
        "non-stationary-bandits": "jaxonline.study.ready.published.non_stationary:NonStationary",
        "tsallis-inf": "jaxonline.study.ready.published.tsallis_inf:TsallisExperiments",
    },
    "play": {
        "experts": "jaxonline.study.ready.games.experts:Experts",
        "tracking": "jaxonline.study.ready.games.tracking:Tracking",
        "forecasts": "jaxonline.study.ready.games.forecasts:RealSeries",
        "mistakes": "jaxonline.study.ready.games.mistakes:FiniteClasses",
        "sparse": "jaxonline.study.ready.games.sparse:SparseAttributes",
        "perceptron": "jaxonline.study.ready.games.perceptron:Perceptrons",
        "bandits": "jaxonline.study.ready.games.bandits:Bandits",
        "sleeping-bandits": "jaxonline.study.ready.games.sleeping:SleepingBandits",
        "sleeping-experts": "jaxonline.study.ready.games.sleeping:SleepingExperts",
        "delayed": "jaxonline.study.ready.games.delayed:DelayedBandits",
        "delayed-gradient": "jaxonline.study.ready.games.delayed_gradient:DelayedGradient",
        "best-arm": "jaxonline.study.ready.games.best_arm:BestArmIdentification",
        "sets": "jaxonline.study.ready.games.semi_bandits:SemiBandits",
        "duels": "jaxonline.study.ready.games.duels:Duels",
        "contextual": "jaxonline.study.ready.games.contextual:Contextual",
        "adaptive": "jaxonline.study.ready.games.adaptive:AdaptiveAdversaries",
        "conformal": "jaxonline.study.ready.games.conformal:Conformal",
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


def _location(name: str) -> tuple[str, str]:
    module, _, study = next(studies[name] for studies in STUDY_GROUPS.values() if name in studies).partition(":")
    return module, study


def load_study(name: str) -> Any:
    """Return the class of the ready study with a given name."""
    module, study = _location(name)
    return getattr(importlib.import_module(module), study)


def study_title(name: str) -> str:
    """Return the title of a study, read from its source code, since importing a study takes seconds."""
    module, study = _location(name)
    loader: Any = importlib.util.find_spec(module).loader  # type: ignore[union-attr]
    classes = (node for node in ast.parse(loader.get_source(module)).body if isinstance(node, ast.ClassDef))
    fields = (node for cls in classes if cls.name == study for node in cls.body if isinstance(node, ast.AnnAssign))
    return next(ast.literal_eval(node.value) for node in fields if ast.unparse(node.target) == "title" and node.value)
