"""Studies: a `Study` declares its parameters as fields, runs in a `Context` and returns a `Report`.

The command line makes its options, help texts and error messages from the fields of a `Study`.
"""

import contextlib
import dataclasses
import io
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Unpack

import numpy as np
import pydantic
from jax.sharding import Mesh

from jaxonline import datasets
from jaxonline.game import Game
from jaxonline.parameters import check
from jaxonline.parameters.check import Limits
from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.results import Result
from jaxonline.results.report.tables import Table, html_page, strict_json
from jaxonline.simulation import simulate
from jaxonline.simulation.blocks import check_mesh
from jaxonline.simulation.cluster import Cluster
from jaxonline.simulation.options import StudyOptions
from jaxonline.simulation.progress import Progress, Reporter, check_progress
from jaxonline.simulation.sweeps import LearnerEntries
from jaxonline.store.checkpoints import Checkpoint
from jaxonline.store.output_paths import output_file, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import Console


@dataclasses.dataclass(frozen=True)
class Context:
    """The settings of a study that do not change its mathematics: folders, devices, seed and progress.

    Attributes:
        out: output folder of the study.
        checkpoint: a `Checkpoint`, or a folder; an interrupted study resumes from it.
        mesh: the devices that compute the study; all devices by default.
        seed: seed of all random numbers, from 0 to 2^32 - 1.
        progress: progress bar or function, as in `simulate`.
        cluster: the cluster whose workers compute the blocks, as in `simulate`.

    Example:
        >>> from jaxonline.study import Context
        >>> Context(seed=7).seed
        7
    """

    out: str | Path | None = None
    checkpoint: str | Path | Checkpoint | None = None
    mesh: Mesh | None = None
    seed: int = 0
    progress: Progress = False
    cluster: Cluster | None = None

    def __post_init__(self) -> None:
        check.seed("seed", self.seed)
        for name, kinds in {"out": str | Path, "checkpoint": str | Path | Checkpoint}.items():
            value = getattr(self, name)
            if value is not None:
                check.instance(name, value, isinstance(value, kinds), "a folder")
        if self.mesh is not None:
            check_mesh(self.mesh)
        if self.cluster is not None:
            check.instance("cluster", self.cluster, callable(getattr(self.cluster, "submit", None)), "a client of Dask")
        check_progress(self.progress)

    def simulate(
        self, game: Game, learners: LearnerEntries, *, n_runs: int, n_rounds: int, **options: Unpack[StudyOptions]
    ) -> Result:
        """Call `simulate` with the context's seed, devices, progress and checkpoint, once per part of a study."""
        return simulate(
            game, learners, n_runs=n_runs, n_rounds=n_rounds, key=self.seed, mesh=self.mesh, progress=self.progress,
            checkpoint=self.checkpoint, cluster=self.cluster, **options,
        )  # fmt: skip

    @contextlib.contextmanager
    def parts(self, total: int) -> Iterator[Callable[[str], "Context"]]:
        """Split a study: in `with context.parts(2) as part`, `part(name)` is the next part, with its own checkpoint.

        Example:
            >>> from pathlib import Path
            >>> from jaxonline.study import Context
            >>> with Context(checkpoint=Path("store"), progress=lambda *entry: print(*entry)).parts(2) as part:
            ...     folders = [part(name).checkpoint.as_posix() for name in ("noise 0.1", "noise 0.2")]
            1 2 noise 0.1
            2 2 noise 0.2
            >>> folders
            ['store/noise-0.1', 'store/noise-0.2']
        """
        started: list[str] = []
        with Reporter(self.progress, total) as reporter:

            def finish() -> None:
                if started:
                    reporter.advance(started[-1])

            def part(name: str) -> Context:
                finish()
                started.append(name)
                folder = self.checkpoint
                if folder is not None:
                    folder = (Checkpoint.of(folder) if isinstance(folder, str) else folder) / folder_name(name)
                return dataclasses.replace(self, checkpoint=folder, progress=reporter.nested(name))

            yield part
            finish()

    def compute_once(self, inputs: Any, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return the arrays of `compute`, or the arrays that the checkpoint stores for the same inputs."""
        if self.checkpoint is None:
            return compute()
        return Checkpoint.of(self.checkpoint).compute_once(inputs, compute)


@dataclasses.dataclass(frozen=True)
class Report:
    """The tables, figures, sentences and results of a study.

    Attributes:
        tables: tables by name, each written as a file.
        figures: functions that each draw and return a Matplotlib figure or axes, by the name of the figure.
        sentences: sentences with conclusions from the numbers.
        results: results of simulations by name.
        numbers: numbers for JSON; by default the tables.
        shown: the tables to print; all by default.
        page: other arguments of `results.report.tables.html_page`: the configuration.

    Example:
        >>> import sys, tempfile
        >>> from rich.console import Console
        >>> from jaxonline.results.report.tables import Number, Table, Text
        >>> from jaxonline.study import Report
        >>> columns = Text("learner"), Number("regret", form="{:.2f}")
        >>> table = Table("Regret", [{"learner": "a", "regret": 2.0}], columns)
        >>> report = Report({"table": table}, sentences=["One learner is enough."])
        >>> report.show(Console(file=sys.stdout, width=40))  # doctest: +NORMALIZE_WHITESPACE
        Regret
        learner   regret
        ────────────────
        a           2.00
        One learner is enough.
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in report.save(folder)]
        ['table.csv', 'numbers.json', 'report.html']
    """

    tables: Mapping[str, Table]
    figures: Mapping[str, Callable[[], "Figure | Axes"]] = dataclasses.field(default_factory=dict)
    sentences: Sequence[str] = ()
    results: Mapping[str, Result] = dataclasses.field(default_factory=dict)
    numbers: Any = None
    shown: Sequence[Table] | None = None
    page: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = (("tables", Table, "a dictionary of tables"), ("results", Result, "a dictionary of results"))
        for name, kind, expected in kinds:
            value = getattr(self, name)
            valid = isinstance(value, Mapping) and all(isinstance(entry, kind) for entry in value.values())
            check.instance(name, value, valid, expected)
        valid = isinstance(self.figures, Mapping) and all(map(callable, self.figures.values()))
        check.instance("figures", self.figures, valid, "a dictionary of functions that draw")

    def show(self, console: "Console") -> None:
        """Print tables and sentences on a rich console."""
        for table in self._for_people():
            console.print(table)
        for sentence in self.sentences:
            console.print(sentence, markup=False, highlight=False)

    def json(self) -> str:
        """Return the numbers as strict JSON."""
        return strict_json({name: t.rows for name, t in self.tables.items()} if self.numbers is None else self.numbers)

    def html(self, title: str = "") -> str:
        """Return the report as one HTML page."""
        return self._page(title, {name: draw_png(draw) for name, draw in self.figures.items()})

    def latex(self) -> str:
        r"""Return the printed tables as LaTeX, which requires the package booktabs.

        Example:
            >>> from jaxonline.results.report.tables import Table
            >>> from jaxonline.study import Report
            >>> print(Report({"table": Table("5 % of runs", [{"learner": "a_1", "regret": 2.5}])}).latex())
            % \usepackage{booktabs}
            \begin{table}
            \centering
            \caption{5 \% of runs}
            \begin{tabular}{lr}
            \toprule
            learner & regret \\
            \midrule
            a\_1 & 2.5 \\
            \bottomrule
            \end{tabular}
            \end{table}
            <BLANKLINE>
        """
        return "% \\usepackage{booktabs}\n" + "\n".join(table.latex(floating=True) for table in self._for_people())

    def save(self, folder: str | Path) -> list[Path]:
        """Write NAME.csv, NAME.png, NAME.npz, numbers.json and report.html to a folder; return the written paths."""
        folder = Path(folder)
        texts = {f"{name}.csv": table.csv() for name, table in self.tables.items()} | {"numbers.json": self.json()}
        paths = [folder / name for name in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            write_text(path, text)
        saved = [result.save(folder / f"{file_name(name)}.npz") for name, result in self.results.items()]
        figures = {name: draw_png(draw) for name, draw in self.figures.items()}
        for name, image in figures.items():
            paths.append(folder / f"{name}.png")
            with output_file(paths[-1]) as path:
                path.write_bytes(image)
        paths += [*saved, write_text(folder / "report.html", self._page("", figures))]
        return list(dict.fromkeys(folder / path.relative_to(folder).parts[0] for path in paths))

    def _for_people(self) -> Sequence[Table]:
        return list(self.tables.values()) if self.shown is None else self.shown

    def _page(self, title: str, figures: Mapping[str, bytes]) -> str:
        tables = self._for_people()
        title = title or next((table.title for table in tables if table.title), "Report")
        return html_page(title, sentences=self.sentences, tables=tables, figures=figures, **self.page)


def draw_png(draw: Callable[[], "Figure | Axes"]) -> bytes:
    """Return the figure of a report as PNG, and close it."""
    from matplotlib import pyplot

    image, figure = io.BytesIO(), draw().get_figure(root=True)
    figure.savefig(image, format="png", dpi=150)  # type: ignore[union-attr]
    pyplot.close(figure)
    return image.getvalue()


def folder_name(name: str) -> str:
    """Encode a name as a folder name (distinct for distinct names): blanks become dashes, most signs become %XX.

    Example:
        >>> from jaxonline.study.study import folder_name
        >>> folder_name("two copies"), folder_name("two-copies"), folder_name("../x")
        ('two-copies', 'two%2Dcopies', '%2E.%2Fx')
    """
    encoded = re.sub(r"^\.|[^\w .+,=()]", lambda sign: "".join(f"%{byte:02X}" for byte in sign[0].encode()), name)
    return encoded.replace(" ", "-")


def file_name(name: str) -> str:
    """Convert a name to a file name: signs other than letters, digits and _.+/ become dashes."""
    return re.sub(r"[^\w.+/]+", "-", name).strip("-")


class Study(pydantic.BaseModel):
    """Base class of studies: a subclass declares fields with ranges and descriptions, a `title`, and `run`.

    The error message of an invalid field has one line.

    Raises:
        ValueError: a field is out of its range or unknown.

    Example:
        >>> from typing import ClassVar
        >>> from pydantic import Field
        >>> from jaxonline.results.report.tables import Table
        >>> from jaxonline.study import Context, Report, Study
        >>> class Squares(Study):
        ...     title: ClassVar[str] = "Squares of the first numbers."
        ...     n: int = Field(3, ge=1, description="How many.")
        ...
        ...     def run(self, context: Context) -> Report:
        ...         return Report({"table": Table(self.title, [{"n": n, "square": n**2} for n in range(self.n)])})
        >>> Squares(n=4).run(Context()).tables["table"].rows[-1]
        {'n': 3, 'square': 9}
        >>> Squares(n=0)
        Traceback (most recent call last):
            ...
        jaxonline.parameters.errors.ArgumentError: n: must be at least 1 (got 0)
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)
    title: ClassVar[str]

    def __init__(self, **fields: Any):
        try:
            super().__init__(**fields)
        except pydantic.ValidationError as error:
            raise _argument_error(error.errors()[0], type(self).model_fields) from None

    @abstractmethod
    def run(self, context: Context) -> Report:
        """Run the study."""


TYPE_WORDS = {  # by the first word of an error type of pydantic
    "int": "a valid integer", "float": "a valid number", "bool": "a valid boolean", "string": "a valid string",
    "tuple": "a valid tuple", "path": "a valid path", "finite": "a finite number",
}  # fmt: skip


def _argument_error(error: Any, fields: Mapping[str, Any]) -> ValueError:
    name, context = str(error["loc"][0]) if error["loc"] else "fields", error.get("ctx", {})
    if error["type"] == "extra_forbidden":
        return ArgumentError("fields", f"must be among {', '.join(fields)} (got {name}){did_you_mean(name, fields)}")
    if error["type"] == "value_error":
        return context["error"]
    if error["type"] == "too_short":
        return ArgumentError(name, f"must be at least {context['min_length']} (got {context['actual_length']} of them)")
    if error["type"] == "multiple_of":
        return ArgumentError(name, f"must be a multiple of {context['multiple_of']} (got {error['input']})")
    limits = Limits(**{limit: value for limit, value in context.items() if limit in Limits._fields})
    expected = limits.words or context.get("expected") or TYPE_WORDS.get(error["type"].partition("_")[0], "valid")
    return ArgumentError(name, f"must be {expected} (got {error['input']})")


def _split_commas(value: Any) -> Any:
    texts = (value,) if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return [item.strip() for text in texts for item in text.split(",") if item.strip()]
    return value


Items: Any = pydantic.BeforeValidator(_split_commas)
Words = Annotated[tuple[str, ...], Items]
Numbers = Annotated[tuple[float, ...], Items]
NotNegative = Annotated[tuple[Annotated[float, pydantic.Field(ge=0)], ...], Items]
Positive = Annotated[tuple[Annotated[float, pydantic.Field(gt=0)], ...], Items]
AboveOne = Annotated[tuple[Annotated[float, pydantic.Field(gt=1)], ...], Items]
Names = Annotated[
    tuple[str, ...], pydantic.BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]


def select_by_name(field: str, names: Sequence[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Select those entries of `known` that a field names, in the order of `known`; all if the field is empty.

    A name that is unknown and contains commas is read as a list of names. Unknown names raise a ValueError.
    """
    names = [item for name in names for item in ([name] if name in known else _split_commas(name))]
    unknown = [name for name in names if name not in known]
    if unknown:
        name = unknown[0]
        raise ArgumentError(
            field, f"must be among {', '.join(map(repr, known))} (got {name!r}){did_you_mean(name, known)}"
        )
    return {name: value for name, value in known.items() if not names or name in names}


def load_set(name: str, data: Sequence[str], **options: Any) -> datasets.DataSet:
    """Load a data set for a study with the fields `sets` and `data`; the set is fetched only if `data` is empty."""
    local = datasets.is_local(name, data)
    if data and not local:
        raise ArgumentError("data", f"must hold {name} (got {', '.join(map(str, data))}); without data it is fetched")
    try:
        return datasets.load(name, data, **options)
    except ValueError as error:
        raise ArgumentError("sets", f"must name a data set ({error})") from error
