"""Optional packages, and processes made by fork."""

import functools
import importlib
import os
from typing import Any

# ---------------------------------------------------------------------------------------------------------------------
# Classes of packages that an extra of jaxonline installs.


def import_package(module: str, extra: str) -> Any:
    """Import a module of an optional package; the ModuleNotFoundError names the extra.

    Example:
        >>> from jaxonline.parameters.optional_packages import import_package
        >>> import_package("no_such_package", extra="models")
        Traceback (most recent call last):
        ModuleNotFoundError: no_such_package is not installed; pip install 'jaxonline[models]'
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name == package:
            error.msg = f"{package} is not installed; pip install 'jaxonline[{extra}]'"
        raise


def optional_class(module: str, name: str, extra: str) -> Any:
    """Return a class of an optional package as a base class.

    If the package is not installed, return an empty class. Constructing an object of it, or of a subclass, raises a
    ModuleNotFoundError that names the extra. So modules with such subclasses can be imported without the package.

    Example:
        >>> from jaxonline.parameters.optional_packages import optional_class
        >>> optional_class("no_such_package", "Model", extra="models")()
        Traceback (most recent call last):
        ModuleNotFoundError: no_such_package is not installed; pip install 'jaxonline[models]'
    """
    package = module.partition(".")[0]
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise

    def fail(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise ModuleNotFoundError(f"{package} is not installed; pip install 'jaxonline[{extra}]'", name=package)

    words = f"The class {name} of {package}, which is not installed."
    return type(name, (), {"__new__": fail, "__module__": module, "__doc__": words})


# ---------------------------------------------------------------------------------------------------------------------
# Error in a process that was forked after JAX had started: it lacks JAX's threads, so its programs would never end.


class ForkedProcessError(RuntimeError):
    """This process was forked from a process that had used JAX."""


@functools.cache
def _first_process() -> int:
    """Return the process that first called this function, also in processes forked from it."""
    return os.getpid()


def check_not_forked() -> None:
    """Raise a ForkedProcessError if this process was forked after its parent had called this function."""
    if _first_process() != os.getpid():
        raise ForkedProcessError(
            "this process was forked after jaxonline had used JAX, whose threads a forked process lacks; start "
            "processes with multiprocessing.get_context('spawn') or with joblib, or fork before jaxonline is used"
        )
