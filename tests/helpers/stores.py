"""Looking into the stores of studies."""

from pathlib import Path


def finished(folder: Path) -> list[Path]:
    return sorted(folder.glob("blocks/*/*.npz"))


def in_progress(folder: Path) -> list[Path]:
    """The files of states."""
    return sorted(folder.glob("states/*/*.npz"))


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
