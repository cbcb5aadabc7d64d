"""Studies: `Study`, its `Context` and `Report`; `Comparison` and `BestOf`, what most are made of; `ready` ones."""

from jaxonline.study.comparison import Compared, Comparison
from jaxonline.study.study import Context, Report, Study
from jaxonline.study.tuning import BestOf

__all__ = ["BestOf", "Compared", "Comparison", "Context", "Report", "Study"]
