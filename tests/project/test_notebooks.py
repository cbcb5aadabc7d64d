"""Notebooks are kept as they were executed: complete, in order, without warnings or paths of a machine, and small."""

import json
import re

import pytest
from fresh_python import ROOT

FOLDER, PAPERS = ROOT / "notebooks", ROOT / "benchmarks" / "papers" / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))
FIVE_MINUTES = [name for name in NOTEBOOKS if name.startswith("five_minutes_")]
MACHINE = re.compile(r"(?<![\w.:/])/(home|root|tmp|work|usr|opt|Users)/")


def complaints(notebook: dict) -> list[str]:
    """What is wrong with an executed notebook."""
    found, code = [], [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if [cell["execution_count"] for cell in code] != list(range(1, len(code) + 1)):
        found.append("not executed from top to bottom")
    for cell in code:
        for output in cell["outputs"]:
            text = json.dumps({key: value for key, value in output.get("data", {}).items() if "image" not in key})
            text += "".join(output.get("text", ""))
            if output["output_type"] == "error" or output.get("name") == "stderr":
                found.append(f"an error or a warning in cell {cell['execution_count']}")
            if MACHINE.search(text):
                found.append(f"a path of the machine in cell {cell['execution_count']}")
    return found


@pytest.mark.parametrize("path", sorted([*FOLDER.glob("*.ipynb"), *PAPERS.glob("*.ipynb")]), ids=lambda path: path.stem)
def test_notebooks_are_executed(path):
    assert complaints(json.loads(path.read_text())) == []
    assert path.stat().st_size < 1_000_000


def test_notebooks_of_papers_import_existing_names():
    """The first cell of code has all imports, each on one line."""
    notebooks = [json.loads(path.read_text()) for path in PAPERS.glob("*.ipynb")]
    assert len(notebooks) == 4
    for notebook in notebooks:
        first = next(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code")
        exec("".join(line for line in first if re.match(r"from (jaxonline|benchmarks)\b", line)), {})


@pytest.mark.long
@pytest.mark.parametrize("name", [*FIVE_MINUTES, "your_data_your_learner.ipynb"])
def test_short_notebooks_run_without_warnings(name, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is in the extras `notebooks` and `test-all`")
    notebook = pytest.importorskip("nbformat").read(FOLDER / name, as_version=4)
    stored = [len(cell["outputs"]) > 0 for cell in notebook.cells if cell.cell_type == "code"]
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    assert complaints(notebook) == []
    assert [len(cell["outputs"]) > 0 for cell in notebook.cells if cell.cell_type == "code"] == stored


def test_unexecuted_notebooks_are_detected():
    cell = {"cell_type": "code", "execution_count": 1, "outputs": []}
    stderr = {"output_type": "stream", "name": "stderr", "text": ["UserWarning"]}
    path = {"output_type": "stream", "name": "stdout", "text": ["in /home/me/data"]}
    page = {"output_type": "display_data", "data": {"text/html": ["https://github.com/tmp/x"], "image/png": "/tmp/"}}
    good, unexecuted = cell | {"outputs": [page]}, cell | {"execution_count": None}
    wrong = [good, unexecuted, cell | {"outputs": [stderr]}, cell | {"outputs": [path]}]
    assert [len(complaints({"cells": [each, {"cell_type": "markdown"}]})) for each in wrong] == [0, 1, 1, 1]
