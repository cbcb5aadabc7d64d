"""Reading and writing of results in zarr stores: saved results, and stores of studies."""

import glob
import json
import os
import shutil
import warnings
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.parameters.errors import ArgumentError, UnfinishedStudyWarning
from jaxonline.results.quantities import REWARD_OF_LOSS, has_rewards, rounds_played
from jaxonline.results.statistics.intervals import Student, interval_from_json
from jaxonline.store.atomic_files import (
    NEW,
    OLD,
    TEMPORARY_SUFFIX,
    lock_temporary,
    name_in_errors,
    remove_abandoned,
    sync,
    temporary_path,
)
from jaxonline.store.documents import (
    DIGEST,
    MARKER,
    NO_DIGEST,
    RESULT,
    STUDY,
    DamagedStoreError,
    check_format,
    check_sealed,
    digest_of,
    is_earlier,
    is_sealed,
    parse_attributes,
    seal,
    store_format,
)
from jaxonline.store.filesystem import Folder, folder_at, local_path
from jaxonline.store.layout import (
    AXES,
    COMPARATOR_LOSS,
    FIRST_ROUND_ARRAYS,
    RECORDS_FOLDER,
    Blocks,
    JobArrays,
    StoreLayout,
)
from jaxonline.store.lazy_arrays import (
    StoredArray,
    finished_rounds,
    read_small_arrays,
    study_arrays,
)
from jaxonline.store.zarr_format import (
    DOCUMENT,
    STRING,
    ArraySpec,
    decode_array,
    encode_chunks,
    encode_document,
    encode_name,
    group_document,
)

if TYPE_CHECKING:
    import xarray

FILE_SUFFIXES = (  # of files; the store of a result is a folder
    ".csv", ".feather", ".gz", ".h5", ".hdf5", ".html", ".json", ".md", ".nc", ".npy", ".npz", ".parquet", ".pdf",
    ".pickle", ".pkl", ".png", ".svg", ".tex", ".tsv", ".txt", ".xlsx", ".zip",
)  # fmt: skip
BATCH_BYTES = 1 << 24


def to_dataset(result: Any) -> "xarray.Dataset":
    """Return the numbers of a result as an xarray Dataset with labels; rewards in place of losses for such arms."""
    import xarray

    names = REWARD_OF_LOSS if has_rewards(result) else {}

    def shown(name: str, array: Any) -> tuple[str, Any]:
        return (names[name], rounds_played(result) - array) if name in names else (name, array)

    variables: dict = {name: (AXES[:2], getattr(result, name)) for name in FIRST_ROUND_ARRAYS}
    for stored, recorded in result.measures.items():
        name, array = shown(stored, recorded)
        entries = tuple(f"{name}, axis {axis}" for axis in range(array.ndim - 3))
        variables[name] = ((*AXES, *entries), array)
    if result.comparator_loss is not None:
        name, best = shown(COMPARATOR_LOSS, np.ascontiguousarray(result.comparator_loss))
        variables[name] = (AXES, best)
        variables["regret"] = (AXES, result.regret)
    learners = np.array(result.learners, dtype=object)  # zarr stores objects as strings of any length
    coordinates = {"learner": learners, "run": result.runs, "round": result.rounds}
    about = {"meta": result.meta, "measures": [names.get(name, name) for name in result.measures]}
    return xarray.Dataset(variables, coordinates, {MARKER: json.dumps(about)})


# ---------------------------------------------------------------------------------------------------------------------
# Saving


def save(result: Any, path: str | os.PathLike[str]) -> Path:
    """Write the store to a temporary folder and move it to its path; so either the old or the new store is complete."""
    folder, suffix = local_path(path), PurePath(path).suffix
    if suffix.lower() in FILE_SUFFIXES:
        raise ArgumentError(
            "path",
            f"must name a folder for a zarr store, such as 'result.zarr' (got '{path}'); tables are written by "
            "to_pandas(), to_markdown() and to_latex(), figures by plot(path)",
        )
    return _save_in_folder(result, folder)


def _save_in_folder(result: Any, path: Path) -> Path:
    if path.name in ("", ".."):
        raise ArgumentError("path", f"must end in the name of a store (got '{path}')")
    place = path.resolve() if path.is_symlink() else path
    if os.path.lexists(path) and not (place.exists() and _is_ours(Folder(place))):
        raise FileExistsError(
            f"{path}: exists and is not a result of jaxonline, or is damaged; give another path or remove it"
        )
    with name_in_errors(path):
        place.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(place.parent, glob.escape(place.name))
        beside = temporary_path(place)
        beside.mkdir()
    try:
        with lock_temporary(beside):
            folder = Folder(beside / NEW, beside / "writing")
            for files in _files(result):
                with name_in_errors(path):
                    folder.write(files)
            with name_in_errors(path):
                sync(beside)
                _move(beside, place)
    finally:
        if place.exists() or not (beside / OLD).exists():  # else it holds the only copy
            shutil.rmtree(beside, ignore_errors=True)
    return path


def _files(result: Any) -> Iterator[dict[str, bytes]]:
    """Yield the files of a result's store in batches; the last one is the root document, with the digests of all."""
    runs, best = len(result.runs), result.comparator_loss
    width = max(1, min(runs, int(result.meta.get("block_size", runs) or runs)))
    outputs = *result.measures, *FIRST_ROUND_ARRAYS
    rows = [JobArrays("", "", outputs, (i, i + 1), width) for i in range(len(result.learners))]
    if best is not None:
        n_shared = 0 if not _is_shared(best, 0) else 1 if not _is_shared(best, 1) else 2
        best = best[(0,) * n_shared] if n_shared else best
        rows.append(JobArrays("", "", (COMPARATOR_LOSS,), (0, 1), width, AXES[n_shared:]))
    axes = {name: array.shape[3:] for name, array in result.measures.items()}
    specs = StoreLayout.new(result.learners, runs, result.rounds.tolist(), axes, rows).specs()
    arrays = {
        "learner": np.array(result.learners, object), "run": result.runs, "round": result.rounds, **result.measures,
        **{name: getattr(result, name) for name in FIRST_ROUND_ARRAYS},
        **({} if best is None else {COMPARATOR_LOSS: best}),
    }  # fmt: skip
    kinds = {name: spec if name == "learner" else spec._replace(dtype=arrays[name].dtype.name)
             for name, spec in specs.items()}  # fmt: skip
    digests: dict[str, str] = {}
    for name, array in arrays.items():
        chunks = ((f"{encode_name(name)}/{key}", content) for key, content in encode_chunks(kinds[name], array))
        for _, batch in groupby(chunks, _Batches()):
            files = dict(batch)
            digests |= {key: digest_of(content) for key, content in files.items()}
            yield files
    documents = {f"{encode_name(name)}/{DOCUMENT}": encode_document(spec.document()) for name, spec in kinds.items()}
    yield documents
    digests |= {key: digest_of(content) for key, content in documents.items()}
    marker = {
        "format": RESULT, DIGEST: NO_DIGEST, "learners": result.learners, "measures": list(result.measures),
        "interval": result.interval.to_json(), "sha256": digests,
    }  # fmt: skip
    root = group_document({**result.meta, MARKER: marker}, {encode_name(name): spec for name, spec in kinds.items()})
    yield {DOCUMENT: seal(root)}


def _is_shared(best: Any, axis: int) -> bool:
    return best.is_same_along(axis) if isinstance(best, StoredArray) else best.strides[axis] == 0


class _Batches:
    """Assigns files to batches of limited size."""

    def __init__(self):
        self._bytes = 0

    def __call__(self, file: tuple[str, bytes]) -> int:
        self._bytes += len(file[1])
        return self._bytes // BATCH_BYTES


def _move(beside: Path, place: Path) -> None:
    """Move the old store away, and move the new store to the path of the old one."""
    had_one = place.exists()
    if had_one:
        os.rename(place, beside / OLD)
    try:
        os.rename(beside / NEW, place)
    except OSError:
        if had_one:
            os.rename(beside / OLD, place)
        raise
    sync(place.parent)


def _is_ours(place: Folder) -> bool:
    """Return whether a folder holds a saved result and no other files."""
    saved = store_format(parse_attributes(place.read(DOCUMENT) or b"") or {}) == RESULT
    names = (name for name in place.names() if name != DOCUMENT)
    return saved and all(place.read(f"{name}/{DOCUMENT}") is not None for name in names)


# ---------------------------------------------------------------------------------------------------------------------
# Loading


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of the `Result` that is stored at a path; see `load_result`."""
    place = folder_at(path)
    content = place.read(DOCUMENT)
    if content is None:
        records = (name for job in place.names(RECORDS_FOLDER) for name in place.names(f"{RECORDS_FOLDER}/{job}"))
        if any(name.startswith("c.") for name in records):
            raise DamagedStoreError(f"{path}/{DOCUMENT}: is missing; continue the study, which writes it again")
        raise FileNotFoundError(f"{path}: there is no result here{_hint(path)}")
    attributes = parse_attributes(content)
    if attributes is None:
        raise DamagedStoreError(f"{path}/{DOCUMENT}: is damaged, or is not a document of zarr")
    meta, kind = {name: value for name, value in attributes.items() if name != MARKER}, store_format(attributes)
    if kind in (RESULT, STUDY) or is_sealed(content) is False:
        check_sealed(f"{path}/{DOCUMENT}", content, kind in (RESULT, STUDY) and is_earlier(attributes))
    try:
        if kind == RESULT:
            return _load_saved(place, content, meta)
        if kind == STUDY:
            return _load_study(place, attributes[MARKER], meta)
    except (KeyError, TypeError) as error:
        raise DamagedStoreError(f"{path}: is damaged; {error!r}") from error
    check_format(str(path), attributes)
    raise ValueError(f"{path}: is not a result that Result.save or simulate(checkpoint=...) wrote")


def _check_names(place: Folder, learners: tuple[str, ...]) -> None:
    """Check that the learners' names in the root document equal those in the array."""
    spec = ArraySpec(("learner",), (len(learners),), (len(learners),), STRING)
    if place.read(f"learner/{spec.key((0,))}") != spec.encode(np.array(learners, object)):
        raise DamagedStoreError(f"{place.name}: is damaged; learner/{spec.key((0,))} differs from {DOCUMENT}")


def _hint(where: str | os.PathLike[str]) -> str:
    path = local_path(where)
    backups = sorted(path.parent.glob(f".{glob.escape(path.name)}.*{TEMPORARY_SUFFIX}/{OLD}"))
    return f"; saving was interrupted; the previous result is in {backups[0]}" if backups else ""


def _load_saved(place: Folder, first: bytes, meta: dict[str, Any]) -> dict[str, Any]:
    root = json.loads(first)
    marker, documents = root["attributes"][MARKER], root["consolidated_metadata"]["metadata"]
    digests = None if is_earlier(root["attributes"]) else marker["sha256"]

    def read(path: str) -> bytes | None:
        content = place.read(path)
        intact = digests is None or content is None or digests.get(path) == digest_of(content)
        return content if intact else None

    def array(name: str) -> np.ndarray:
        try:
            return decode_array(
                ArraySpec.of(documents[encode_name(name)]), lambda key: read(f"{encode_name(name)}/{key}")
            )
        except ValueError as error:
            raise DamagedStoreError(f"{place.name}: is damaged; {name!r} does not match its digest") from error

    interval = marker.get("interval")
    if interval is None and "precision" in meta:
        raise ValueError(
            f"{place.name}: was saved by an earlier version of jaxonline, without the interval of a study with a "
            "precision; load it with the version that saved it, or simulate it again"
        )
    learners, runs, rounds = tuple(marker["learners"]), array("run"), array("round")
    _check_names(place, learners)
    whole, stored = np.full((len(learners), len(runs)), len(rounds), np.int32), {}
    for name in (
        *marker["measures"],
        *FIRST_ROUND_ARRAYS,
        *([COMPARATOR_LOSS] if COMPARATOR_LOSS in documents else []),
    ):
        spec = ArraySpec.of(documents[encode_name(name)])
        stored[name] = StoredArray(
            place, name, spec, whole, np.arange(len(runs)), np.arange(len(rounds)), first, digests
        )
    numbers = read_small_arrays(stored, array)
    if isinstance(best := numbers.get(COMPARATOR_LOSS), np.ndarray):
        best = np.broadcast_to(best, (*whole.shape, len(rounds)))
    return dict(
        learners=learners, runs=runs, rounds=rounds, measures={name: numbers[name] for name in marker["measures"]},
        comparator_loss=best, meta=meta, interval=interval_from_json(interval or Student().to_json()),
        **{name: numbers[name] for name in FIRST_ROUND_ARRAYS},
    )  # fmt: skip


def _load_study(place: Folder, marker: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    interval = interval_from_json(meta.pop("interval", Student().to_json()))
    layout = StoreLayout.of(marker["layout"])
    _check_names(place, layout.learners)
    blocks = Blocks(place, marker["study"], layout, repairs=False)
    finished = finished_rounds(blocks)
    finished_losses = finished["cumulative_loss"]
    runs = np.flatnonzero(finished_losses.any(axis=0))
    if not len(runs):
        raise ValueError(f"{place.name}: is the store of a study without a finished run")
    unfinished = (finished_losses < len(layout.rounds)).sum(axis=1)
    missing = {name: int(n) for name, n in zip(layout.learners, unfinished, strict=True) if n}
    if COMPARATOR_LOSS in finished:
        runs_without = int((finished[COMPARATOR_LOSS] < len(layout.rounds)).any(axis=0).sum())
        best = REWARD_OF_LOSS[COMPARATOR_LOSS] if meta.get("rewards") else COMPARATOR_LOSS
        missing |= {best: runs_without} if runs_without else {}
    if missing:
        counts = ", ".join(f"{n:,} of {name!r}" for name, n in missing.items())
        warnings.warn(
            f"{place.name} is unfinished: of {layout.runs:,} runs, {counts} are missing",
            UnfinishedStudyWarning, stacklevel=4,
        )  # fmt: skip
        meta["missing"] = missing
    decisions = meta.get("decisions", {})
    if "pairs" in decisions:  # other runs were played at the same time as the last runs that were looked at
        runs = runs[runs < decisions["runs"]]
    numbers = study_arrays(blocks, finished, runs)
    best = numbers.get(COMPARATOR_LOSS) if finished.get(COMPARATOR_LOSS, finished_losses)[:, runs].any() else None
    return dict(
        learners=layout.learners, runs=runs, rounds=np.array(layout.rounds), comparator_loss=best, meta=meta,
        interval=interval,
        measures={name: numbers[name] for name in sorted(layout.measures)},
        **{name: numbers[name] for name in FIRST_ROUND_ARRAYS},
    )  # fmt: skip
