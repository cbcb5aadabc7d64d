"""Components in the user's own modules, named as "my_module:MyLearner".

A module is imported only from the folder of the study file. Nothing in the study file itself is evaluated.
"""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from jaxonline.parameters.errors import did_you_mean

_PATTERN = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")
_IMPORTED: dict[str, tuple[Path, bytes]] = {}


def load_user_object(folder: Path, written: str) -> Any:
    """Return an object of a module in the folder; ValueError if the import fails or the module lacks the name."""
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
    previous = sys.modules.get(name)
    sys.modules[name] = module
    sys.path.append(str(folder))  # for its own imports; at the end, so that it hides no installed module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        if previous is None:
            del sys.modules[name]
        else:
            sys.modules[name] = previous
        raise ValueError(
            f"must name a module that can be imported (got {file}); {type(error).__name__}: {error}"
        ) from None
    finally:
        sys.path.remove(str(folder))
    _IMPORTED[name] = file, content
    return module


def _is_installed(name: str, folder: Path) -> bool:
    """Return whether Python would find an installed module with this name, without importing the module's parents."""
    top = name.partition(".")[0]
    if top in sys.modules or top in sys.builtin_module_names or top in sys.stdlib_module_names:
        origin = getattr(sys.modules.get(top), "__file__", None)
        return origin is None or folder not in Path(origin).resolve().parents
    spec = importlib.util.find_spec(top)
    origin = spec and spec.origin
    return bool(spec) and not (origin and folder in Path(origin).resolve().parents)
