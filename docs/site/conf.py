"""Configuration of Sphinx: MyST for Markdown and notebooks, autodoc, furo. Pages load nothing from other hosts."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import jaxonline

project = "jaxonline"
author = "The jaxonline developers"
version = release = jaxonline.__version__
root_doc = "index"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx_copybutton"]
extensions += ["extension"]  # of this folder
exclude_patterns = [".doctrees"]

smartquotes = False
default_role = "py:obj"  # names in backticks in docstrings
nitpick_ignore_regex = [("py:.*", ".*")]
nb_execution_mode = "off"  # shows the stored outputs
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "special-members": "__call__"}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autosummary_generate = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # signatures have the types
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
