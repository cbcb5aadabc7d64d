"""Formulas in names: formulas in figures and LaTeX, plain letters elsewhere; other dollar signs begin none."""

import numpy as np
import pytest
from made_results import NASTY, made_result
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from jaxonline.results.report.formats import escape_tex, shorten
from jaxonline.results.report.formulas import MAX_FORMULA, escape_figure, formulas_to_text, split_formulas, wrap_figure

GREEDY = r"$\epsilon$-greedy"
PLAIN = (
    "$5 to $10",
    r"$\foo$",
    r"a $\frac$ b",
    "$$",
    "$ x $",
    r"\$x\$",
    "${$",
    "$$x$$",
    "$5-$10",
    "no dollar, 50 % a_b",
)


def drawn_words(words):
    """What Matplotlib makes of an escaped text: its words, and whether it reads them as a formula."""
    text = Text(text=escape_figure(words))
    return text._preprocess_math(text.get_text())


@pytest.mark.parametrize("words", PLAIN)
def test_other_dollars_begin_no_formula(words):
    assert drawn_words(words) == (words, False)
    assert split_formulas(words) == [(words, False)]
    assert formulas_to_text(words) == words
    assert "$" not in escape_tex(words).replace(r"\$", "")


@pytest.mark.parametrize(
    ("words", "plain", "tex"),
    [
        (GREEDY, "ϵ-greedy", GREEDY),
        (r"$\eta_t = 0.1$, 50% of a_b", "η_t = 0.1, 50% of a_b", r"$\eta_t = 0.1$, 50\% of a\_b"),
        (r"$x_{12}^2 \leq \sqrt{2}$ from $5", "x₁₂² ≤ √2 from $5", r"$x_{12}^2 \leq \sqrt{2}$ from \$5"),
        (r"$\mathrm{UCB}$ & $η$", "UCB & η", r"$\mathrm{UCB}$ \& $\eta $"),
        (r"$\frac{1}{2}$", r"$\frac{1}{2}$", r"$\frac{1}{2}$"),
    ],
)
def test_formulas_in_figures_text_and_latex(words, plain, tex):
    assert drawn_words(words)[1] is True
    assert formulas_to_text(words) == plain
    assert escape_tex(words) == tex


@pytest.mark.parametrize(
    "words", [*PLAIN, *NASTY[:-1], GREEDY, "$" * 7, "$x" * 400, f"${'{' * 80}{'}' * 80}$", "\n$\\$"]
)
@pytest.mark.parametrize("latex", [False, True])
@pytest.mark.filterwarnings("ignore:.*missing from font")
def test_every_text_can_be_drawn(words, latex):
    figure = made_result(1, n_runs=1, recorded=2, names=(words,)).plot(title=words)
    with rc_context({"text.usetex": latex}):
        FigureCanvasAgg(figure).draw()
    assert len(words) <= MAX_FORMULA or split_formulas(words) == [(words, False)]


def test_a_formula_stays_on_one_line():
    assert wrap_figure("the bound of $a + b$ of a long name", 14).split("\n") == [
        "the bound of",
        "$a + b$ of a",
        "long name",
    ]


def test_a_formula_is_drawn_as_one_and_its_tables_have_letters():
    result = made_result(2, names=(GREEDY, "50% of a_b"))
    figure = result.plot(style="paper")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["50% of a_b", GREEDY]
    widths = []
    for words in (GREEDY, GREEDY.replace("$", r"\$")):
        canvas = FigureCanvasAgg(Figure())
        text = canvas.figure.text(0, 0, words)
        widths.append(text.get_window_extent(canvas.get_renderer()).width)
    assert widths[0] < 0.75 * widths[1], "a Greek letter is narrower than its name"
    for shown in (str(result), result.to_markdown(), result._repr_html_(), str(result.ranking())):
        assert "ϵ-greedy" in shown
    assert GREEDY in result.to_latex()
    assert result.to_pandas()["learner"][0] == GREEDY
    np.testing.assert_array_equal(result.select(GREEDY).regret, result.regret[:1])


def test_settings_of_latex_do_not_reach_the_figures(tmp_path):
    with rc_context({"text.usetex": True}):
        figure = made_result(2, names=("50 % of a_b", "#1")).plot()
        figure.savefig(tmp_path / "figure.png")
        assert not any(text.get_usetex() for text in figure.findobj(Text))


@pytest.mark.parametrize(
    ("name", "columns", "short"),
    [
        (r"$\epsilon$-greedy, $\epsilon_0=\frac{1}{10}$", 36, r"$\epsilon$-greedy, $\epsilon_0=\frac{1}{10}$"),
        (r"$\epsilon$-greedy, $\epsilon_0=\frac{1}{10}$", 12, r"$\epsilon$-g… $\epsilon_0=\frac{1}{10}$"),
        (r"$\epsilon$-greedy, of all rounds", 10, r"$\epsilon$-gre…unds"),
        ("from $5 to $10", 8, "from…$10"),
    ],
)
def test_a_formula_of_a_figure_is_never_cut(name, columns, short):
    assert shorten(name, columns, drawn=True) == short
