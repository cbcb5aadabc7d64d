"""Invalid calls of all public classes and functions; each must raise an error that names the argument."""

import tempfile
from collections import Counter

import pytest
from generated_calls import fault_of, invalid_values, parameters, public_callables, recorded_calls

from jaxonline.parameters.check import quote

pytestmark = pytest.mark.long


class KeptFolder:
    """A temporary folder that the end of an example does not remove, so that its calls can be repeated."""

    def __init__(self):
        self.name = tempfile.mkdtemp()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *error: object) -> None:
        pass


def test_generated_invalid_calls_raise_errors_that_name_the_argument(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tempfile, "TemporaryDirectory", KeptFolder)
    callables, counts, faults = public_callables(), Counter(), []
    for call in recorded_calls(callables):
        counts["functions"] += 1
        for parameter in parameters(call):
            for value in invalid_values(call, parameter):
                fault = fault_of(call, parameter.name, value)
                counts["calls"] += 1
                counts[fault] += 1
                if fault:
                    faults.append(f"{call.name}({parameter.name}={quote(value)}) {fault}")
    kinds = ("accepted", "fails deep inside", "does not name the argument")
    with capsys.disabled():
        print(f"\n{counts['calls']:,} invalid calls of {counts['functions']} of {len(callables)} functions:", end=" ")
        print(", ".join(f"{counts[kind]} {kind}" for kind in kinds))
    assert counts["calls"] > 15_000
    assert not faults, "\n".join(faults)
