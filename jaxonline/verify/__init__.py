"""Is this estimator unbiased? Is this bound respected? Verdicts with stated error rates.

    result = verify.unbiased(estimator, target)   # estimator(key) -> an array of any shape
    print(result)

`unbiased`, `second_moment`, `queries` and `bound` check anybody's estimator; `run_claims` checks the claims of the
papers and of this package.
"""

from jaxonline.verify._sampling import Capped
from jaxonline.verify.bias import unbiased
from jaxonline.verify.claims import run_claims, to_json
from jaxonline.verify.moments import bound, queries, second_moment
from jaxonline.verify.plots import plot_intervals
from jaxonline.verify.report import verify_command
from jaxonline.verify.result import Verification
from jaxonline.verify.strata import Strata

__all__ = [
    "Capped",
    "Strata",
    "Verification",
    "bound",
    "plot_intervals",
    "queries",
    "run_claims",
    "second_moment",
    "to_json",
    "unbiased",
    "verify_command",
]
