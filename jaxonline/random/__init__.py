"""Random numbers for learners, environments and noise: some functions of `jax.random`, faster in compiled loops.

The functions take the keys of a run, which every method of a learner or environment receives. The functions return the
numbers of `jax.random` (up to the last bit in a loop), except for `fast_normal`, `fast_beta` and `weighted_index`. On a
CPU `stack_draws` draws short vectors faster, and a single number is drawn once per run. Other functions of `jax.random`
also take the keys of a run.
"""

from jaxonline.random.draws import bernoulli as bernoulli
from jaxonline.random.draws import fast_normal as fast_normal
from jaxonline.random.draws import laplace as laplace
from jaxonline.random.draws import normal as normal
from jaxonline.random.draws import permutation as permutation
from jaxonline.random.draws import poisson as poisson
from jaxonline.random.draws import rademacher as rademacher
from jaxonline.random.draws import randint as randint
from jaxonline.random.draws import t as t
from jaxonline.random.draws import uniform as uniform
from jaxonline.random.exact import fast_beta as fast_beta
from jaxonline.random.exact import weighted_index as weighted_index
from jaxonline.random.threefry import fold_in as fold_in
from jaxonline.random.threefry import inlined as inlined
from jaxonline.random.threefry import stack_draws as stack_draws
from jaxonline.random.threefry import words as words
