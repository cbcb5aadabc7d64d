"""Real data sets. scikit-learn is imported when a set is loaded."""

import numpy as np


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Scikit-learn's diabetes data: ten measurements of 442 patients and the progression of the disease.

    Returns:
        X [442, 10] and y [442], float64, measurements centred.

    Example:
        >>> from jaxonline.datasets import diabetes
        >>> X, y = diabetes()
        >>> X.shape, y.shape
        ((442, 10), (442,))
    """
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return np.asarray(X, float), np.asarray(y, float)
