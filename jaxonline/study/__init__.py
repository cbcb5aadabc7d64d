"""Studies: `Study` with its `Context` and `Report`, `Comparison`, `BestOf`, `Benchmark`, study files.

Modules are loaded on first use, so that the command line starts fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxonline.study.benchmarking import Benchmark, Task, benchmark
    from jaxonline.study.comparison import Comparison, ComparisonResult
    from jaxonline.study.files.reading import StudyFileError
    from jaxonline.study.files.study_file import StudyFile, load_study_file
    from jaxonline.study.study import Context, Report, Study
    from jaxonline.study.tuning import BestOf

_MODULES = {
    "Benchmark": "benchmarking", "BestOf": "tuning", "ComparisonResult": "comparison", "Comparison": "comparison",
    "Context": "study", "Report": "study", "Study": "study", "StudyFile": "files.study_file",
    "StudyFileError": "files.reading", "Task": "benchmarking", "benchmark": "benchmarking",
    "load_study_file": "files.study_file",
}  # fmt: skip

__all__ = [
    "Benchmark",
    "BestOf",
    "Comparison",
    "ComparisonResult",
    "Context",
    "Report",
    "Study",
    "StudyFile",
    "StudyFileError",
    "Task",
    "benchmark",
    "load_study_file",
]  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module 'jaxonline.study' has no attribute {name!r}")
        return getattr(importlib.import_module(f"jaxonline.study.{_MODULES[name]}"), name)
