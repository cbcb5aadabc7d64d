"""Random numbers for learners, environments and noise: the functions of `jax.random`, faster in compiled loops.

The functions take the keys of a run, which every method of a learner or environment receives. The functions return the
numbers of `jax.random` (up to the last bit in a loop), except for `fast_normal`, `fast_beta` and `weighted_index`. On a
CPU `stack_draws` draws short vectors faster, and a single number is drawn once per run.
"""

from jaxonline.random.beta_draws import fast_beta as fast_beta
from jaxonline.random.distributions import beta as beta
from jaxonline.random.distributions import categorical as categorical
from jaxonline.random.distributions import choice as choice
from jaxonline.random.distributions import gamma as gamma
from jaxonline.random.distributions import geometric as geometric
from jaxonline.random.distributions import multivariate_normal as multivariate_normal
from jaxonline.random.distributions import permutation as permutation
from jaxonline.random.distributions import poisson as poisson
from jaxonline.random.distributions import t as t
from jaxonline.random.elementwise import bernoulli as bernoulli
from jaxonline.random.elementwise import bits as bits
from jaxonline.random.elementwise import cauchy as cauchy
from jaxonline.random.elementwise import exponential as exponential
from jaxonline.random.elementwise import fast_normal as fast_normal
from jaxonline.random.elementwise import gumbel as gumbel
from jaxonline.random.elementwise import laplace as laplace
from jaxonline.random.elementwise import normal as normal
from jaxonline.random.elementwise import rademacher as rademacher
from jaxonline.random.elementwise import randint as randint
from jaxonline.random.elementwise import uniform as uniform
from jaxonline.random.entries import entry as entry
from jaxonline.random.exact_indices import weighted_index as weighted_index
from jaxonline.random.keys import fold_in as fold_in
from jaxonline.random.threefry import inlined as inlined
from jaxonline.random.threefry import words as words
from jaxonline.random.vectorised import stack_draws as stack_draws
