"""Monte Carlo studies: a loop over rounds, `vmap` over the runs of a block, and blocks of fixed size on all devices.

`monte_carlo.simulate` checks its arguments (`checking`), plans jobs (`planning`, `jobs`), runs them (`execution`,
`runner`, `precompile`, `cluster`) and makes a `Result` of their numbers (`collecting`). The module `segments` contains
the compiled programs. The modules `measures` and `sums` add up quantities over rounds, `sweeps` stacks learners, and
`hindsight` solves comparators that need the whole history of a run. The rules of `stopping_rules` decide how many runs
are needed, `overflow` warns of excluded runs, and `progress` reports progress. The function `tuning.tune` chooses
hyperparameters by the `search` for the best setting.
"""

from jaxonline.simulation import measures as measures
from jaxonline.simulation.monte_carlo import simulate as simulate
from jaxonline.simulation.options import record_rounds as record_rounds
from jaxonline.simulation.stopping_rules import Precision as Precision
from jaxonline.simulation.stopping_rules import UntilDecided as UntilDecided
from jaxonline.simulation.sweeps import sweep as sweep
from jaxonline.simulation.tuning import Range as Range
from jaxonline.simulation.tuning import tune as tune
from jaxonline.store.checkpoints import Checkpoint as Checkpoint
