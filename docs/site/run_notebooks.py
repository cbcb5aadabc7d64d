"""Run notebooks and store their outputs: `python docs/site/run_notebooks.py [NOTEBOOK ...]`, by default all of them."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = "notebooks", "benchmarks/papers/notebooks"


def run(path: Path) -> Any:
    """Return an executed notebook; its working folder is a temporary one."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        options = {"timeout": 1800, "kernel_name": "python3", "record_timing": False}
        nbclient.NotebookClient(notebook, resources={"metadata": {"path": folder}}, **options).execute()
    return notebook


if __name__ == "__main__":
    for notebook_path in sys.argv[1:] or sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.ipynb")):
        print(notebook_path, flush=True)
        nbformat.write(run(Path(notebook_path)), notebook_path)
