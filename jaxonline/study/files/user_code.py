"""Learners and other things of the user's own, named as "my_module:MyLearner".

A module is imported from the folder of the study file and from nowhere else: what a study file names is code that its
author put beside it. Nothing of a study file itself is evaluated.
"""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from jaxonline.parameters.suggest import did_you_mean

_PATTERN = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")
_IMPORTED: dict[str, tuple[Path, bytes]] = {}


def load_user_object(folder: Path, written: str) -> Any:
    """The object that a module in the folder has under a name.

    Raises:
        ValueError: it is not written as MODULE:NAME, there is no such module in the folder, importing it fails, or it
            has no such name.
    """
    match = _PATTERN.fullmatch(written)
    if match is None:
        raise ValueError(f"must be written MODULE:NAME, such as my_module:MyLearner (got {written!r})")
    module = _import_module(folder.resolve(), match["module"])
    if not hasattr(module, match["name"]):
        public = [name for name in vars(module) if not name.startswith("_")]
        raise ValueError(
            f"must be a name in {module.__file__} (got {match['name']!r}){did_you_mean(match['name'], public)}"
        )
    return getattr(module, match["name"])


def _import_module(folder: Path, name: str) -> Any:
    file = folder.joinpath(*name.split(".")).with_suffix(".py")
    if not file.is_file() or folder not in file.resolve().parents:
        raise ValueError(f"must name a module in the folder of the study file (got {name!r}); there is no {file}")
    content = file.read_bytes()
    if _IMPORTED.get(name) == (file, content) and name in sys.modules:
        return sys.modules[name]
    if name not in _IMPORTED and _is_installed(name, folder):
        raise ValueError(f"must name a module that is not also installed (got {name!r}); give {file.name} another name")
    spec: Any = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module
    sys.path.append(str(folder))  # for what it imports itself; at the end, so that nothing installed is hidden
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise ValueError(
            f"must name a module that can be imported (got {file}); {type(error).__name__}: {error}"
        ) from None
    finally:
        sys.path.remove(str(folder))
    _IMPORTED[name] = file, content
    return module


def _is_installed(name: str, folder: Path) -> bool:
    """Whether Python would find another module of that name; parents are not imported for that."""
    top = name.partition(".")[0]
    if top in sys.modules or top in sys.builtin_module_names or top in sys.stdlib_module_names:
        origin = getattr(sys.modules.get(top), "__file__", None)
        return origin is None or folder not in Path(origin).resolve().parents
    found = importlib.util.find_spec(top)
    origin = found and found.origin
    return bool(found) and not (origin and folder in Path(origin).resolve().parents)
