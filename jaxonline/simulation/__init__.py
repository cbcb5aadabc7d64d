"""Monte Carlo studies: a loop over rounds, `vmap` over the runs of a block, and blocks of fixed size on all devices.

`monte_carlo.simulate` checks its arguments (`checking`), plans jobs (`planning`, `jobs`), runs them (`execution`,
`runner`, `precompile`, `cluster`) and makes a `Result` of their numbers (`collecting`). The module `segments` contains
the compiled programs. The modules `measures` and `sums` add up quantities over rounds, `sweeps` stacks learners, and
`hindsight` solves comparators that need the whole history of a run. The modules `precision` and `until_decided` decide
how many runs are needed, `overflow` warns of excluded runs, `underflow` warns of
losses that are rounded to 0, and `progress` reports progress. The modules `study_inputs` and `resuming` prepare data
for the store. The function `tuning.tune` chooses hyperparameters, with `search_space`, `tuning_trials`
and `halving`.
"""

from jaxonline.simulation import measures as measures
from jaxonline.simulation.monte_carlo import simulate as simulate
from jaxonline.simulation.precision import Precision as Precision
from jaxonline.simulation.recording import record_rounds as record_rounds
from jaxonline.simulation.search_space import Range as Range
from jaxonline.simulation.sweeps import sweep as sweep
from jaxonline.simulation.tuning import tune as tune
from jaxonline.simulation.until_decided import UntilDecided as UntilDecided
from jaxonline.store.checkpoints import Checkpoint as Checkpoint
