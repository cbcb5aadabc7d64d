"""State files of live learners that somebody has changed: they are rejected before their arrays are read."""

import json

import numpy as np
import pytest

import jaxonline as jo

LEARNER = jo.learners.VAW(allow_float32=True)  # its state has the square of the instance's length


def rewrite(path, about=(), compressed=False, **arrays):
    """Write a state file again with other metadata and arrays, as an attacker would."""
    with np.load(path) as file:
        content = dict(file)
    metadata = json.loads(content["about"].tobytes()) | dict(about)
    content |= {"about": np.frombuffer(json.dumps(metadata).encode(), np.uint8)} | arrays
    with open(path, "wb") as file:
        (np.savez_compressed if compressed else np.savez)(file, **content)


@pytest.mark.parametrize("number", [-5, "x", 10**30, 2**31 - 1, float("nan"), 1.5, True, None, [3]])
def test_a_state_file_with_a_bad_round_is_rejected(number, tmp_path):
    jo.Live(LEARNER, instance=3).save(path := tmp_path / "state")
    rewrite(path, {"round": number})
    with pytest.raises(ValueError, match="must have a round from 0 to 2,147,483,646"):
        jo.Live(LEARNER).load(path)


BOMBS = {
    "zeros that were compressed": ({}, {"leaf 0": np.zeros(10**6, np.float32)}, True),
    "another shape": ({}, {"leaf 0": np.zeros(1000, np.float32)}, False),
    "one array more": ({}, {"leaf 99": np.zeros(1000, np.float32)}, False),
    "a header that states another size": ({}, {}, False),
    "a shape that needs too much memory": ({"instance": [10**9]}, {}, False),
    "a shape whose state is too large": ({"instance": [10**6]}, {}, False),
    "lengths that are no integers": ({"instance": [3.0]}, {}, False),
    "several keys": ({}, {"key": np.zeros((5, 2), np.uint32)}, False),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_state_file_is_rejected_before_its_arrays_are_read(bomb, tmp_path, monkeypatch):
    """Only the metadata and the key are read."""
    about, arrays, compressed = BOMBS[bomb]
    jo.Live(LEARNER, instance=3).save(path := tmp_path / "state")
    rewrite(path, about, compressed, **arrays)
    if bomb == "a header that states another size":
        content = path.read_bytes()
        assert content.count(b"'shape': (3,), }        ") == 1
        path.write_bytes(content.replace(b"'shape': (3,), }        ", b"'shape': (1000000000,)}"[:24].ljust(24)))
    calls, read_array = [], np.lib.format.read_array
    monkeypatch.setattr(
        np.lib.format, "read_array", lambda *file, **options: calls.append(1) or read_array(*file, **options)
    )
    with pytest.raises(ValueError, match=r"must be a file that Live\.save wrote|must hold the state|states instances"):
        jo.Live(LEARNER).load(path)
    assert len(calls) <= 2


def test_the_first_array_of_a_state_file_is_not_read(tmp_path):
    """Files of earlier versions have there the row of the last round."""
    live = jo.Live(LEARNER, instance=3)
    live.learn(np.eye(3), np.ones(3))
    live.save(path := tmp_path / "state")
    with np.load(path) as file:
        assert file["leaf 0"].dtype == np.int32
    rewrite(path, **{"leaf 0": np.int32(2)})
    again = jo.Live(LEARNER).load(path)
    assert again.round == 3
    assert again.predict([1.0, 2.0, 3.0]) == live.predict([1.0, 2.0, 3.0])
