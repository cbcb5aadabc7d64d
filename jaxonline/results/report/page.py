"""Report of a study as one HTML page without scripts and external files; all text is escaped."""

import base64
import html
from collections.abc import Mapping, Sequence

from jaxonline.results.report.tables import Table

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: auto; padding: 1em }}
table {{ border-collapse: collapse; margin: 1em 0; display: block; overflow-x: auto }}
caption {{ text-align: left; font-weight: bold }}
th, td {{ padding: 0.3em 0.8em; border-bottom: 1px solid #8886; text-align: right }}
th:first-child, td:first-child {{ text-align: left }}
img {{ max-width: 100%; background: white }}
pre {{ overflow-x: auto; padding: 1em; border: 1px solid #8886 }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def html_page(
    title: str,
    *,
    sentences: Sequence[str] = (),
    tables: Sequence[Table] = (),
    figures: Mapping[str, bytes] | None = None,
    configuration: str = "",
) -> str:
    """Return a page with sentences, tables, figures (PNG bytes by name) and the configuration of the study as text.

    Example:
        >>> page = html_page("Steps & sizes", sentences=["One is enough."])
        >>> "<h1>Steps &amp; sizes</h1>" in page, "<script" in page
        (True, False)
    """
    body = [f"<p>{html.escape(sentence)}</p>" for sentence in sentences]
    body += [table._repr_html_() for table in tables]
    for name, image in (figures or {}).items():
        words = html.escape(name.replace("_", " ").replace("-", " "))
        source = f"data:image/png;base64,{base64.b64encode(image).decode()}"
        body.append(f'<figure><img src="{source}" alt="{words}"><figcaption>{words}</figcaption></figure>')
    if configuration.strip():
        body.append(f"<h2>Configuration</h2><pre>{html.escape(configuration.rstrip())}</pre>")
    return PAGE.format(title=html.escape(title), body="\n".join(body))
