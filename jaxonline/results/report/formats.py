"""Number formats, and escaping of text, for tables, figures and HTML pages."""

import html
import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from jaxonline.parameters.errors import replace_controls, to_one_line
from jaxonline.results.report.formulas import GREEK, SIGNS, drawn_width, split_formulas

MAX_POWER, MIN_POWER = 7, -4  # other numbers have a power of ten
ROUNDING_ERROR = 1e-12  # relative; narrower intervals are rounding errors
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_number(value: float, digits: int = 4) -> str:
    """Format a number with `digits` significant digits; an integer below 10^7 has all its digits.

    Example:
        >>> [format_number(number) for number in (20.4567, 2.0, 12345.6, 1.5e12, 0.00002, float("nan"))]
        ['20.46', '2', '12,346', '1.500 × 10¹²', '2.000 × 10⁻⁵', '-']
    """
    value = float(value)
    if not math.isfinite(value):
        return _infinite(value)
    if value == 0 or (value.is_integer() and abs(value) < 10**MAX_POWER):
        return f"{value:,.0f}".replace("-0", "0") if value == 0 else f"{value:,.0f}"
    power = _power(value, digits)
    if power >= MAX_POWER or power < MIN_POWER:
        return f"{value / 10.0**power:.{digits - 1}f}{_times_ten(power)}"
    return f"{value:,.{max(0, digits - 1 - power)}f}"


def format_measurement(value: float, half: float) -> str:
    """Format a number and the half-width of its interval, rounded to the half-width's second digit; NaN: no interval.

    Example:
        >>> [format_measurement(*pair) for pair in [(20.4567, 0.2912), (20461.3, 290), (1, float("nan")), (2.5, 0)]]
        ['20.46 ± 0.29', '20,461 ± 290', '1', '2.500 ± 0']
        >>> format_measurement(1.2345e12, 3.1e9)
        '(1.2345 ± 0.0031) × 10¹²'
    """
    value, half = float(value), float(half)
    if not math.isfinite(value) or math.isnan(half):
        return format_number(value)
    if not math.isfinite(half) or half <= ROUNDING_ERROR * abs(value):
        return f"{format_number(value)} ± {format_number(half, 2)}"
    power = _power(max(abs(value), half), 2)
    if MIN_POWER <= power < MAX_POWER:
        decimals = max(0, 1 - _power(half, 2))
        return f"{value:,.{decimals}f} ± {half:,.{decimals}f}"
    scale = 10.0**power
    decimals = max(0, 1 - _power(half / scale, 2))
    return f"({value / scale:.{decimals}f} ± {half / scale:.{decimals}f}){_times_ten(power)}"


def format_fixed(form: str, value: float) -> str:
    """Format a number with the fixed decimals of `form`, or with 4 digits if `form` would show 0 for a nonzero number.

    Example:
        >>> [format_fixed("{:.2f}", number) for number in (20.4567, 0.0, 0.00035)]
        ['20.46', '0.00', '0.0003500']
    """
    words = form.format(value)
    return format_number(value) if value and not _NOT_ZERO.search(words) else words


_NOT_ZERO = re.compile("[1-9]|inf|nan")


def format_tick(value: float) -> str:
    """Format a number as the label of an axis tick.

    Example:
        >>> [format_tick(number) for number in (0.0, 0.25, 20000.0, -3.0, 1e7, 2e-6)]
        ['0', '0.25', '20,000', '−3', '10⁷', '2 × 10⁻⁶']
    """
    power = _power(value, 6) if value else 0
    if value and not MIN_POWER <= power < MAX_POWER:
        words = f"{value / 10.0**power:.6g}{_times_ten(power)}".removeprefix("1 × ").replace("-1 × ", "-")
    else:
        words = f"{value:,.10g}"
    return words.replace("-", "−")


def _power(value: float, digits: int) -> int:
    """Return the power of ten of a number after rounding to `digits` digits: -1 for 0.0999, which becomes 0.10."""
    return int(f"{abs(value):.{digits - 1}e}".partition("e")[2]) if value else 0


def _times_ten(power: int) -> str:
    return f" × 10{str(power).translate(_RAISED)}"


def _infinite(value: float) -> str:
    return "-" if math.isnan(value) else "∞" if value > 0 else "-∞"


# ---------------------------------------------------------------------------------------------------------------------
# Text


_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")


def escape_csv(words: str) -> str:
    """Escape a text for a cell of CSV: a text that a spreadsheet would run as a formula gets an apostrophe in front.

    Example:
        >>> escape_csv("=1+2"), escape_csv("a-b")
        ("'=1+2", 'a-b')
    """
    words = replace_controls(words)
    return f"'{words}" if _FORMULA.match(words) else words


def terminal_width(words: str) -> int:
    """Return the number of columns that a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in words
    )


def shorten(words: str, most: int, drawn: bool = False) -> str:
    r"""Shorten a text to `most` columns by leaving out its middle, since names often differ at the end.

    For a figure (`drawn`), a formula stays whole or is left out, and its width is about that of its letters.

    Example:
        >>> shorten("gradient descent[0.125]", 12)
        'gradie….125]'
        >>> shorten(r"$\epsilon$-greedy of the theorem", 12, drawn=True)
        '$\\epsilon$-gree…eorem'
    """
    formulas = drawn and "$" in words
    parts = split_formulas(words) if formulas else [(words, False)]
    signs = [sign for part, formula in parts for sign in ([f"${part}$"] if formula else part)]
    widths = [drawn_width(sign[1:-1]) if len(sign) > 1 else terminal_width(sign) for sign in signs]
    if (sum(widths) if formulas else terminal_width(words)) <= most:
        return words
    budget, first, last = most - 1, 0, len(signs)  # the signs from `first` to `last` are left out
    while first < last:
        taken = False
        if widths[first] <= budget:
            budget, first, taken = budget - widths[first], first + 1, True
        if first < last and widths[last - 1] <= budget:
            budget, last, taken = budget - widths[last - 1], last - 1, True
        if not taken:
            break
    left, right = "".join(signs[:first]), "".join(signs[last:])
    return f"{left}…{right}"


def shorten_names(names: Sequence[str], most: int, drawn: bool = False) -> list[str]:
    """Shorten names to one line of at most `most` columns each; equal short names get numbers at the end.

    `drawn`: for a figure, see `shorten`.

    Example:
        >>> shorten_names(["gradient descent[0.125]", "gradient ascent[0.125]", "a"], 12)
        ['grad…25] (1)', 'grad…25] (2)', 'a']
    """
    short = [shorten(to_one_line(name), most, drawn) for name in names]
    times, numbers = Counter(short), {words: itertools.count(1) for words in short}
    names_so_far: dict[str, None] = {}
    for name, first in zip(names, short, strict=True):
        words = first
        while times[words] > 1 or words in names_so_far:
            end = f" ({next(numbers[first])})"
            words = shorten(to_one_line(name), most - len(end), drawn) + end
        names_so_far[words] = None
    return list(names_so_far)


_MARKED = re.compile(r"([\\`*_|\[\]])")
_ENTITY = re.compile(r"&(?=#?\w+;)")


def escape_markdown(words: str) -> str:
    r"""Escape a text for a cell of Markdown.

    Example:
        >>> escape_markdown("a|b *c*")
        'a\\|b \\*c\\*'
    """
    words = _ENTITY.sub("&amp;", _MARKED.sub(r"\\\1", to_one_line(words)))
    return words.replace("<", "&lt;")


def escape_html(text: object) -> str:
    """Escape a text for HTML and its attributes.

    Example:
        >>> escape_html('<a href="b">')
        '&lt;a href=&quot;b&quot;&gt;'
    """
    return html.escape(replace_controls(str(text)))


_NOTEBOOK = """<style>
.jaxonline-result { font-size: 0.9em; max-width: 60em; }
.jaxonline-result table { border-collapse: collapse; color: inherit; background: none; margin: 0.3em 0; }
.jaxonline-result caption { text-align: left; padding: 0.3em 0; color: inherit; caption-side: top; }
.jaxonline-result th, .jaxonline-result td {
  padding: 0.25em 0.8em; text-align: left; color: inherit; background: none;
  border-bottom: 1px solid rgba(128, 128, 128, 0.35);
}
.jaxonline-result thead th { border-bottom: 2px solid rgba(128, 128, 128, 0.7); vertical-align: bottom; }
.jaxonline-result tbody th { font-weight: normal; }
.jaxonline-result .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.jaxonline-result dt { font-weight: 600; }
.jaxonline-result dd { margin: 0 0 0.4em 1em; overflow-wrap: anywhere; }
</style>"""


def wrap_for_notebook(page: str) -> str:
    """Add style rules to HTML that suit light and dark notebooks."""
    return f'<div class="jaxonline-result">{_NOTEBOOK}{page}</div>'


_TEX = str.maketrans(
    {sign: rf"$\{name}$" for sign, name in (GREEK | SIGNS).items() if name}
    | {sign: rf"\{sign}" for sign in "&%$#_{}"}
    | dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", (rf"$^{{{sign}}}$" for sign in "0123456789-"), strict=True))
    | dict(zip("₀₁₂₃₄₅₆₇₈₉", (rf"$_{sign}$" for sign in "0123456789"), strict=True))
    | {
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "|": r"\textbar{}", "−": "$-$", "…": r"\dots{}", "–": "--",
        "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "\xa0": "~", "�": "?",
    }
)  # fmt: skip


def escape_tex(words: str) -> str:
    r"""Escape a text for LaTeX: Greek letters and signs become mathematics; other scripts need XeLaTeX or LuaLaTeX.

    Formulas in dollar signs stay (`formulas.split_formulas`).

    Example:
        >>> print(escape_tex("step_size η = 5 % of <x>"))
        step\_size $\eta$ = 5 \% of \textless{}x\textgreater{}
        >>> print(escape_tex(r"$\epsilon$-greedy for $5"))
        $\epsilon$-greedy for \$5
    """
    line = to_one_line(words)
    parts = split_formulas(line) if "$" in line else [(line, False)]
    return "".join(
        f"${_escape_tex_formula(part)}$" if formula else part.translate(_TEX).replace("}$$^{", "")
        for part, formula in parts
    )


_TEX_FORMULA = str.maketrans({sign: rf"\{name} " for sign, name in (GREEK | SIGNS).items() if name} | {"−": "-"})


def _escape_tex_formula(formula: str) -> str:
    """Escape signs of a formula that LaTeX would read as a comment or a column, and name its Greek letters."""
    return re.sub(r"(?<!\\)([%&#])", r"\\\1", formula.translate(_TEX_FORMULA))
