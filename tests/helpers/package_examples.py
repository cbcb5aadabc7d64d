"""The examples in the docstrings of a package whose examples take milliseconds."""

import doctest
import importlib
import pkgutil
import types


def run_examples_of(package: types.ModuleType) -> tuple[int, str]:
    """Return the number of examples of all modules of a package, and the report of those that fail."""
    finder, runner, report = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner(verbose=False), []
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for test in finder.find(importlib.import_module(info.name), info.name):
            runner.run(test, out=report.append)
    summary = runner.summarize(verbose=False)
    return summary.attempted, "".join(report) if summary.failed else ""
