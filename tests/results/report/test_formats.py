"""One format of numbers, and words that mean nothing but themselves wherever they are written."""

import html
import re

import numpy as np
import pytest
from made_results import NASTY

from jaxonline.results.report.formats import (
    escape_html,
    escape_markdown,
    escape_tex,
    format_measurement,
    format_number,
    format_tick,
    replace_controls,
    shorten,
    shorten_names,
    terminal_width,
    to_one_line,
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0"), (-0.0, "0"), (3.0, "3"), (-3.0, "-3"), (1234567.0, "1,234,567"), (12345.678, "12,346"),
        (20.4567, "20.46"), (-0.5, "-0.5000"), (0.000123456, "0.0001235"), (0.0000123456, "1.235 × 10⁻⁵"),
        (1e7, "1.000 × 10⁷"), (9999999.7, "1.000 × 10⁷"), (9.99996, "10.00"),
        (np.nan, "-"), (np.inf, "∞"), (-np.inf, "-∞"),
        (np.float32(2.5), "2.500"), (7, "7"),
    ],
)  # fmt: skip
def test_format_number(value, words):
    assert format_number(value) == words


@pytest.mark.parametrize(
    ("value", "half", "words"),
    [
        (20.4567, 0.2912, "20.46 ± 0.29"), (20461.3, 290.4, "20,461 ± 290"), (0.5, 0.0996, "0.50 ± 0.10"),
        (-1.234, 0.5, "-1.23 ± 0.50"), (1.0, 25.0, "1 ± 25"), (0.0, 0.0012, "0.0000 ± 0.0012"),
        (1.2345e12, 3.1e9, "(1.2345 ± 0.0031) × 10¹²"), (1.2e-6, 3.0e-8, "(1.200 ± 0.030) × 10⁻⁶"),
        (2.5, 0.0, "2.500 ± 0"), (2.5, np.nan, "2.500"), (np.nan, np.nan, "-"), (3.0, 1e-13, "3 ± 1.0 × 10⁻¹³"),
        (2.0, np.inf, "2 ± ∞"), (20461.37, 0.02, "20,461.370 ± 0.020"), (100000.9, 0.05, "100,000.900 ± 0.050"),
    ],
)  # fmt: skip
def test_format_measurement(value, half, words):
    assert format_measurement(value, half) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (0.1 + 0.2, "0.3"), (5000, "5,000"), (1e7, "10⁷"), (-2e7, "−2 × 10⁷"), (1e-5, "10⁻⁵"), (-0.5, "−0.5")],
)
def test_format_tick(value, words):
    assert format_tick(value) == words


@pytest.mark.parametrize("words", NASTY)
def test_html_text_is_escaped(words):
    escaped = escape_html(words)
    assert not re.search(r"[<>\"']", escaped)
    assert html.unescape(escaped) == words.replace("\x1b", "�")


@pytest.mark.parametrize("words", NASTY)
def test_latex_text_is_escaped(words):
    """Every special character is a command or stands behind a backslash, and groups and formulas are closed."""
    escaped = escape_tex(words)
    assert "\n" not in escaped
    commands = re.sub(r"\\[a-zA-Z]+ ?(\{\})?|\\[&%$#_{}]", "", escaped)
    formulas = re.sub(r"\$[^$]*\$", "", commands)
    assert not re.search(r"[&%#_{}~^\\<>|$]", formulas)
    assert commands.count("$") % 2 == 0


def test_letters_of_formulas_in_latex():
    assert escape_tex("η = 10⁻³, σ₁² ≤ ∞") == r"$\eta$ = 10$^{-3}$, $\sigma$$_1$$^{2}$ $\leq$ $\infty$"
    assert escape_tex("Müller–Lovász’s “best” …") == "Müller--Lovász's ``best'' \\dots{}"


def test_markdown_text_is_escaped():
    assert escape_markdown("one | two\n*b* `c` <d>") == r"one \| two \*b\* \`c\` &lt;d>"
    assert escape_markdown("\x1b[31mred\u202e") == r"�\[31mred�"
    assert escape_markdown("&lt;b&gt; &#60; A & B; AT&T") == "&amp;lt;b&amp;gt; &amp;#60; A & B; AT&T"


def test_terminal_text_has_no_control_characters():
    assert to_one_line("\x1b[31mred\nnew\tline") == "�[31mred new line"
    assert replace_controls("\x1b[31mred\r\n  a\xa0\tb\u202e") == "�[31mred�\n  a\xa0\tb�"
    directions = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u2066\u2067\u2068\u2069"
    assert set(replace_controls("\x7f\x9b" + directions)) == {"�"}
    assert terminal_width("学習") == 4
    assert shorten("a name", 6) == "a name"
    for most in range(3, 20):
        short = shorten("学習 gradient descent[η = 0.125]", most)
        assert terminal_width(short) <= most
        assert "…" in short


def test_shortened_names_stay_distinct():
    names = ["x" * 40 + f"{i}" + "y" * 40 for i in range(12)] + ["short", "short", "other\nline", "short (1)"]
    found = shorten_names(names, 20)
    assert len(set(found)) == len(names)
    assert max(map(terminal_width, found)) <= 20
    assert [each[-5:] for each in found[9:12]] == [" (10)", " (11)", " (12)"]
    assert found[12:] == ["short (1)", "short (2)", "other line", "short (1) (1)"]
