"""Study files: experiments as TOML or JSON files, which `jaxonline run` reads and runs.

Modules for reading: `reading` (file and errors), `key_lines` (lines of keys), `study_reader` (from keys to a
`study_file`), `builder` with `models` (from tables to objects), `grids` (from lists to several learners), `data`,
`user_code`. Modules for components: `catalogue`, `docstrings`, `listing`, `schema`. Modules for running: `folder`,
`progress_line`, `reporting`, `differences`, `commands`. Shipped files: `templates`.
"""
