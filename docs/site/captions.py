"""Captions of tables: a paragraph in italics directly below a table becomes its caption."""

from typing import Any

from docutils import nodes


def set_captions(app: Any, doctree: Any) -> None:
    """Move each paragraph that is only emphasis, and follows a table, into the table."""
    for table in list(doctree.findall(nodes.table)):
        below = table.next_node(descend=False, siblings=True)
        if isinstance(below, nodes.paragraph) and [type(child) for child in below] == [nodes.emphasis]:
            table.insert(0, nodes.title("", "", *below[0].children))
            doctree.set_id(table)  # Sphinx numbers tables with captions, and warns if they have no id
            below.parent.remove(below)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-read", set_captions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
