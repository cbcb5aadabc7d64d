"""Width and height attributes of pictures, so that a page does not move while they load."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sphinx.util.images import get_image_size


def sized(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Add width and height to every picture of a page."""
    originals = {name: Path(app.srcdir, uri) for uri, name in app.builder.images.items()}

    def add(match: re.Match) -> str:
        original = originals.get(unquote(match[2]))
        size = get_image_size(original) if original is not None else None
        return match[0] if size is None else f'{match[1]} width="{size[0]}" height="{size[1]}" />'

    context["body"] = re.sub(r'(<img [^>]*src="[^"]*_images/([^"/]+)"[^>]*?) ?/>', add, context.get("body") or "")


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("html-page-context", sized)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
