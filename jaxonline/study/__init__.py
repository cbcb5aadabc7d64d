"""Studies: `Study`, its `Context` and `Report`; `Comparison` and `BestOf`, what most are made of; `ready` ones.

They are loaded when they are first used, so that the command line can list its commands at once.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxonline.study.comparison import Compared, Comparison
    from jaxonline.study.study import Context, Report, Study
    from jaxonline.study.tuning import BestOf

_HOMES = {
    "BestOf": "tuning", "Compared": "comparison", "Comparison": "comparison", "Context": "study", "Report": "study",
    "Study": "study",
}  # fmt: skip

__all__ = ["BestOf", "Compared", "Comparison", "Context", "Report", "Study"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'jaxonline.study' has no attribute {name!r}")
    return getattr(importlib.import_module(f"jaxonline.study.{_HOMES[name]}"), name)
