"""Studies as files, TOML or JSON: what a researcher writes, and `jaxonline run` plays.

`catalogue` finds everything that a file can name, `parameters` what that takes; `reading` and `positions` say where
something stands; `keys` are those of a file, `assembling` goes through them: `building` makes objects, `grids` several
learners of one table, `data` an environment of a file of numbers, `own_code` imports learners of the user's.
`study_file` is the study, `reporting` its report. `folder` is where it is played, `watching` how far it is,
`differences` compares two folders. `templates` writes new files, `writing` those of games that are there; `schema` is
what editors check them by, `listing` what is printed of the catalogue; `commands` are those of the command line.
"""
