"""What the Makefile does before it does anything: where caches are."""

import os
import subprocess

import pytest
from fresh_python import ROOT

SHOW = """
show:
	@echo "$$UV_CACHE_DIR"
	@echo "$$MPLCONFIGDIR"
	@echo "$$JAX_COMPILATION_CACHE_DIR"
"""
HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "UV_CACHE_DIR", "MPLCONFIGDIR")


@pytest.fixture
def tree(tmp_path):
    """A work tree with nothing in it, in a path with a space and a letter beyond ASCII."""
    folder = tmp_path / "a treé"
    folder.mkdir()
    (folder / "Makefile").write_text((ROOT / "Makefile").read_text() + SHOW)
    return folder


def caches(tree, **variables):
    """Of uv and matplotlib, "" for the one that they take themselves; and of jax. Nothing is made."""
    inherited = (*HOMES, "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    environment = {key: value for key, value in os.environ.items() if key not in inherited}
    environment |= {key: str(value) for key, value in variables.items()}
    command = ["make", "--silent", "show"]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=True)
    assert [path.name for path in tree.iterdir()] == ["Makefile"]
    return done.stdout.splitlines()


def test_make_uses_shared_caches_if_writable(tree, tmp_path):
    """Also those that are not there yet."""
    home, jax = tmp_path, str(tree / ".jax_cache")
    assert caches(tree, HOME=home) == ["", "", jax]
    assert caches(tree, HOME=home, XDG_CACHE_HOME=home / "a", XDG_CONFIG_HOME=home / "b") == ["", "", jax]
    given = {"UV_CACHE_DIR": home / "uv", "MPLCONFIGDIR": home / "mpl"}
    assert caches(tree, HOME=home, **given) == [*map(str, given.values()), jax]


@pytest.mark.parametrize(
    ("variables", "inside"),
    [
        (["HOME"], ["uv", "matplotlib"]), (["XDG_CACHE_HOME"], ["uv"]), (["XDG_CONFIG_HOME"], ["matplotlib"]),
        (["UV_CACHE_DIR", "MPLCONFIGDIR"], ["uv", "matplotlib"]),
    ],
)  # fmt: skip
def test_make_uses_caches_in_the_work_tree_if_others_are_locked(tree, tmp_path, variables, inside):
    """A file is a place where not even the superuser can make a folder."""
    (tmp_path / "locked").write_text("")
    found = caches(tree, **({"HOME": tmp_path} | dict.fromkeys(variables, tmp_path / "locked" / "new")))[:2]
    assert found == [str(tree / ".cache" / name) if name in inside else "" for name in ("uv", "matplotlib")]
