"""The names of `jo.*` by task, for the first page of the API."""

import types

import jaxonline

TASKS = jaxonline._NAMES_BY_TASK  # also the source of `help(jaxonline)`
OTHER = "Other names"  # of names in no list


def by_task() -> dict[str, list[str]]:
    """Return the names of `jo.*` that are no modules by task; tasks without names are left out."""
    names = [name for name in jaxonline.__all__ if not isinstance(getattr(jaxonline, name), types.ModuleType)]
    tasks = {task: [name for name in listed if name in names] for task, listed in TASKS.items()}
    listed = {name for names_of_task in tasks.values() for name in names_of_task}
    tasks[OTHER] = [name for name in names if name not in listed]
    return {task: names_of_task for task, names_of_task in tasks.items() if names_of_task}
