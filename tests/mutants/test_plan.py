"""The plan of `make mutants` fits the work tree, and its mutants differ from the code in one place."""

import ast

import pytest
from plan import EQUIVALENT, PACKAGES, PLAN, ROOT, find_tests


def test_every_package_has_tests_and_every_folder_exists():
    assert all(any(f"{package}/".startswith(f"{name}/") for name in PLAN["tests"]) for package in PACKAGES)
    assert all((ROOT / name).exists() for name in PLAN["tests"])
    assert all(any((ROOT / folder).rglob("test_*.py")) for folder in [*PLAN["tests"].values(), *PLAN["left_out"]])


def test_equivalent_mutants_are_those_of_present_lines():
    """A changed line needs a new look."""
    for file, line, mutant in EQUIVALENT:
        assert line != mutant
        assert line in [each.strip() for each in (ROOT / file).read_text().splitlines()], (file, line)
    assert all(entry["reason"] for entry in PLAN["equivalent"])


def test_tests_that_mention_the_source_come_first():
    names = find_tests("jaxonline/learners/linear/vaw.py")
    assert names[0] == "tests/learners/linear/test_vaw.py"
    assert "tests/learners/bandits/test_best_arm.py" not in names
    assert "tests/environments/test_sparse_booleans.py" in find_tests("jaxonline/bounds/classifiers.py")


@pytest.mark.long
def test_mutants_change_one_place_and_depend_on_the_seed():
    pytest.importorskip("cosmic_ray", reason="cosmic-ray is in the extras `mutants` and `test-all`")
    from draw import draw_mutants

    packages = ["jaxonline/learners/linear"]
    mutants = draw_mutants(ROOT, packages, 20, 0, set())
    assert len({(mutant.file, mutant.number, mutant.mutant) for mutant in mutants}) == 20
    assert draw_mutants(ROOT, packages, 20, 0, set()) == mutants != draw_mutants(ROOT, packages, 20, 1, set())
    for mutant in mutants:
        code = (ROOT / mutant.file).read_text()
        assert ast.dump(ast.parse(code)) != ast.dump(ast.parse(mutant.code))
        assert code.splitlines()[mutant.number - 1].strip() == mutant.line
        pairs = zip(code.splitlines(), mutant.code.splitlines(), strict=True)
        assert [after.strip() for before, after in pairs if before != after] == [mutant.mutant]
    assert mutants[0] not in draw_mutants(ROOT, packages, 20, 0, {mutants[0].name})
