"""Study files: experiments as TOML files, which `jaxonline run` reads and runs.

A table with a `type` is a call of that constructor, and its keys are the arguments. Modules: `source` (file, lines and
errors), `catalogue` (names and data sets), `builder` (from tables to objects), `study_file` (keys, study and
report), `commands`, and `templates` (shipped files).
"""
