"""Studies of the papers: a `Study` declares its parameters as fields; the command line makes its options from them."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import pydantic

from jaxonline import datasets
from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.study import Context, Report
from jaxonline.study.study import first_error


class Study(pydantic.BaseModel):
    """Base class of studies: a subclass declares fields with ranges and descriptions, a `title`, and `run`.

    The error message of an invalid field has one line.

    Raises:
        ValueError: a field is out of its range or unknown.

    Example:
        >>> from typing import ClassVar
        >>> from pydantic import Field
        >>> from jaxonline.results.report.tables import Table
        >>> from benchmarks.papers.study import Study
        >>> from jaxonline.study import Context, Report
        >>> class Squares(Study):
        ...     title: ClassVar[str] = "Squares of the first numbers."
        ...     n: int = Field(3, ge=1, description="How many.")
        ...
        ...     def run(self, context: Context) -> Report:
        ...         return Report({"table": Table(self.title, [{"n": n, "square": n**2} for n in range(self.n)])})
        >>> Squares(n=4).run(Context()).tables["table"].rows[-1]
        {'n': 3, 'square': 9}
        >>> Squares(n=0)
        Traceback (most recent call last):
            ...
        jaxonline.parameters.errors.ArgumentError: n: must be at least 1 (got 0)
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)
    title: ClassVar[str]

    def __init__(self, **fields: Any):
        try:
            super().__init__(**fields)
        except pydantic.ValidationError as error:
            raise first_error(error, type(self).model_fields) from None

    @abstractmethod
    def run(self, context: Context) -> Report:
        """Run the study."""


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
    local = datasets.is_local(name, data or None)
    if data and not local:
        raise ArgumentError("data", f"must hold {name} (got {', '.join(map(str, data))}); without data it is fetched")
    try:
        return datasets.load(name, data or None, **options)
    except ValueError as error:
        raise ArgumentError("sets", f"must name a data set ({error})") from error
