"""Report of a study as one HTML file without external resources, in which all text is escaped.

`page.css` has the styles, `chart.js` the interactive curves, and `page.js` sortable tables, zoom and dark colours.
"""

import base64
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import SkewedRunsWarning
from jaxonline.results import parts
from jaxonline.results.quantities import label_of
from jaxonline.results.report import summary
from jaxonline.results.report.columns import Number, Text
from jaxonline.results.report.formats import escape_html, format_number
from jaxonline.results.report.plotting import is_logarithmic
from jaxonline.results.report.tables import Table

MAX_CHART_LEARNERS, MAX_CHART_ROUNDS, MAX_RANKED_LEARNERS = (
    60,
    100,
    40,
)  # learners and recorded rounds of a chart; learners of a ranking
MAX_VECTOR_ENTRIES = 30
LEVEL = 0.95


def html_page(
    title: str,
    *,
    sentences: Sequence[str] = (),
    results: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    tables: Mapping[str, Table] | Sequence[Table] = (),
    figures: Mapping[str, bytes] | None = None,
    configuration: str = "",
    commands: Sequence[str] = (),
    about: Mapping[str, Any] | None = None,
) -> str:
    """Return a report as an HTML page; empty sections are left out.

    `results`, `bounds` and `figures` are dictionaries by name: `bounds` holds a theorem's bound at each recorded round
    [G], by result and learner, and `figures` holds PNG bytes. `sentences` are the findings, `commands` are shell
    commands that repeat the study, and `about` lists versions and seed.

    Example:
        >>> page = html_page("Steps & sizes", sentences=["One is enough."])
        >>> "<h1>Steps &amp; sizes</h1>" in page, "src=" in page
        (True, False)
    """
    results = {} if results is None else results
    check.instance("results", results, Mapping, "a dictionary of results")
    bounds = check.dictionary("bounds", bounds, results)
    tables = list(tables.values()) if isinstance(tables, Mapping) else list(tables)
    parts = {
        "What was found": "".join(f"<p>{escape_html(sentence)}</p>" for sentence in sentences),
        **{
            "Results" if len(results) == 1 else f"Results: {name}": _result_section(name, result, bounds.get(name, {}))
            for name, result in results.items()
        },
        "Tables": "".join(_scrollable(table) for table in tables),
        "Figures": "".join(_figure(name, image) for name, image in (figures or {}).items()),
        "Configuration": _preformatted(configuration),
        "How it was made": _metadata_section(results, about or {}),
        "Commands to repeat it": _preformatted("\n".join(commands)),
    }
    shown = {name: text for name, text in parts.items() if text}
    anchors = {name: f"part-{i}" for i, name in enumerate(shown)}
    links = "".join(f'<li><a href="#{anchor}">{escape_html(name)}</a></li>' for name, anchor in anchors.items())
    sections = (
        f'<section aria-labelledby="{anchor}">\n<h2 id="{anchor}">{escape_html(name)}</h2>\n{shown[name]}\n</section>'
        for name, anchor in anchors.items()
    )
    return _PAGE.format(
        title=escape_html(title), style=_file("page.css"), script=_file("chart.js") + _file("page.js"), links=links,
        sections="\n".join(sections),
    )  # fmt: skip


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="jaxonline">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<button type="button" class="theme" hidden>Dark colours</button>
</header>
<nav aria-label="Parts of this page"><ul>{links}</ul></nav>
<main>
{sections}
</main>
<dialog aria-label="The figure, enlarged"><button type="button">Close</button><img alt=""></dialog>
<script>
{script}</script>
</body>
</html>
"""


def _file(name: str) -> str:
    return resources.files("jaxonline.results").joinpath(name).read_text(encoding="utf-8")


def _scrollable(table: Table) -> str:
    """Return the HTML of a table that has its own scroll bar in a narrow window."""
    caption = f'<p class="note">{escape_html(table.caption)}</p>' if table.caption else ""
    label = escape_html(table.title or "A table")
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">{table.html()}</div>{caption}\n'


def _figure(name: str, image: bytes) -> str:
    words = escape_html(name.replace("_", " ").replace("-", " "))
    source = f"data:image/png;base64,{base64.b64encode(image).decode()}"
    return (
        f'<figure><button type="button" class="enlarge" aria-label="Enlarge the figure {words}">'
        f'<img src="{source}" alt="Figure: {words}; its numbers are in the tables of this page"></button>'
        f"<figcaption>{words}</figcaption></figure>\n"
    )


def _preformatted(words: str) -> str:
    return f'<div class="copied"><pre>{escape_html(words.rstrip())}</pre></div>' if words.strip() else ""


def _metadata_section(results: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Return the HTML section with the metadata of the study and then of each result."""
    lists = [summary.description_list(about, ())]
    for name, result in results.items():
        words = summary.description_list(result.meta, result.learners)
        if words:
            opened = " open" if len(results) == 1 else ""
            lists.append(f"<details{opened}><summary>{escape_html(name)}</summary>{words}</details>")
    return "\n".join(part for part in lists if part)


# ---------------------------------------------------------------------------------------------------------------------
# A result: curves, the table at the horizon, the ranking


def _result_section(name: str, result: Any, bounds: Mapping[str, Any]) -> str:
    for learner, bound in check.dictionary(f"bounds[{name!r}]", bounds, result.learners).items():
        if np.shape(bound) != result.rounds.shape:
            wanted = f"an entry for each of the {len(result.rounds)} recorded rounds"
            raise ValueError(f"bounds[{name!r}][{learner!r}]: must have {wanted} (got shape {np.shape(bound)})")
    quantity = summary.default_quantity(result)
    at_last = {learner: float(bound[-1]) for learner, bound in bounds.items()}
    table = summary.horizon_table(
        result, quantity, at_last, level=LEVEL, letters=len(result.learners) <= MAX_RANKED_LEARNERS
    )
    ranked = any("letters" in row for row in table.rows)
    head = "Ranking after the last round" if ranked else "After the last round"
    return "\n".join([_chart(result, bounds), f"<h3>{head}</h3>", _scrollable(table), *_vector_tables(result)])


def _vector_tables(result: Any) -> Iterator[str]:
    """Yield, for each measure that is a vector, a table of its means after the last round."""
    last = parts.select_rounds(result, slice(-1, None))
    for name, array in last.measures.items():
        if array.ndim != 4 or array.shape[-1] > MAX_VECTOR_ENTRIES or len(result.learners) > MAX_CHART_LEARNERS:
            continue
        means = last.mean(name).mean[:, -1]
        rows = [
            {"learner": learner} | {str(k): float(value) for k, value in enumerate(mean)}
            for learner, mean in zip(result.learners, means, strict=True)
        ]
        columns = [Text("learner"), *(Number(str(k), form=format_number) for k in range(array.shape[-1]))]
        yield f"<h3>{escape_html(label_of(name).capitalize())}</h3>"
        yield _scrollable(Table(f"{label_of(name)} after the last round: means of each entry", rows, columns))


def _chart(result: Any, bounds: Mapping[str, Any]) -> str:
    data = chart_data(result, bounds)
    left_out = len(result.learners) - len(data["learners"])
    words = f"Means of {summary.format_runs(len(result.runs))}"
    banded = any("low" in curve for curve in data["quantities"])
    if banded:
        first = data["quantities"][0]["label"]
        words += f"; {100 * LEVEL:g} % bands, of the {first} for the whole curve of a learner, "
        words += "of other quantities for each round"
    words += "; dashed and thin, if switched on: the theorem's bound" if data["bounds"] else ""
    words += f"; the best {MAX_CHART_LEARNERS} learners, without {left_out:,} others" if left_out else ""
    words += "."
    return (
        '<figure class="chart"><div class="drawing"><p class="note">The curves are drawn by a script in this page; '
        "their last values are in the table below.</p></div>"
        f'<script type="application/json">{_script_json(data)}</script>'
        f"<figcaption>{escape_html(words)}</figcaption></figure>"
    )


def chart_data(result: Any, bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the curves of all scalar quantities of the best learners, at only as many rounds as the eye resolves."""
    first = summary.default_quantity(result)
    table = summary.horizon_table(result, first, most=MAX_CHART_LEARNERS)
    best_learners = {row["learner"] for row in table.rows}
    learners = [name for name in result.learners if name in best_learners]
    rounds = np.unique(
        np.linspace(0, len(result.rounds) - 1, min(MAX_CHART_ROUNDS, len(result.rounds))).round().astype(int)
    )
    shown = result if len(learners) == len(result.learners) else result.select(*learners)
    shown = shown if len(rounds) == len(result.rounds) else parts.select_rounds(shown, rounds)
    quantities = [first, *(name for name in result.quantities if name != first)]
    curves = []
    for name in quantities:
        is_vector = name in shown.measures and shown.measures[name].ndim > 3
        if is_vector or name in ("comparator_loss", "comparator_reward"):
            continue
        with warnings.catch_warnings(action="ignore", category=SkewedRunsWarning):  # `Result.mean` warns
            estimate = shown.bands(name, LEVEL) if name == first else shown.mean(name, LEVEL)
        curve = {"label": label_of(name, result.meta), "mean": _round_for_json(estimate.mean)}
        if np.isfinite(estimate.low).any():
            curve |= {"low": _round_for_json(estimate.low), "high": _round_for_json(estimate.high)}
        curves.append(curve)
    promised = {name: _round_for_json(np.asarray(bounds[name], float)[rounds]) for name in learners if name in bounds}
    logarithmic = is_logarithmic(result.rounds)
    return {
        "learners": learners, "rounds": shown.rounds.tolist(), "log": logarithmic, "bounds": promised,
        "quantities": curves,
    }  # fmt: skip


def _round_for_json(numbers: np.ndarray) -> Any:
    """Return numbers as lists with six digits for JSON; NaN and infinity become null."""
    if numbers.ndim > 1:
        return [_round_for_json(number) for number in numbers]
    return [float(f"{number:.6g}") if np.isfinite(number) else None for number in numbers]


def _script_json(data: Any) -> str:
    """Return JSON text in which no string can end the HTML script element."""
    words = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return words.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
