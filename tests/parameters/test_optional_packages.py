"""Classes of packages that may be missing: the error names the extra that installs the package."""

import pytest
from fresh_python import run_python

from jaxonline.parameters.optional_packages import optional_class


def test_a_class_of_an_installed_package_is_that_class():
    from collections import OrderedDict

    assert optional_class("collections", "OrderedDict", extra="none") is OrderedDict


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


@pytest.mark.long
def test_the_names_exist_without_their_packages():
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "gymnasium":
            raise ModuleNotFoundError(name + " is absent", name=name.partition(".")[0])
sys.meta_path.insert(0, Absent())
import jaxonline as jo
game = jo.Game(jo.environments.BernoulliArms([0.2, 0.5]), jo.Bandit(), loss=jo.losses.ArmLoss())
for make in (lambda: jo.BanditEnv(game, 10), lambda: jo.play_env(None, None, 10)):
    try:
        make()
    except ModuleNotFoundError as error:
        print(error)
"""
    message = "gymnasium is not installed; pip install 'jaxonline[gym]'"
    assert run_python(code).splitlines() == [message, message]
