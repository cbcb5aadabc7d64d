r"""Formulas in names: `$\epsilon$-greedy` is a formula in figures and LaTeX, and plain letters in other tables.

A pair of dollar signs encloses a formula if no blank follows the first sign, no blank precedes the second, no digit
follows the second, and Matplotlib can draw the formula. So "from $5 to $10" has no formula. Other dollar signs are
shown as they are.
"""

import functools
import re
import textwrap

from jaxonline.parameters.errors import replace_controls

MAX_FORMULA = 200  # characters of a text with formulas; longer texts are shown as they are
_PAIR = re.compile(r"(?<![\\$])\$([^\s$](?:[^$\n]*[^\s\\$])?)\$(?![\d$])")
_NO_BREAK = "\ue000"  # replaces blanks of formulas while a text is wrapped

GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "φ": "varphi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta",
    "Λ": "Lambda", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega", "ϵ": "epsilon",
}  # fmt: skip
SIGNS = {
    "±": "pm", "×": "times", "·": "cdot", "≤": "leq", "≥": "geq", "≠": "neq", "≈": "approx", "∞": "infty",
    "→": "to", "√": "surd", "∈": "in", "‖": "|", "−": "", "∑": "sum", "∂": "partial", "∇": "nabla", "ℓ": "ell",
}  # fmt: skip
_LETTERS = {name: sign for sign, name in reversed((GREEK | SIGNS).items()) if name.isalpha()}
_LETTERS |= {"phi": "ϕ", "le": "≤", "ge": "≥", "ne": "≠", "sqrt": "√", "log": "log", "exp": "exp", "ln": "ln"}
_RAISED = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")
_LOWERED = str.maketrans("0123456789-+", "₀₁₂₃₄₅₆₇₈₉₋₊")


def split_formulas(words: str) -> list[tuple[str, bool]]:
    r"""Return the parts of a text in order, each with whether it is a formula; formulas have no dollar signs.

    Example:
        >>> split_formulas(r"$\epsilon$-greedy for $5")
        [('\\epsilon', True), ('-greedy for $5', False)]
        >>> split_formulas("from $5 to $10")
        [('from $5 to $10', False)]
    """
    parts: list[tuple[str, bool]] = []
    at = 0
    for match in _PAIR.finditer(words) if len(words) <= MAX_FORMULA else ():
        if can_be_drawn(f"${match[1]}$"):
            parts += [(words[at : match.start()], False), (match[1], True)]
            at = match.end()
    return [(part, formula) for part, formula in [*parts, (words[at:], False)] if part]


def drawn_width(formula: str) -> int:
    r"""Return about the number of letters that a formula without dollar signs takes in a figure.

    Example:
        >>> drawn_width(r"\epsilon_0 = \frac{1}{10}")
        7
    """
    return len(re.sub(r"[{}_^\s]", "", re.sub(r"\\[a-zA-Z]+", "x", formula)))


@functools.lru_cache(maxsize=1024)
def can_be_drawn(words: str) -> bool:
    r"""Return whether Matplotlib can draw a text with formulas.

    Example:
        >>> can_be_drawn(r"$\epsilon_t$"), can_be_drawn(r"$\frac$"), can_be_drawn(r"$\unknown$")
        (True, False, False)
    """
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(words)
    except (ValueError, RuntimeError):  # RecursionError is a RuntimeError
        return False
    return True


def escape_figure(words: str) -> str:
    r"""Escape a text for a figure: formulas stay, and other dollar signs start no formula.

    Example:
        >>> print(escape_figure("from $5 to $10"))
        from \$5 to \$10
        >>> print(escape_figure(r"$\epsilon$-greedy, 50 % of a_b"))
        $\epsilon$-greedy, 50 % of a_b
    """
    words = replace_controls(words)
    parts = split_formulas(words) if "$" in words else []
    if any(formula for _, formula in parts):
        mixed = "".join(f"${part}$" if formula else part.replace("$", r"\$") for part, formula in parts)
        if can_be_drawn(mixed):
            return mixed
    return words.replace("$", r"\$")


def wrap_figure(words: str, columns: int) -> str:
    r"""Escape a text for a figure and wrap it to lines of at most `columns` characters; formulas stay on one line.

    Example:
        >>> print(wrap_figure(r"the bound of $a + b$", 14))
        the bound of
        $a + b$
    """
    escaped = escape_figure(words)
    if escaped.count("$") > escaped.count(r"\$"):
        escaped = _PAIR.sub(lambda match: match[0].replace(" ", _NO_BREAK), escaped)
    return textwrap.fill(escaped, columns).replace(_NO_BREAK, " ")


def formulas_to_text(words: str) -> str:
    r"""Replace formulas by plain letters; a formula with other commands than letters and signs stays as it is.

    Example:
        >>> formulas_to_text(r"$\epsilon$-greedy"), formulas_to_text(r"$x_{12}^2 \leq \eta_t$")
        ('ϵ-greedy', 'x₁₂² ≤ η_t')
        >>> formulas_to_text(r"$\frac{1}{2}$, from $5 to $10")
        '$\\frac{1}{2}$, from $5 to $10'
    """
    if "$" not in words:
        return words
    return "".join(_plain(part) if formula else part for part, formula in split_formulas(words))


def _plain(formula: str) -> str:
    """Return a formula as plain letters, or the formula with its dollar signs."""
    words = re.sub(r"\\(?:mathrm|text|mathit|mathbf|operatorname)\s*\{([^{}]*)\}", r"\1", formula)
    words = re.sub(r"\\([a-zA-Z]+)\s*", lambda match: _LETTERS.get(match[1], match[0]) + _gap(match), words)
    words = re.sub(r"\\([%_&#{}])", r"\1", re.sub(r"\\[,;: !]", " ", words))
    words = re.sub(r"\^\{?([-+\d]+)\}?", lambda match: match[1].translate(_RAISED), words)
    words = re.sub(r"_\{?([-+\d]+)\}?", lambda match: match[1].translate(_LOWERED), words)
    return f"${formula}$" if "\\" in words else words.replace("{", "").replace("}", "")


def _gap(match: re.Match[str]) -> str:
    """Return the blank after the name of a relation or a function, such as "≤" or "log"; other blanks end a name."""
    blank = match[0][-1:].isspace()
    return " " if blank and match[1] in {"leq", "geq", "neq", "approx", "le", "ge", "ne", "to", "in", "log"} else ""
