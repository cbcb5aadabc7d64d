"""Formulas as MathML, which browsers draw without scripts, fonts or other hosts."""

from docutils import nodes
from latex2mathml.converter import convert


def inline(translator, node):
    """Convert an inline formula."""
    translator.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def block(translator, node):
    """Convert a displayed formula."""
    translator.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer for `html_math_renderer`."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
