"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, no other host."""

from docutils import nodes
from latex2mathml.converter import convert


def inline(translator, node):
    """A formula in a line."""
    translator.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def block(translator, node):
    """A formula of its own."""
    translator.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    """For `html_math_renderer`."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
