"""Line breaks in the code of tables: between the words of a name, so that a narrow column never cuts a word."""

import re
from typing import Any

TABLE = re.compile(r'<table class="docutils.*?</table>', re.DOTALL)
CODE = re.compile(r'(?<=<span class="pre">)[^<]+(?=</span>)')
WORD_END = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[._(=/])(?<!\bjo\.)(?=[A-Za-z])")


def allow_breaks(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Add `<wbr>` after dots (not of `jo.`), underscores, brackets and before capitals; copied text stays the same."""

    def in_table(table: re.Match) -> str:
        return CODE.sub(lambda code: WORD_END.sub("<wbr>", code[0]), table[0])

    context["body"] = TABLE.sub(in_table, context.get("body") or "")


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("html-page-context", allow_breaks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
