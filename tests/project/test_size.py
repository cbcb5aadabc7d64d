"""The budgets of lines and modules in pyproject.toml, `[tool.jaxonline.size]`.

A budget is raised only in a commit of its own that says what the lines buy.
"""

import tomllib

from fresh_python import ROOT

from benchmarks.size import Size, package_sizes

BUDGETS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["jaxonline"]["size"]


def test_no_package_is_larger_than_its_budget():
    sizes = package_sizes(ROOT / "jaxonline")
    papers = package_sizes(ROOT / "benchmarks" / "papers").values()
    sizes["papers"] = Size(*map(sum, zip(*papers, strict=True)))
    assert sizes.keys() == BUDGETS.keys(), "each package has a budget"
    too_large = {
        name: size for name, size in sizes.items() if size.lines > BUDGETS[name][0] or size.modules > BUDGETS[name][1]
    }
    assert too_large == {}


def test_lines_and_modules_are_counted(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "__init__.py").write_text('"""Nothing."""\n')
    (tmp_path / "a" / "b" / "c.py").write_text("x = 1\n\n# a comment\ny = (\n    2\n)\n")
    (tmp_path / "d.py").write_text('def f():\n    """Text.\n\n    More."""\n    return """1\n\n"""  # counts\n')
    assert package_sizes(tmp_path) == {"a": Size(4, 2), "d": Size(3, 1)}
