"""Study files: experiments as TOML or JSON files, which `jaxonline run` reads and runs.

Reading: `reading` (file and errors), `key_lines` (lines of keys), `study_reader` (keys to a `study_file`), `builder`
with `models` (tables to objects), `grids` (lists to several learners), `data`, `user_code`. Components: `catalogue`,
`docstrings`, `listing`, `schema`. Running: `folder`, `progress_line`, `reporting`, `differences`, `commands`. Writing:
`templates`, `writing`.
"""
