"""Pages of the API for autodoc: one for each package, with a table of its public names and their docstrings.

Public are the names that a package exports, the names of `jo.*`, and those of the modules of `jo.*`.
"""

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jaxonline
from jaxonline.parameters.signatures import exported_names

START = Path(__file__).with_name("api.rst")  # the names of `jo.*` by task
HIDDEN = ("jaxonline.cli", "jaxonline.__main__")


@functools.cache
def public() -> dict[str, dict[str, Any]]:
    """Return the public names and values by module, each once: in the first package around it that exports it."""
    walked = (info.name for info in pkgutil.walk_packages(jaxonline.__path__, "jaxonline."))
    modules = sorted(name for name in walked if name not in HIDDEN and "._" not in name)
    facade = {id(getattr(jaxonline, name)): name for name in jaxonline.__all__}
    names, shown = {}, set()
    for name in modules:
        module = importlib.import_module(name)
        offers_all = hasattr(module, "__path__") or id(module) in facade
        for key in exported_names(module):
            value = getattr(module, key)
            if callable(value) and value.__module__.startswith(name) and (offers_all or id(value) in facade):
                if id(value) not in shown:
                    names.setdefault(name, {})[key] = value
                shown.add(id(value))
    return names


@functools.cache
def full_names() -> dict[int, str]:
    """Return the full names of the public values by their id."""
    return {id(value): f"{module}.{name}" for module, names in public().items() for name, value in names.items()}


def pages() -> dict[str, str]:
    """Return the pages in reStructuredText by name; a module without a page of its own is on that of its package."""
    by_page: dict[str, list[str]] = {}
    for module in public():
        page = module if module.count(".") < 2 or hasattr(importlib.import_module(module), "__path__") else ""
        by_page.setdefault((page or module.rpartition(".")[0]).removeprefix("jaxonline."), []).append(module)
    written = {page: heading(page, "=") + "\n".join(map(section, inner)) for page, inner in by_page.items()}
    tree = ".. toctree::\n   :hidden:\n\n" + "".join(f"   {page}\n" for page in sorted(written))
    packages = summaries(f"jaxonline.{page}" for page in sorted(written))
    return {"index": f"{START.read_text()}\n{packages}\n{tree}", **written}


def section(module: str) -> str:
    """Return the docstring of a module, a table of its names, and their docstrings."""
    names = dict(sorted(public()[module].items(), key=lambda item: item[0].lower()))
    title = heading(module.removeprefix("jaxonline."), "-") if module.count(".") > 1 else ""
    lines = [title, f".. automodule:: {module}\n   :no-members:", summaries(names)]
    lines += [f".. auto{kind(value)}:: {name}" for name, value in names.items()]
    return "\n\n".join(lines) + "\n"


def kind(value: Any) -> str:
    """Return the kind of a documented value."""
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(inspect.unwrap(value)) else "data"


def heading(title: str, mark: str) -> str:
    """Return a heading of a page or section."""
    return f"{title}\n{mark * len(title)}\n"


def summaries(names: Iterable[str]) -> str:
    """Return a table of names, with links and the first sentences of their docstrings."""
    return "\n".join([".. autosummary::", "   :nosignatures:\n", *(f"   {name}" for name in names)]) + "\n"
