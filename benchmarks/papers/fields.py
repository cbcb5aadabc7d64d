"""Types of the fields of studies, choices by name, and data sets of studies."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pydantic

from jaxonline import datasets
from jaxonline.parameters.errors import ArgumentError, did_you_mean


def _split_commas(value: Any) -> Any:
    texts = (value,) if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return [item.strip() for text in texts for item in text.split(",") if item.strip()]
    return value


Items: Any = pydantic.BeforeValidator(_split_commas)
Words = Annotated[tuple[str, ...], Items]
Numbers = Annotated[tuple[float, ...], Items]
NotNegative = Annotated[tuple[Annotated[float, pydantic.Field(ge=0)], ...], Items]
Positive = Annotated[tuple[Annotated[float, pydantic.Field(gt=0)], ...], Items]
AboveOne = Annotated[tuple[Annotated[float, pydantic.Field(gt=1)], ...], Items]
Names = Annotated[
    tuple[str, ...], pydantic.BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]


def select_by_name(field: str, names: Sequence[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Select those entries of `known` that a field names, in the order of `known`; all if the field is empty.

    A name that is unknown and contains commas is read as a list of names. Unknown names raise a ValueError.
    """
    names = [item for name in names for item in ([name] if name in known else _split_commas(name))]
    unknown = [name for name in names if name not in known]
    if unknown:
        name = unknown[0]
        raise ArgumentError(
            field, f"must be among {', '.join(map(repr, known))} (got {name!r}){did_you_mean(name, known)}"
        )
    return {name: value for name, value in known.items() if not names or name in names}


def load_set(name: str, data: Sequence[str], **options: Any) -> datasets.DataSet:
    """Load a data set for a study with the fields `sets` and `data`; the set is fetched only if `data` is empty."""
    local = datasets.is_local(name, data)
    if data and not local:
        raise ArgumentError("data", f"must hold {name} (got {', '.join(map(str, data))}); without data it is fetched")
    try:
        return datasets.load(name, data, **options)
    except ValueError as error:
        raise ArgumentError("sets", f"must name a data set ({error})") from error
