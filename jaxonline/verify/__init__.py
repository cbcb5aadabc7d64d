"""Is this estimator unbiased? Is this bound respected? Verdicts with stated error rates.

    result = verify.unbiased(estimator, target)   # estimator(key) -> an array of any shape
    print(result)

`unbiased`, `second_moment`, `queries` and `bound` check anybody's estimator; what the papers claim is in
`jaxonline.claims`.
"""

from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import bound, queries, second_moment
from jaxonline.verify.result import Verification
from jaxonline.verify.sampling import Capped
from jaxonline.verify.strata import Strata

__all__ = [
    "Capped",
    "Strata",
    "Verification",
    "bound",
    "queries",
    "second_moment",
    "unbiased",
]
