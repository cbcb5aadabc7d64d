"""Monte Carlo studies: a loop over rounds, `vmap` over the runs of a block, and fixed blocks on all devices.

`monte_carlo.simulate` checks its arguments (`checking`), plans jobs (`planning`, `jobs`), runs them (`execution`,
`runner`, `precompile`, `cluster`) and makes a `Result` of their numbers (`collecting`). `segments` holds the compiled
programs. `measures` and `sums` add up over rounds, `sweeps` stacks learners, and `hindsight` solves comparators that
need whole histories. `precision` decides how many runs are needed, `control_variates` reduces variance, `overflow`
warns of failed runs, `progress` reports progress. `study_inputs` and `resuming` serve the store (`store.blocks`).
`tuning.tune` chooses hyperparameters (`search_space`, `tuning_trials`, `halving`).
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
