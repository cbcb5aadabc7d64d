"""Verification of estimators with stated error rates: bias, second moments, numbers of queries, bounds.

`print(verify.unbiased(estimator, target, kurtosis=10))` checks the mean of `estimator(key)`, whose kurtosis is at most
10. `benchmarks.papers.claims` contains the claims of the papers.
"""

from jaxonline.verify.bias import unbiased as unbiased
from jaxonline.verify.moments import bound as bound
from jaxonline.verify.moments import queries as queries
from jaxonline.verify.moments import second_moment as second_moment
from jaxonline.verify.result import Verification as Verification
from jaxonline.verify.sampling import Capped as Capped
