"""Reproductions of the experiments of the five papers, and of published figures of others (`published`).

`STUDIES` has the location of each study by name, `SOURCES` its paper, and `QUICK` the fields of its quick form, which
takes at most about 20 seconds on two cores.
"""

import math
from typing import Any

_NOISY_KERNELS = "Cesa-Bianchi, Shalev-Shwartz and Shamir 2010, noisy data with kernels"
_ASSUMPTIONS = "Cesa-Bianchi, Shalev-Shwartz and Shamir 2010, distributional assumptions"
_ATTRIBUTES = "Cesa-Bianchi, Shalev-Shwartz and Shamir 2010, partially observed attributes"
_MULTIKERNEL = "Rokhlin and Gurtovaya 2025"

STUDIES = {
    "variance": "benchmarks.papers.studies.variance:Variance",
    "noisy-kernels": "benchmarks.papers.studies.noisy_kernels:NoisyKernels",
    "multilevel": "benchmarks.papers.studies.multilevel:Multilevel",
    "gaussian-noise": "benchmarks.papers.studies.gaussian_noise:GaussianNoise",
    "radial-kernels": "benchmarks.papers.studies.radial_kernels:RadialKernels",
    "impossibility": "benchmarks.papers.studies.impossibility:Impossibility",
    "one-copy": "benchmarks.papers.studies.one_copy:OneCopy",
    "multikernel": "benchmarks.papers.studies.multikernel:MultiKernelTable",
    "multikernel-rates": "benchmarks.papers.studies.multikernel_rates:MultiKernelRates",
    "attributes": "benchmarks.papers.studies.attributes:FewAttributes",
    "factor-d": "benchmarks.papers.studies.factor_d:FactorD",
    "bandit-algorithms": "benchmarks.papers.published.bandit_algorithms:BanditAlgorithms",
    "finite-time-bandits": "benchmarks.papers.published.finite_time:FiniteTime",
    "non-stationary-bandits": "benchmarks.papers.published.non_stationary:NonStationary",
    "tsallis-inf": "benchmarks.papers.published.tsallis_inf:TsallisExperiments",
}
SOURCES = {
    "variance": _NOISY_KERNELS,
    "noisy-kernels": _NOISY_KERNELS,
    "multilevel": _NOISY_KERNELS,
    "gaussian-noise": _ASSUMPTIONS,
    "radial-kernels": _ASSUMPTIONS,
    "impossibility": _NOISY_KERNELS,
    "one-copy": "Beyond Cesa-Bianchi, Shalev-Shwartz and Shamir 2010: partly known noise",
    "multikernel": _MULTIKERNEL,
    "multikernel-rates": _MULTIKERNEL,
    "attributes": _ATTRIBUTES,
    "factor-d": _ATTRIBUTES,
    "bandit-algorithms": "Lattimore and Szepesvari 2020",
    "finite-time-bandits": "Auer, Cesa-Bianchi and Fischer 2002",
    "non-stationary-bandits": "Garivier and Moulines 2011",
    "tsallis-inf": "Zimmert and Seldin 2021",
}
QUICK: dict[str, dict[str, Any]] = {
    "variance": {"ps": (1.5, 2.0)},
    "noisy-kernels": {
        "runs": 12, "rounds": 160, "kernels": ("exponential kernel",), "losses": ("squared",), "ps": (2.0,),
        "overheads": (math.inf,), "etas": (0.15,),
    },
    "multilevel": {
        "means": (0.0, 0.5), "deviations": (1.0,), "levels": 6, "samples": 1000, "runs": 12,
        "rounds": 100, "games": ("linear: logistic radius 1",),
    },
    "gaussian-noise": {
        "runs": 2, "rounds": 128, "only": ("clean instances", "Algorithm 2", "one copy"), "noises": (0.0, 0.3),
        "etas": (0.06, 0.6), "sets": (),
    },
    "radial-kernels": {"runs": 2, "rounds": 64, "etas": (0.3, 1.0)},
    "impossibility": {"runs": 16, "rounds": 200, "only": ("one copy", "two copies")},
    "one-copy": {
        "runs": 8, "rounds": 256, "halves": (0.2, 0.6), "measured": (0.6,), "shares": (0.1, 0.3), "variances": (1.0,),
        "etas": (0.1,),
    },
    "multikernel": {"sets": ("AR(4)",), "seeds": (0,)},
    "multikernel-rates": {
        "rounds": (32, 128), "n_kernels": 2, "draws": 3, "cost_kernels": (2, 4), "cost_features": (8, 16),
    },
    "attributes": {"quick": True, "pairs": ((0, 1),), "splits": 1},
    "factor-d": {"dimensions": (8, 12), "only": ("most probable", "AER"), "runs": 200, "learner_runs": 64, "cases": 1},
    "bandit-algorithms": {"runs": 200, "rounds": 300, "gaps": (0.3, 1.0), "arms": (3, 4), "thompson_runs": 8},
    "finite-time-bandits": {"runs": 8, "rounds": 60, "cs": (0.1, 1.0), "distributions": (1, 14)},
    "non-stationary-bandits": {"runs": 8, "rounds": 200},
    "tsallis-inf": {"runs": 8, "rounds": 200, "arms": 3},
}  # fmt: skip
