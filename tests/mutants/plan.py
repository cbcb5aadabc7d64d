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
    """Return the test files of a source file: first those that mention its public names, the most mentions first.

    All test files of the first folder are included, and those of the other folders that mention a name.
    """
    key = max((name for name in PLAN["tests"] if f"{file}/".startswith(f"{name}/")), key=len)
    own, *others = (sorted((ROOT / folder).rglob("test_*.py")) for folder in PLAN["tests"][key])
    body = ast.parse((ROOT / file).read_text()).body
    names = [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_"]
    pattern = re.compile(rf"\b({'|'.join(names)})\b" if names else "$^")
    mentions = {test: len(pattern.findall(test.read_text())) for folder in (own, *others) for test in folder}
    tests = [test for test in mentions if test in own or mentions[test]]
    tests.sort(key=lambda test: (mentions[test] == 0, test not in own, -mentions[test]))
    return [str(test.relative_to(ROOT)) for test in tests]
