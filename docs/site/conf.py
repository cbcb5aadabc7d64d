"""Configuration of Sphinx: MyST for Markdown and notebooks, theme furo. Pages load nothing from other hosts."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import sources

import jaxonline

project = "jaxonline"
author = "The jaxonline developers"
version = release = jaxonline.__version__
root_doc = "index"
extensions = ["myst_nb", "sphinx.ext.linkcode", "sphinx_copybutton"]
extensions += ["sources", "breaks", "captions", "images", "mathml"]  # modules of this folder
exclude_patterns = [".doctrees"]

smartquotes = False
nb_execution_mode = "off"  # shows the stored outputs
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_url_schemes = ["http", "https", "source"]  # source:jaxonline/game/round.py#line-10, resolved by `sources`
linkcode_resolve = sources.link_of_object

add_module_names = False
python_maximum_signature_line_length = 88
toc_object_entries = False  # the navigation of every page would have hundreds
pygments_style, pygments_dark_style = "default", "monokai"  # the contrast of all tokens is at least 4.5
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"jaxonline {version}"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_math_renderer = "mathml"
html_show_sourcelink = html_copy_source = False
html_show_sphinx = html_show_copyright = html_use_index = html_domain_indices = False
templates_path: list[str] = []
