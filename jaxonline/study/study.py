"""Studies: they run in a `Context` and return a `Report`."""

import contextlib
import dataclasses
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pydantic
from jax.sharding import Mesh

from jaxonline.game import Game, Learner, WithFeedback
from jaxonline.learners import InverseSqrt
from jaxonline.parameters import check
from jaxonline.parameters.check import Limits
from jaxonline.parameters.errors import ArgumentError, SettingsWarning, SkewedRunsWarning, did_you_mean
from jaxonline.results import Result
from jaxonline.results.report.tables import Table, html_page, strict_json
from jaxonline.results.tuned import Tuned
from jaxonline.simulation import simulate, tune
from jaxonline.simulation.blocks import check_mesh
from jaxonline.simulation.cluster import Cluster, Workers
from jaxonline.simulation.options import StudyOptions
from jaxonline.simulation.progress import Progress, Reporter, check_progress
from jaxonline.simulation.sweeps import LearnerEntries
from jaxonline.store.checkpoints import Checkpoint
from jaxonline.store.files import check_inside, write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import Console


@dataclasses.dataclass(frozen=True)
class Context:
    """The settings of a study that do not change its mathematics: checkpoint, devices, seed and progress.

    Attributes:
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

    checkpoint: str | Path | Checkpoint | None = None
    mesh: Mesh | None = None
    seed: int = 0
    progress: Progress = False
    cluster: Cluster | None = None

    def __post_init__(self) -> None:
        check.seed("seed", self.seed)
        check_progress(self.progress)
        if self.checkpoint is not None:
            Checkpoint.of(self.checkpoint)
        if self.mesh is not None:
            check_mesh(self.mesh)
        if not (self.cluster is None or isinstance(self.cluster, str | Workers) or hasattr(self.cluster, "submit")):
            check.count("cluster", self.cluster)

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
        title: title of the study; by default that of the first table.

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
    title: str = ""

    def __post_init__(self) -> None:
        kinds = (("tables", Table, "a dictionary of tables"), ("results", Result, "a dictionary of results"))
        for name, kind, expected in kinds:
            value = getattr(self, name)
            valid = isinstance(value, Mapping) and all(isinstance(entry, kind) for entry in value.values())
            check.instance(name, value, valid, expected)
        valid = isinstance(self.figures, Mapping) and all(map(callable, self.figures.values()))
        check.instance("figures", self.figures, valid, "a dictionary of functions that draw")

    def show(self, console: "Console") -> None:
        """Print title, tables and sentences on a rich console."""
        if self.title:
            console.print(self.title, markup=False, highlight=False)
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

    def save(self, folder: str | Path) -> list[Path]:
        """Write NAME.csv, NAME.png, NAME.npz, numbers.json and report.html to a folder; return the written paths."""
        folder = Path(folder)
        texts = {f"{name}.csv": table.csv() for name, table in self.tables.items()} | {"numbers.json": self.json()}
        paths = [write_atomically(folder / name, text) for name, text in texts.items()]
        places = [folder / f"{file_name(name)}.npz" for name in self.results]  # in folders, if names have slashes
        places = [check_inside(folder, place.parent) / place.name for place in places]
        saved = [result.save(place) for place, result in zip(places, self.results.values(), strict=True)]
        figures = {name: draw_png(draw) for name, draw in self.figures.items()}
        paths += [write_atomically(folder / f"{name}.png", image) for name, image in figures.items()] + saved
        paths.append(write_atomically(folder / "report.html", self._page("", figures)))
        return list(dict.fromkeys(folder / path.relative_to(folder).parts[0] for path in paths))

    def _for_people(self) -> Sequence[Table]:
        return list(self.tables.values()) if self.shown is None else self.shown

    def _page(self, title: str, figures: Mapping[str, bytes]) -> str:
        tables = self._for_people()
        title = title or self.title or next((table.title for table in tables if table.title), "Report")
        return html_page(title, sentences=self.sentences, tables=tables, figures=figures, **self.page)


def draw_png(draw: Callable[[], "Figure | Axes"]) -> bytes:
    """Return the figure of a report as PNG, and close it."""
    from matplotlib import pyplot

    image = io.BytesIO()
    with pyplot.style.context("default"):  # a file matplotlibrc in the current folder changes no figure
        figure = draw().get_figure(root=True)
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


def first_error(errors: pydantic.ValidationError, fields: Iterable[str]) -> ValueError:
    """Return the first error that pydantic found in the fields of a model, unknown fields first, as an ArgumentError.

    A ValueError that a validator raised is returned unchanged.
    """
    error: Any = min(errors.errors(include_url=False), key=lambda error: error["type"] != "extra_forbidden")
    name, context = str(error["loc"][0]) if error["loc"] else "fields", error.get("ctx", {})
    if error["type"] == "extra_forbidden":
        return ArgumentError(name, f"is unknown; the names are {', '.join(fields)}{did_you_mean(name, fields)}")
    if error["type"] == "missing":
        return ArgumentError(name, "is missing")
    if error["type"] == "value_error":
        return context["error"]
    limits = Limits(**{limit: value for limit, value in context.items() if limit in Limits._fields})
    problem = f"must be {limits.words}" if limits.words else re.sub(r"^\w+ should", "must", error["msg"])
    value = error["input"]
    return ArgumentError(name, f"{problem} (got {value if isinstance(value, str) else check.quote(value)})")


@contextlib.contextmanager
def ignore_skewness_warnings() -> Iterator[None]:
    """Suppress warnings of skewed runs in a study that reports them with `skewness_sentences`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkewedRunsWarning)
        yield


def best_step(game: Game, learner: Any, etas: Sequence[float], context: Context, **options: Any) -> Tuned:
    """Return the search of `jaxonline.tune` for the best step eta / sqrt(t), in runs of the next seed.

    Args:
        game: the game.
        learner: a learner whose `step_size` is an `InverseSqrt`, or a function of such a step.
        etas: candidate values of eta.
        context: checkpoint, devices, seed and progress.
        **options: other arguments of `jaxonline.tune`: numbers of runs and rounds.
    """
    is_learner = isinstance(learner, Learner | WithFeedback)
    make = learner if is_learner else lambda eta: learner(InverseSqrt(eta))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SettingsWarning)  # reported as `Tuned.at_edge`
        return tune(
            game, make, {"step_size.eta" if is_learner else "eta": list(etas)}, key=context.seed, rungs=1,
            runs_key=(context.seed + 1) % 2**32, mesh=context.mesh, progress=context.progress,
            checkpoint=context.checkpoint, **options,
        )  # fmt: skip
