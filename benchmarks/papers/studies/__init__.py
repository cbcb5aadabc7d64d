"""Reproductions of the experiments of the five papers, and of published figures of others (`published`)."""

STUDIES = {
    "variance": "benchmarks.papers.studies.variance:Variance",
    "noisy-kernels": "benchmarks.papers.studies.noisy_kernels:NoisyKernels",
    "gaussian-noise": "benchmarks.papers.studies.gaussian_noise:GaussianNoise",
    "radial-kernels": "benchmarks.papers.studies.radial_kernels:RadialKernels",
    "impossibility": "benchmarks.papers.studies.impossibility:Impossibility",
    "multikernel": "benchmarks.papers.studies.multikernel:MultiKernelTable",
    "multikernel-rates": "benchmarks.papers.studies.multikernel_rates:MultiKernelRates",
    "attributes": "benchmarks.papers.studies.attributes:FewAttributes",
    "bandit-algorithms": "benchmarks.papers.published.bandit_algorithms:BanditAlgorithms",
    "finite-time-bandits": "benchmarks.papers.published.finite_time:FiniteTime",
    "non-stationary-bandits": "benchmarks.papers.published.non_stationary:NonStationary",
    "tsallis-inf": "benchmarks.papers.published.tsallis_inf:TsallisExperiments",
}
