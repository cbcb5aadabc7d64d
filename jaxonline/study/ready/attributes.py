"""Learning from a few pixels of each image: paper C's experiments, its lower bounds, and measurements with a price.

Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010), section 4,
Figs. 1 and 2 and the table; Theorems 3 and 4. With AERR of Hazan and Koren (ICML 2012).

The paper states neither how pixels were scaled nor which parameters were tried. Here they go from 0 to 1; each learner
is played on them as they are ("raw") and on "centred" ones: less the mean of the training part, without those that are
constant in it. (Who may see four pixels of each image does not know these means; they cost d attributes of a few images
more.) What parameters are chosen from is in `attributes_mnist.Grids`.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field

from jaxonline.datasets import mnist
from jaxonline.results.tables import Number, Table, Text
from jaxonline.study import Context, Report, Study
from jaxonline.study.ready import attributes_mnist as digits
from jaxonline.study.ready import attributes_theory as theory
from jaxonline.study.study import Names

PAIRS = tuple(itertools.combinations(range(10), 2))
QUICK_PAIRS = ((0, 1), (3, 5), (2, 7), (4, 9), (6, 8))
CURVE = (3, 5)
PREFIXES = 10  # sizes of the training part in Fig. 2
# as printed: squared error, and part of wrong signs in per cent
PUBLISHED = {"ridge": (0.110, 1.3), "Lasso": (0.222, 1.1), "AER": (0.320, 3.5), "Baseline": (0.815, None)}
MEASURES = "squared", "classification"


class TableRow(NamedTuple):
    """A row of the table: a learner, and what it is played on."""

    learner: str
    centred: bool

    @property
    def name(self) -> str:
        """The row in words."""
        return f"{self.learner}, {'centred' if self.centred else 'raw'}"


ROWS = tuple(TableRow(learner, centred) for learner in digits.LEARNERS for centred in (False, True))


def parse_pairs(text: str) -> list[tuple[int, int]]:
    """Pairs of digits from text: "3-5,0-1".

    Raises:
        ValueError: the text is something else.
    """
    parts = [re.fullmatch(r"([0-9])\s*-\s*([0-9])", part.strip()) for part in text.split(",") if part.strip()]
    digits_of = [(int(part[1]), int(part[2])) for part in parts if part]
    pairs = [(min(each), max(each)) for each in digits_of]
    if None in parts or not pairs or any(a == b for a, b in pairs):
        raise ValueError(f'pairs must be of two different digits, as "3-5,0-1", got {text!r}')
    return list(dict.fromkeys(pairs))


def _pairs(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    return parse_pairs(",".join(texts)) if texts and all(isinstance(text, str) for text in texts) else value


class FewAttributes(Study):
    """Images of two digits, of which learners see a few pixels, beside ridge and Lasso that see all.

    Each split has its own test part, a tenth, and its own choice of parameters by cross-validation on the rest. All of
    it takes hours on two cores; what is done is kept in the checkpoint.
    """

    title: ClassVar[str] = "MNIST from four pixels of each image: AER, AERR and the Baseline beside ridge and Lasso."
    pairs: Annotated[tuple[tuple[int, int], ...], BeforeValidator(_pairs)] = Field(
        (), description="Pairs of digits, as 3-5,0-1; by default all 45."
    )
    splits: int = Field(10, ge=1, le=1000, description="Random splits of each pair.")
    attributes: int = Field(4, ge=2, le=784, multiple_of=2, description="Pixels of each image that a learner sees.")
    quick: bool = Field(False, description="Five pairs, two splits, small grids, three folds.")
    data: Names = Field((), description="An .npz with X and y, or its folder, before the folder JAXONLINE_DATA.")

    def run(self, context: Context) -> Report:
        from jaxonline.study.ready import attributes_figures as figures

        X, y = mnist(self.data)
        with context.parts(len(self.chosen_pairs) + 2) as part:
            errors = {pair: self.play_pair(X, y, pair, part("{}-{}".format(*pair))) for pair in self.chosen_pairs}
            curves = self.curves(X, y, part("prefixes"))
            found = theory.explore(part("lower bounds"), quick=self.quick)
        table = Table("Test errors, medians over pairs and splits", _rows(errors), COLUMNS)
        by_pair = Table(
            "Squared test errors by pair, medians over splits; centred pixels unless raw",
            _pair_rows(errors),
            _pair_columns(),
        )
        on_prefixes = Table("Test errors on prefixes of 3 vs 5, means over splits", _curve_rows(curves))
        return Report(
            {"table": table, "pairs": by_pair, "prefixes": on_prefixes, **found.tables},
            {
                "images": lambda: figures.images(X, y, self.attributes, context.seed),
                "prefixes": lambda: figures.prefixes(curves, self.attributes),
                **found.figures,
            },
            [*_sentences(errors), *found.sentences],
            numbers={
                "table": {row["row"]: {measure: row[measure] for measure in MEASURES} for row in table.rows},
                "pairs": {"{}-{}".format(*pair): _medians(of) for pair, of in errors.items()},
                "prefixes": _curve_rows(curves),
                "settings": self.model_dump(exclude={"data"}) | {"grids": self.grids._asdict()},
            } | {name: each.rows for name, each in found.tables.items()},
            shown=[table, by_pair, *found.tables.values()],
        )  # fmt: skip

    @property
    def chosen_pairs(self) -> Sequence[tuple[int, int]]:
        """The pairs to play."""
        return self.pairs or (QUICK_PAIRS if self.quick else PAIRS)

    @property
    def n_splits(self) -> int:
        """How many splits to play."""
        return min(self.splits, 2) if self.quick else self.splits

    @property
    def grids(self) -> digits.Grids:
        """What parameters are chosen from."""
        return digits.QUICK if self.quick else digits.Grids()

    def play_pair(self, X: np.ndarray, y: np.ndarray, pair: tuple[int, int], context: Context) -> dict[str, np.ndarray]:
        """The test errors of each row of the table [splits, 2]."""
        rows = {row.name: [] for row in ROWS}
        with context.parts(self.n_splits) as part:
            for number in range(self.n_splits):
                seed = (context.seed, number)
                inputs = "split", pair, seed, self.attributes, self.grids

                def compute(seed: tuple[int, ...] = seed) -> dict[str, np.ndarray]:
                    found = {}
                    for centred in (False, True):
                        split = digits.split_pair(X, y, pair, seed, self.grids.folds, centred)
                        for learner in digits.LEARNERS:
                            best = digits.learn(learner, split, self.grids, self.attributes, (*seed, *pair))
                            found[TableRow(learner, centred).name] = split.errors(best.w)
                    return found

                for name, each in part(f"split {number}").keep(inputs, compute).items():
                    rows[name].append(each)
        return {name: np.stack(each) for name, each in rows.items()}

    def curves(self, X: np.ndarray, y: np.ndarray, context: Context) -> dict[str, np.ndarray]:
        """Fig. 2: squared test errors [splits, prefixes] of "3 vs 5" on centred pixels, and the prefixes' lengths."""

        def compute() -> dict[str, np.ndarray]:
            found: dict[str, list] = {}
            for number in range(self.n_splits):
                seed = (context.seed, number)
                split = digits.split_pair(X, y, CURVE, seed, self.grids.folds, centred=True)
                ends = tuple(int(n) for n in np.geomspace(len(split.y) / 100, len(split.y), PREFIXES).round())
                for learner in digits.LEARNERS[:-1]:
                    best = digits.learn(learner, split, self.grids, self.attributes, (*seed, *CURVE))
                    found.setdefault(learner, []).append(split.errors(best.prefixes(ends))[:, 0])
            return {name: np.stack(each) for name, each in found.items()} | {"examples": np.array(ends)}

        return context.keep(("curves", context.seed, self.attributes, self.grids, self.n_splits), compute)


COLUMNS = (
    Text("row", "learner, pixels"), Number("squared", "squared\nerror", "{:.3f}"),
    Number("printed", "paper", "{:.3f}"), Number("ratio", "ours /\npaper", "{:.2f}"),
    Number("classification", "wrong\nsigns, %", "{:.1f}"), Number("printed_classification", "paper, %", "{:.1f}"),
)  # fmt: skip


def _medians(of: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Of one pair: medians over splits."""
    return {name: dict(zip(MEASURES, np.median(each, axis=0).tolist(), strict=True)) for name, each in of.items()}


def _rows(errors: dict[tuple[int, int], dict[str, np.ndarray]]) -> list[dict[str, Any]]:
    rows = []
    for row in ROWS:
        squared, wrong = np.median(np.concatenate([of[row.name] for of in errors.values()]), axis=0).tolist()
        printed, printed_wrong = PUBLISHED.get(row.learner, (None, None))
        rows.append({
            "row": row.name, "squared": squared, "printed": printed, "ratio": squared / printed if printed else None,
            "classification": 100 * wrong, "printed_classification": printed_wrong,
        })  # fmt: skip
    return rows


def _pair_rows(errors: dict[tuple[int, int], dict[str, np.ndarray]]) -> list[dict[str, Any]]:
    """One row a pair, those where AER loses most against ridge first."""
    rows = []
    for pair, of in errors.items():
        medians = {name: each["squared"] for name, each in _medians(of).items()}
        loss = medians["AER, centred"] - medians["ridge, centred"]
        rows.append({"pair": "{} vs {}".format(*pair)} | medians | {"AER less ridge": loss})
    return sorted(rows, key=lambda row: -row["AER less ridge"])


def _pair_columns() -> tuple[Text, ...]:
    names = [*(row.name for row in ROWS if row.centred), "AER, raw", "AER less ridge"]
    names.remove("Baseline, cone, centred")
    heads = [name.replace(", centred", "").replace(", raw", ",\nraw").replace(" less", "\nless") for name in names]
    return (Text("pair"), *(Number(name, head, "{:.3f}") for name, head in zip(names, heads, strict=True)))


def _curve_rows(curves: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    rows = []
    for i, n in enumerate(curves["examples"].tolist()):
        for name, each in curves.items():
            if name != "examples":
                spread = float(each[:, i].std(ddof=1)) if len(each) > 1 else None
                rows.append({"examples": n, "learner": name, "squared": float(each[:, i].mean()), "deviation": spread})
    return rows


def _sentences(errors: dict[tuple[int, int], dict[str, np.ndarray]]) -> list[str]:
    rows = {row["row"]: row for row in _rows(errors)}
    closer = min(("AER, raw", "AER, centred"), key=lambda name: abs(np.log(rows[name]["ratio"])))
    worst = _pair_rows(errors)[0]
    pair, aer, ridge = (worst[name] for name in ("pair", "AER, centred", "ridge, centred"))
    told = f"AER loses most against ridge on {pair}: {aer:.3f} to {ridge:.3f}."
    return [f"The paper's AER (0.320) is closer to {closer}: {rows[closer]['squared']:.3f}.", told]
