"""The plan of `make mutants`: tests of each source file, and equivalent mutants, from `plan.toml`."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLAN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
PACKAGES = [f"jaxonline/{name}" for name in ("learners", "estimators", "bounds", "results/statistics", "feedback")]
EQUIVALENT = {(entry["file"], entry["line"], entry["mutant"]) for entry in PLAN["equivalent"]}


def find_tests(file: str) -> list[str]:
    """Return the tests of a source file: first those that mention a public name of it, then others of its folder."""
    key = max((name for name in PLAN["tests"] if f"{file}/".startswith(f"{name}/")), key=len)
    body = ast.parse((ROOT / file).read_text()).body
    names = [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_"]
    pattern = re.compile(rf"\b({'|'.join(names)})\b" if names else "$^")
    tests = {}  # order: whether no name is mentioned, whether the test is in another folder, minus the mentions
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name, mentions = path.relative_to(ROOT).as_posix(), len(pattern.findall(path.read_text()))
        is_own = name.startswith(f"{PLAN['tests'][key]}/")
        if not name.startswith(tuple(PLAN["left_out"])) and (is_own or mentions):
            tests[name] = mentions == 0, not is_own, -mentions
    return sorted(tests, key=tests.get)
