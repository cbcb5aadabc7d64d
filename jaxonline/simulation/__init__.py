"""Monte Carlo studies: `lax.scan` over rounds x `vmap` over the runs of a block x fixed blocks over devices.

`monte_carlo.simulate` has four steps: `checking` checks its arguments, `planning` makes jobs of them, `execution` runs
the jobs, and `collecting` makes a `Result` of their numbers. `jobs` defines a job, `runner` plays its blocks of runs
segment after segment, `precompile` compiles its programs ahead of time, and `cluster` hands blocks to other processes.
`segments` is what is compiled, `measures` what is counted, `sums` adds up over long runs, and `sweeps` stacks learners
that differ in numbers only. `hindsight` computes comparators that need whole histories, `precision` plays as many runs
as an interval needs, `controls` measures the part of a loss that is noise with a known mean, `overflow` warns of
learners that run out of storage, and `progress` reports progress. For a store (`store.blocks`), `study_inputs` lists
what decides the numbers, and `resuming` keeps the states of blocks in progress. `tuning.tune` chooses numbers by
playing: `search_space` says what is tried, `tuning_trials` plays it, and `halving` narrows it down.
"""

from jaxonline.simulation import measures
from jaxonline.simulation.monte_carlo import simulate
from jaxonline.simulation.precision import Precision
from jaxonline.simulation.recording import record_rounds
from jaxonline.simulation.search_space import Range
from jaxonline.simulation.sweeps import sweep
from jaxonline.simulation.tuning import tune
from jaxonline.store.checkpoints import Checkpoint

__all__ = [
    "Checkpoint", "Precision", "Range", "measures", "record_rounds", "simulate", "sweep", "tune",
]  # fmt: skip
