"""Values are checked against annotations; classes of packages that may be missing."""

import pickle
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from annotated_types import Gt, Interval
from jaxtyping import ArrayLike, Float

import jaxonline as jo
from jaxonline.kernels import Gaussian
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.optional_packages import optional_class
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Convert, Count, Number, Numbers, OrInfinity, Positive, Vector


@jo.struct
class Everything:
    """A field of each kind; `test_generated_calls` tests invalid values of all public classes."""

    rate: Positive = 1.0
    part: Annotated[Number, Interval(gt=0, lt=1)] = 0.5
    radius: Annotated[Positive, OrInfinity()] = 1.0
    several: Annotated[Numbers, Gt(0)] = 1.0
    vector: Vector = (1.0, 2.0)
    matrix: Float[ArrayLike, "n d"] = ((1.0,), (2.0,))
    kernel: Gaussian = Gaussian(1.0)
    optional: Positive | None = None
    size: Count = jo.static(default=1)


BAD = {
    "rate": [0.0, None, np.ones(2), True], "part": [1.0], "radius": [-np.inf], "several": [[1.0, -1.0]],
    "vector": [[], [[1.0]], ["a"]], "matrix": [[1.0], [[1.0], [1.0, 2.0]]], "kernel": [Gaussian], "optional": [0.0],
    "size": [0, 1.5, True],
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_an_invalid_value_raises_an_error_with_the_argument(name):
    for value in BAD[name]:
        with pytest.raises((ValueError, TypeError), match=rf"^{name}: must ") as raised:
            Everything(**{name: value})
        assert raised.value.argument == name


def test_good_values_of_every_kind_are_accepted():
    one = Everything(
        rate=np.float32(2.0), radius=np.inf, several=np.ones(3), vector=[1.0, 2.0], matrix=jnp.ones((2, 2)),
        optional=jnp.float32(3.0), size=np.int64(4),
    )  # fmt: skip
    assert type(one.size) is int
    assert isinstance(one.vector, np.ndarray)


def test_abstract_values_pass():
    rates = jax.vmap(lambda rate: Everything(rate=rate).rate * 2)(jnp.array([1.0, -1.0]))
    assert rates.tolist() == [2.0, -2.0]
    jax.eval_shape(lambda rate: Everything(rate=rate), jax.ShapeDtypeStruct((), jnp.float32))


def test_positional_and_keyword_arguments_are_checked():
    @validate_arguments
    def scale(n: Count, rate: Positive = 1.0, *, kind: Literal["a", "b"] = "a") -> float:
        return n * rate

    assert scale(2, 3.0) == scale(n=2, rate=3.0) == 6.0
    for arguments, options, name in (((0,), {}, "n"), ((1, -1.0), {}, "rate"), ((1,), {"kind": "c"}, "kind")):
        with pytest.raises(ArgumentError) as raised:
            scale(*arguments, **options)
        assert raised.value.argument == name
    with pytest.raises(TypeError, match="n: must be given to scale"):
        scale()
    with pytest.raises(TypeError, match="rats: is no argument of scale"):
        scale(2, rats=1.0)


def test_a_field_may_be_converted():
    def doubled(value, name):
        return 2 * value

    @jo.struct
    class Twice:
        value: Annotated[Any, Convert(doubled)]

    assert Twice(2).value == 4


def test_errors_of_data_frames_name_the_column():
    """Columns of bool are numbers, as `pandas.get_dummies` returns them; a missing value is NaN."""
    stream, y = jo.environments.DataStream, pd.Series([1.0, 2.0, 3.0], name="price")
    frame = pd.DataFrame({"age": [1, 2, 3], "city": ["Rome", "Oslo", "Rome"]})
    encoded = stream(pd.get_dummies(frame), y)
    assert encoded.X.tolist() == [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0], [3.0, 0.0, 1.0]]
    nullable = pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "b": [1.0, 2.0, 3.0]})
    late = frame.assign(city=pd.to_datetime(["2020-01-01"] * 3))
    for X, outcomes, message in (
        (frame, y, "^X: must hold real numbers .got 'Rome', 'Oslo' in column 'city'.; .*get_dummies"),
        (frame.astype({"city": "category"}), y, "^X: .* in column 'city'"), (late, y, "^X: .* in column 'city'"),
        (nullable, y, "^X: must be finite .got nan at .1, 0. in column 'a'"),
        (frame.assign(city=[1.0, 2.0, 1e39]), y, r"^X: .*got 1e\+39 in column 'city'"),
        (frame[["age"]], frame["city"], "^y: .*'Rome', 'Oslo' in column 'city'"),
    ):  # fmt: skip
        with pytest.raises((ArgumentError, ArgumentTypeError), match=message):
            stream(X, outcomes)


@pytest.mark.parametrize("kind", [ArgumentError, ArgumentTypeError])
def test_errors_of_arguments_can_be_pickled(kind):
    error = pickle.loads(pickle.dumps(kind("rate", ".*got -1")))
    assert (str(error), error.argument) == ("rate: .*got -1", "rate")


def test_subclasses_of_a_missing_class_cannot_be_constructed():
    missing = optional_class("no_such_package.models", "Model", extra="models")

    class Own(missing):
        def __init__(self, size):
            self.size = size

    for make in (missing, lambda: Own(3), lambda: Own(size=3)):
        with pytest.raises(
            ModuleNotFoundError, match=r"^no_such_package is not installed; .*'jaxonline\[models\]'$"
        ) as e:
            make()
        assert e.value.name == "no_such_package"


def test_a_package_that_lacks_another_one_raises_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        optional_class("broken_package", "Model", extra="models")
