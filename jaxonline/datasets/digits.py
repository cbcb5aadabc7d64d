"""MNIST: 70,000 images of handwritten digits, from a local file or from OpenML through scikit-learn."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jaxonline.datasets.loading import data_files, search_paths
from jaxonline.datasets.tables import read_arrays

SHAPE = 70_000, 784


def mnist(data: str | Path | Sequence[str | Path] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The images and their digits, 60,000 for training first, as in the original files.

    Args:
        data: folders and files in which to look, one or several, before the folder that the environment variable
            JAXONLINE_DATA names: for an .npz with X and y whose name holds "mnist", or which is named itself. Where
            there is none, the set is fetched from OpenML.

    Returns:
        X [70000, 784], the pixels, and y [70000], the digits, both uint8.

    Raises:
        ValueError: the file holds something else.
        OSError: there is no file, and OpenML cannot be reached.
    """
    found = [
        file
        for place in search_paths(data)
        for file in data_files(place)
        if file.suffix == ".npz" and ("mnist" in file.stem.lower() or file == place)
    ]
    if found:
        X, y = read_arrays(found[0])
        where = str(found[0])
    else:
        import sklearn.datasets

        X, y = sklearn.datasets.fetch_openml(
            "mnist_784", version=1, return_X_y=True, as_frame=False, parser="liac-arff"
        )
        where = "OpenML"
    X, y = np.asarray(X), np.asarray(y, np.int64)
    if (
        X.shape != SHAPE
        or y.shape != SHAPE[:1]
        or X.min() < 0
        or X.max() > 255
        or not set(np.unique(y)) == set(range(10))
    ):
        raise ValueError(
            f"MNIST: must be X {SHAPE} of pixels from 0 to 255 and y of digits (got {X.shape} from {where})"
        )
    return X.astype(np.uint8), y.astype(np.uint8)
