"""Arrays of any dtype that travel as one array of words."""

import jax
import numpy as np
import pytest

from jaxonline.live.programs import WordLayout

ROWS = 3


def rows_of(x64):
    rng = np.random.default_rng(0)
    rows = {
        "a number": rng.normal(size=ROWS).astype(np.float32),
        "counts": rng.integers(-5, 5, size=(ROWS, 3)).astype(np.int32),
        "flag": rng.random(ROWS) < 0.5,
        "flags": rng.random((ROWS, 2, 2)) < 0.5,
        "matrix": rng.normal(size=(ROWS, 2, 3)).astype(np.float32),
        "nothing": np.zeros((ROWS, 0), np.float32),
        "short": rng.integers(-5, 5, size=ROWS).astype(np.int8),
        "half": rng.normal(size=(ROWS, 3)).astype(np.float16),
        "large": rng.normal(size=(ROWS, 4096)).astype(np.float32),
        "special": np.array([np.nan, -0.0, np.inf], np.float32),
        "words": rng.integers(2**32, size=(ROWS, 2), dtype=np.uint32),
    }
    if x64:
        rows |= {"double": rng.normal(size=ROWS), "doubles": rng.normal(size=(ROWS, 2))}
        rows |= {"long": np.arange(ROWS) - 2**40}
    return rows


@pytest.mark.parametrize("both_precisions", [False, True], indirect=True)
def test_arrays_are_packed_and_read_without_change(both_precisions):
    rows = rows_of(jax.config.jax_enable_x64)
    layout = WordLayout(jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), rows))
    words = np.asarray(jax.jit(layout.pack)(rows))
    assert words.dtype == np.uint32
    read = layout.read(words, slice(2))
    for name, expected in rows.items():
        assert (read[name].dtype, read[name].shape) == (expected.dtype, expected[:2].shape)
        assert read[name].tobytes() == expected[:2].tobytes()
        assert read[name].flags.aligned
    for row in range(ROWS):
        for name, value in layout.read(words, row).items():
            assert type(value) is type(rows[name][row])
            assert value.tobytes() == rows[name][row].tobytes()
