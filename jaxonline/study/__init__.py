"""Studies: `Context` and `Report`, `benchmark` with `Task`, study files.

Modules are loaded on first use, so that the command line starts fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # the names are in __init__.pyi
