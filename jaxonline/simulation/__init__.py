"""Monte Carlo studies: `lax.scan` over rounds x `vmap` over the runs of a block x fixed blocks over devices.

`monte_carlo.simulate` is the door, `measures` what it counts. `segments` is what is compiled, `sweeps` stacks learners
that differ in numbers only, `runner` plays blocks of runs segment after segment, `hindsight` computes comparators that
need whole histories, `precision` plays as many runs as an interval needs, `controls` measures what of a loss is noise
with a known mean, `sums` adds up over long runs, `overflow` warns of learners that run out of storage, `progress` tells
how far a study is. `checkpoint` is where a study keeps what it has computed (`store.blocks`): `fingerprint` says what
decides its numbers, `stored` how they are labelled, and `unfinished` keeps blocks in progress. `tuning.tune` chooses
numbers by playing: `settings` says what is tried, `tried` plays it, `halving` narrows it down.
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
