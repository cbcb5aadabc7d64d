"""MNIST: 70,000 images of handwritten digits, from a local file or from OpenML."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jaxonline.datasets.loading import data_files, search_paths
from jaxonline.datasets.tables import read_arrays

SHAPE = 70_000, 784


def mnist(data: str | Path | Sequence[str | Path] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Load MNIST: X [70000, 784], the pixels, and y [70000], the digits, both uint8, 60,000 training images first.

    Args:
        data: folders and files to search before the folder of JAXONLINE_DATA. A match is an .npz file with X and y that
            has "mnist" in its name or is itself one of these paths. Without a match the set is fetched from OpenML.

    Raises:
        ValueError: the file does not hold MNIST.
        OSError: there is no file, and OpenML cannot be reached.
    """
    matches = [
        file
        for path in search_paths(data)
        for file in data_files(path)
        if file.suffix == ".npz" and ("mnist" in file.stem.lower() or file == path)
    ]
    if matches:
        X, y = read_arrays(matches[0])
        origin = str(matches[0])
    else:
        import sklearn.datasets

        X, y = sklearn.datasets.fetch_openml(
            "mnist_784", version=1, return_X_y=True, as_frame=False, parser="liac-arff"
        )
        origin = "OpenML"
    X, y = np.asarray(X), np.asarray(y, np.int64)
    if (
        X.shape != SHAPE
        or y.shape != SHAPE[:1]
        or X.min() < 0
        or X.max() > 255
        or not set(np.unique(y)) == set(range(10))
    ):
        raise ValueError(
            f"MNIST: must be X {SHAPE} of pixels from 0 to 255 and y of digits (got {X.shape} from {origin})"
        )
    return X.astype(np.uint8), y.astype(np.uint8)
