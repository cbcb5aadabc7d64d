"""Examples of packages that only some extras install: they are skipped where such a package is missing."""

import importlib.util
import re

NAMES = {  # in code that needs the package
    "river": r"(import|from) river\b",
    "gymnasium": r"(import|from) gymnasium\b|jo\.BanditEnv|jo\.play_env",
}
EXTRAS = {"river": "river", "gymnasium": "gym"}


def missing_packages(code: str) -> list[str]:
    needed = [package for package, pattern in NAMES.items() if re.search(pattern, code)]
    return [package for package in needed if importlib.util.find_spec(package) is None]


def skip_reason(packages: list[str]) -> str:
    extras = ", ".join(f"`{EXTRAS[package]}`" for package in packages)
    return f"{' and '.join(packages)} missing: in the extras {extras} and `test-all`"
