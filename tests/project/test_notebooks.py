"""Notebooks are kept as they were executed: complete, in order, without warnings or paths of a machine, and small."""

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))
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


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_executed(name):
    assert complaints(json.loads((FOLDER / name).read_text())) == []
    assert (FOLDER / name).stat().st_size < 1_000_000


def test_unexecuted_notebooks_are_detected():
    cell = {"cell_type": "code", "execution_count": 1, "outputs": []}
    stderr = {"output_type": "stream", "name": "stderr", "text": ["UserWarning"]}
    path = {"output_type": "stream", "name": "stdout", "text": ["in /home/me/data"]}
    page = {"output_type": "display_data", "data": {"text/html": ["https://github.com/tmp/x"], "image/png": "/tmp/"}}
    assert complaints({"cells": [cell | {"outputs": [page]}, {"cell_type": "markdown"}]}) == []
    assert complaints({"cells": [cell | {"execution_count": None}]}) == ["not executed from top to bottom"]
    assert complaints({"cells": [cell | {"outputs": [stderr]}]}) == ["an error or a warning in cell 1"]
    assert complaints({"cells": [cell | {"outputs": [path]}]}) == ["a path of the machine in cell 1"]
