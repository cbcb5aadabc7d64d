"""Storage of a study: a local folder, or anything that fsspec reaches by a URL.

A file has a key relative to the storage, such as "a/b/c". Local folders are not written with fsspec or zarr's
`LocalStore`: neither of them waits until a file is on the disk, and zarr's files were not atomic before zarr-python's
pull request 3412.
"""

import contextlib
import errno
import os
import re
import shutil
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.warning_classes import UnlockedStoreWarning
from jaxonline.store.atomic_files import name_in_errors, set_aside, sync

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

SYNC_THREADS = 8
RETRY_SECONDS = 120.0  # an operation at a URL that was reached before is repeated for this time
MAX_RETRY_WAIT = 8.0  # seconds between two attempts; the waits grow exponentially up to this time
# repeating the operation does not help
PERMANENT_ERRORS = (
    FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError, ImportError,
    NotImplementedError, AttributeError, LookupError, TypeError, ValueError,
)  # fmt: skip
PERMANENT_CODES = (errno.EINVAL, errno.ENOSYS, errno.ENOSPC, errno.EROFS, errno.EFBIG)


def is_url(where: Any) -> bool:
    """Return whether a location is a URL, such as `s3://bucket/study`."""
    return isinstance(where, str) and "://" in where


def storage_at(where: str | os.PathLike[str], reached: bool = False) -> "Folder | Bucket":
    """Return the `Folder` or `Bucket` of a path or URL; ValueError for an unknown kind of URL or a missing package.

    `reached` says whether another process has used the URL with success.
    """
    path = local_path(where)
    return Bucket(str(where), reached) if path is None else Folder(path)


def local_path(where: str | os.PathLike[str]) -> Path | None:
    """Return the path of a folder or `file://` URL, None for other URLs; ValueError for a `Path` made of a URL."""
    if is_url(where):
        url = str(where)
        return Path(url2pathname(url.removeprefix("file://"))) if url.startswith("file://") else None
    if not isinstance(where, str | os.PathLike):  # `parameters.check` would import jax in each command
        raise ArgumentTypeError("path", f"must be a path (got an object of class {type(where).__name__})")
    path = Path(where)
    if match := re.match("([A-Za-z][A-Za-z0-9.+-]+):/", path.as_posix()):
        raise ValueError(
            f"path: a URL must be given as a string ('{match[1]}://...'), not as a path (got {str(path)!r})"
        )
    return path


class Folder:
    """A folder on a disk. A file is complete or absent, even if the process is killed; errors name the folder."""

    def __init__(self, path: Path, scratch: Path | None = None):
        self.name, self._path, self._given_path = str(path), path.absolute(), path
        self._blocks = self._path / "blocks"
        self._scratch = scratch or self._blocks / "unfinished"

    @property
    def address(self) -> str:
        """The absolute path of the folder, which is valid in other processes too."""
        return str(self._path)

    def read(self, key: str) -> bytes | None:
        """Return the content of a file; b"" if the key names a folder, None if the file is absent."""
        try:
            return (self._path / key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except IsADirectoryError:
            return b""

    def write(self, files: Mapping[str, bytes], durable: bool = True) -> None:
        """Write files to temporary names, wait for the disk (if `durable`), and rename them.

        If `durable` is False, the files survive a killed process, but not a power failure. After an OSError, each file
        is either completely written or unchanged.
        """
        beside = {self._scratch / uuid.uuid4().hex: self._path / key for key in files}
        with name_in_errors(self._given_path):
            try:
                self._scratch.mkdir(parents=True, exist_ok=True)
                for path, content in zip(beside, files.values(), strict=True):
                    with open(path, "xb") as file:
                        file.write(content)
                _sync(beside if durable else ())
                folders: set[Path] = set()
                for path, place in beside.items():
                    folders |= self._create(place.parent)
                    os.replace(path, place)
                _sync(folders if durable else ())
            finally:
                for path in beside:
                    path.unlink(missing_ok=True)

    def remove(self, key: str) -> None:
        """Remove a file, or a folder with all its files."""
        path = self._path / key
        with name_in_errors(self._given_path):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def names(self, key: str = "") -> list[str]:
        """List the names in a folder; the list is empty if the folder is absent."""
        try:
            return sorted(os.listdir(self._path / key))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def set_aside(self, key: str) -> str | None:
        """Rename a damaged file; return its new name, or None if the file is absent."""
        path = self._path / key
        return set_aside(path).name if os.path.lexists(path) else None

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Context manager: lock the folder; BlockingIOError if it is locked already, OSError if it is not writable."""
        with name_in_errors(self._given_path):
            self._blocks.mkdir(parents=True, exist_ok=True)
            file = (self._blocks / "lock").open("ab")
        with file:
            self._flock(file)
            with name_in_errors(self._given_path):
                if self._scratch.exists():
                    shutil.rmtree(self._scratch)  # left by a killed process
                self._scratch.mkdir()  # fails now, rather than after an hour of work, if nothing can be written
            try:
                yield
                shutil.rmtree(self._scratch, ignore_errors=True)  # a killed worker of a cluster leaves files
            finally:
                with contextlib.suppress(OSError):
                    self._scratch.rmdir()

    def _flock(self, file: Any) -> None:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                message = "another process uses this checkpoint; wait for it, or give another folder"
                raise BlockingIOError(errno.EAGAIN, message, self.name) from None
            warnings.warn(
                f"checkpoint {self.name} cannot be locked ({error.strerror}); let only one process use it",
                UnlockedStoreWarning, stacklevel=2,
            )  # fmt: skip

    def _create(self, folder: Path) -> set[Path]:
        """Create a folder and its parents; return the folders that have new entries."""
        new = {folder}
        while not folder.exists():
            folder = folder.parent
            new.add(folder)
        max(new, key=lambda path: len(path.parts)).mkdir(parents=True, exist_ok=True)
        return new


class Bucket:
    """Files at a URL, read and written by fsspec. A file is complete or absent. Nothing is locked.

    If an operation fails after the URL has been reached once, it is repeated for `RETRY_SECONDS`, with growing waits;
    then it raises a ConnectionError. Before the URL has been reached (a wrong address, no credentials), and for errors
    that stay (a full or read-only store, no permission), an operation raises an OSError at once, except that a store
    which is "temporarily unavailable" is always asked again.
    """

    def __init__(self, url: str, reached: bool = False):
        self.name, self._reached = url, reached
        try:
            import fsspec
            import tenacity  # noqa: F401  (used by `_do`)

            self._files, root = fsspec.url_to_fs(url)
        except ImportError as error:
            raise ValueError(
                f"{url}: needs a package that is not installed ({error}); pip install 'jaxonline[remote]'"
            ) from None
        except ValueError as error:
            raise ValueError(f"{url}: cannot be reached ({error})") from None
        self._root, self.address = root.rstrip("/"), url

    def read(self, key: str) -> bytes | None:
        """Return the content of a file; None if the file is absent."""
        try:
            return self._do("cat_file", self._at(key))
        except FileNotFoundError:
            return None

    def write(self, files: Mapping[str, bytes], durable: bool = True) -> None:
        """Write several files at once; raises OSError if one cannot be written."""
        self._do("pipe", {self._at(key): content for key, content in files.items()})

    def remove(self, key: str) -> None:
        """Remove a file, or all files below a key."""
        self._files.invalidate_cache()
        with contextlib.suppress(FileNotFoundError):
            self._do("rm", self._at(key), recursive=True)

    def copy(self, keys: Mapping[str, str]) -> None:
        """Copy files from one key to another, several at once; raises OSError if one cannot be copied."""
        self._do("copy", [self._at(key) for key in keys], [self._at(key) for key in keys.values()])

    def names(self, key: str = "") -> list[str]:
        """List the names below a key; the list is empty if the key is absent."""
        self._files.invalidate_cache()
        try:
            paths = self._do("ls", self._at(key), detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    def set_aside(self, key: str) -> str | None:
        """Rename a damaged file; return its new name, or None if the file is absent."""
        content = self.read(key)
        if content is None:
            return None
        folder, _, name = key.rpartition("/")
        taken, number = self.names(folder), 1
        while (free := f"{name}{'' if number == 1 else f'.{number}'}.damaged") in taken:
            number += 1
        self.write({f"{folder}/{free}".lstrip("/"): content})
        self.remove(key)
        return free

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Do nothing: a URL needs no lock, since two processes at the same time write equal, complete files."""
        yield

    def _at(self, key: str) -> str:
        return f"{self._root}/{key}".rstrip("/")

    def _do(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of fsspec, and again after a temporary failure; errors become OSErrors that name the URL."""
        from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

        retrying = Retrying(
            retry=retry_if_exception(self._is_temporary),
            wait=wait_random_exponential(multiplier=0.2, max=MAX_RETRY_WAIT),
            stop=stop_after_delay(RETRY_SECONDS),
            reraise=True,
        )
        try:
            answer = retrying(getattr(self._files, method), *arguments, **options)
        except PERMANENT_ERRORS as error:
            self._reached |= isinstance(error, FileNotFoundError)
            raise self._named(error) from error
        except Exception as error:
            if not self._is_temporary(error):
                raise self._named(error) from error
            raise ConnectionError(
                f"{self.name}: the store failed for {RETRY_SECONDS:g} s ({_described(error)}); its finished blocks "
                "are not lost, and the same call resumes the study when the store works again"
            ) from error
        self._reached = True
        return answer

    def _is_temporary(self, error: BaseException) -> bool:
        """Return whether it may help to repeat the operation that failed."""
        if isinstance(error, BlockingIOError):  # "temporarily unavailable"
            return True
        if not self._reached or not isinstance(error, Exception) or isinstance(error, PERMANENT_ERRORS):
            return False
        return not (isinstance(error, OSError) and error.errno in PERMANENT_CODES)

    def _named(self, error: Exception) -> OSError:
        """Return the error as an OSError that names the URL; errors of the protocol's package become plain OSErrors."""
        if isinstance(error, OSError) and type(error).__module__ == "builtins":
            return type(error)(error.errno or errno.EIO, error.strerror or str(error), self.name)
        return OSError(errno.EIO, _described(error), self.name)


def _described(error: Exception) -> str:
    """Return the type and the message of an error, without a number of the operating system."""
    return f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}"


def _sync(paths: Iterable[Path]) -> None:
    paths = list(paths)
    if len(paths) == 1:
        sync(paths[0])
    elif paths:
        with ThreadPoolExecutor(min(SYNC_THREADS, len(paths))) as pool:
            list(pool.map(sync, paths))
