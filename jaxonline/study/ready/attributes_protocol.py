"""Ridge, Lasso and AER on MNIST under protocols that Paper C leaves open: rows, pixels, hypotheses, attributes.

Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010), section 4.
The paper does not state on which rows it measures errors, how it scales pixels, which hypothesis of AER it tests, and
how AER divides its four pixels. This study measures the errors for each combination. Parameters are chosen by
cross-validation on the training part, for each pair or in common for all pairs; the test part chooses nothing.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from jaxonline.datasets import mnist
from jaxonline.results.report.plotting import COLOURS, style_axes
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report, Study
from jaxonline.study.ready.attributes import PAIRS, PUBLISHED, DigitPairs
from jaxonline.study.ready.attributes_protocol_runs import (
    HYPOTHESES,
    LAMBDAS,
    PARAMETERS,
    PARTS,
    PIXELS,
    RADII,
    SIZES,
    PairErrors,
    run_pair,
)
from jaxonline.study.study import Names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CENTRE = {"raw": "raw", "centred": "centred", "root": "centred roots"}


class AttributesProtocol(Study):
    """Errors of ridge and Lasso by rows and pixels, and of AER by pixels, hypothesis, and division of its attributes.

    The parameters of AER are lambda in {3, 4, 5, 6, 8, 10, 12, 16} and radii in {4, 8, 16}. "Own" parameters are chosen
    by the pair's cross-validation; "common" parameters have the least median error in cross-validation over all pairs.
    """

    title: ClassVar[str] = "MNIST from a few pixels under protocols that paper C leaves open: rows, pixels, hypotheses."
    pairs: DigitPairs = Field((), description="Pairs of digits such as 3-5,0-1; by default all 45.")
    splits: int = Field(1, ge=1, le=1000, description="Random splits of each pair.")
    folds: int = Field(5, ge=3, le=20, description="Folds of cross-validation.")
    data: Names = Field((), description="An .npz file with X and y, or its folder, searched before JAXONLINE_DATA.")

    def run(self, context: Context) -> Report:
        X, y = mnist(self.data)
        pairs = self.pairs or PAIRS
        found = []
        with context.parts(len(pairs) * self.splits) as part:
            for number in range(self.splits):
                for pair in pairs:
                    seed = (context.seed, number)
                    inputs = "protocol", pair, seed, self.folds, PARAMETERS
                    compute = partial(run_pair, X, y, pair, seed, self.folds)
                    own = part("{}-{}, split {}".format(*pair, number)).compute_once(inputs, compute)
                    found.append(PairErrors(**own))
        errors = PairErrors(*(np.stack(arrays) for arrays in zip(*found, strict=True)))  # [pairs and splits, ...]
        full, few = _full_rows(errors), _few_rows(errors)
        caption = f"Medians over {len(pairs)} pairs and {self.splits} splits; {self.folds}-fold cross-validation."
        tables = {
            "full": Table("Ridge and Lasso, which see all pixels", full, FULL_COLUMNS, caption=caption),
            "few": Table("AER on the test part", few, FEW_COLUMNS, caption=f"{caption} {FEW_CAPTION}"),
        }
        return Report(
            tables,
            {"figure": lambda: plot_protocols(few)},
            _sentences(full, few),
            numbers={"full": full, "few": few, "settings": self.model_dump(exclude={"data"})},
            shown=list(tables.values()),
        )


FULL_COLUMNS = (
    Text("pixels"), Text("rows"), Number("ridge", "ridge", "{:.3f}"), Number("ridge_wrong", "wrong, %", "{:.2f}"),
    Number("lasso", "Lasso", "{:.3f}"), Number("twice", "2 Lasso", "{:.3f}"),
    Number("lasso_wrong", "wrong, %", "{:.2f}"),
)  # fmt: skip
FEW_COLUMNS = (
    Text("sizes", "seen"), Text("pixels"), Text("hypothesis"),
    Number("own", "own", "{:.3f}"), Number("own_wrong", "wrong, %", "{:.1f}"),
    Number("common", "common", "{:.3f}"), Number("common_wrong", "wrong, %", "{:.1f}"),
    Number("ratio", "ridge\n/ own", "{:.2f}"),
)  # fmt: skip


FEW_CAPTION = (
    "Seen: pixels of each image for the estimate of x + for the prediction. Own, common: parameters of each pair, of "
    "all pairs. Ridge / own: the error of ridge on as many pixels in all, divided by AER's, median over pairs."
)


def _full_rows(errors: PairErrors) -> list[dict[str, Any]]:
    """Return the medians of ridge and Lasso for each scaling of pixels and each part of the rows."""
    ridge, lasso = np.median(errors.ridge, axis=0), np.median(errors.lasso, axis=0)
    return [
        {
            "pixels": CENTRE[pixels], "rows": rows,
            "ridge": float(ridge[i, j, 0]), "ridge_wrong": 100 * float(ridge[i, j, 1]),
            "lasso": float(lasso[i, j, 0]), "twice": 2 * float(lasso[i, j, 0]),
            "lasso_wrong": 100 * float(lasso[i, j, 1]),
        }
        for i, pixels in enumerate(PIXELS) for j, rows in enumerate(PARTS)
    ]  # fmt: skip


def _few_rows(errors: PairErrors) -> list[dict[str, Any]]:
    """Return the medians of AER for each division of attributes, scaling of pixels and hypothesis."""
    rows = []
    for s, p, h in np.ndindex(len(SIZES), len(PIXELS), len(HYPOTHESES)):
        folds, test = errors.folds[:, p, s, h], errors.aer[:, p, s, h]  # [pairs, parameters], [pairs, parameters, 2]
        own = test[np.arange(len(test)), np.argmin(folds, axis=1)]
        common = int(np.argmin(np.median(folds, axis=0)))
        (own_squared, own_wrong), (squared, wrong) = np.median(own, axis=0), np.median(test[:, common], axis=0)
        rows.append({
            "sizes": "{} + {}".format(*SIZES[s]), "pixels": CENTRE[PIXELS[p]], "hypothesis": HYPOTHESES[h],
            "own": float(own_squared), "own_wrong": 100 * float(own_wrong),
            "common": float(squared), "common_wrong": 100 * float(wrong),
            "regularizer": PARAMETERS[common][0], "radius": PARAMETERS[common][1],
            "ratio": float(np.median(errors.equal[:, p, s] / own[:, 0])),
            "lower_edge": float(np.mean([PARAMETERS[i][0] == LAMBDAS[0] for i in np.argmin(folds, axis=1)])),
            "upper_edge": float(np.mean([PARAMETERS[i][1] == RADII[-1] for i in np.argmin(folds, axis=1)])),
        })  # fmt: skip
    return rows


def _sentences(full: list[dict[str, Any]], few: list[dict[str, Any]]) -> list[str]:
    """State which protocols give the printed numbers: squared errors within 5 %, wrong signs within 0.3 %."""
    printed = {name: PUBLISHED[name] for name in ("ridge", "Lasso", "AER")}

    def near(squared: float, wrong: float, name: str) -> bool:
        target, target_wrong = printed[name]
        return abs(squared / target - 1) <= 0.05 and abs(wrong - target_wrong) <= 0.3

    matches = {
        "ridge": [f"{row['pixels']}, {row['rows']}" for row in full if near(row["ridge"], row["ridge_wrong"], "ridge")],
        "Lasso": [f"{row['pixels']}, {row['rows']}" for row in full if near(row["lasso"], row["lasso_wrong"], "Lasso")],
        "twice Lasso": [
            f"{row['pixels']}, {row['rows']}" for row in full if near(row["twice"], row["lasso_wrong"], "Lasso")
        ],
        "AER": [
            f"{row['sizes']}, {row['pixels']}, {row['hypothesis']} ({kind} parameters)"
            for row in few for kind in ("own", "common") if near(row[kind], row[f"{kind}_wrong"], "AER")
        ],
    }  # fmt: skip
    return [
        f"Protocols with the printed numbers of {name} (squared error within 5 %, wrong signs within 0.3 %): "
        f"{'; '.join(found) or 'none'}."
        for name, found in matches.items()
    ]


def plot_protocols(rows: list[dict[str, Any]]) -> "Figure":
    """Plot AER's squared errors (own parameters) by hypothesis, division of attributes, and scaling of pixels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.4), layout="constrained")
    axes = figure.subplots()
    groups = list(dict.fromkeys((row["sizes"], row["pixels"]) for row in rows))
    for i, hypothesis in enumerate(HYPOTHESES):
        heights = [row["own"] for row in rows if row["hypothesis"] == hypothesis]
        axes.plot(range(len(groups)), heights, "os^"[i], color=COLOURS[i], label=hypothesis)
    axes.axhline(PUBLISHED["AER"][0], color="0.4", ls="--", lw=1.0, label="printed in paper C: 0.320")
    axes.set_xticks(range(len(groups)), [f"{sizes}\n{pixels}" for sizes, pixels in groups], rotation=90, fontsize=8)
    style_axes(axes, "pixels for x + prediction, scaling", "squared test error", "AER, medians over pairs")
    axes.legend(frameon=False, fontsize=9)
    return figure
