"""Random numbers for learners, environments and noise: the functions of `jax.random`, made for compiled loops.

They take the keys of a run, as every method of a learner or environment gets them, and give the numbers that
`jax.random` gives for the same key, up to rounding in the last bit where a number takes a loop to draw; `fast_normal`
and `fast_beta` have numbers of their own. On a CPU a single number is drawn once for each run, also where it is added
to a vector, and `stacked` draws short vectors in a fraction of the time.
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
from jaxonline.random.keys import fold_in as fold_in
from jaxonline.random.threefry import inlined as inlined
from jaxonline.random.threefry import words as words
from jaxonline.random.vectorised import stack_draws as stack_draws
