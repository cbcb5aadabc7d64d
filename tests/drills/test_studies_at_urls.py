"""Studies with a store at a URL or on a full disk."""

import contextlib
import errno
import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import stores
import xarray
from fresh_python import ROOT
from made_up import made_up
from small_study import assert_same_bits, study
from stopping import SWEEP, Stop, stop_after

import jaxonline as jo
from jaxonline.parameters.warning_classes import DamagedStoreWarning, UnfinishedStudyWarning
from jaxonline.store.filesystem import Bucket, Folder, storage_at
from jaxonline.study import Context


@pytest.fixture(scope="module")
def reference():
    return study(SWEEP, n_runs=7)


def test_study_at_a_memory_url(reference, tmp_path):
    """Through fsspec: interrupted, continued, read by plain xarray, saved, and with the bytes of that in a folder."""
    url = f"memory://{tmp_path.name}/kept"
    with pytest.raises(Stop):
        study(SWEEP, n_runs=7, checkpoint=url, progress=stop_after(39))
    assert_same_bits(study(SWEEP, n_runs=7, checkpoint=jo.Checkpoint(url, every=0.0)), reference)
    assert_same_bits(study(SWEEP, n_runs=7, checkpoint=url), reference)
    assert_same_bits(jo.load_result(url), reference)
    with warnings.catch_warnings(action="error"), xarray.open_zarr(url) as data:
        np.testing.assert_array_equal(data.cumulative_loss, reference.cumulative_loss)
    with pytest.raises(ValueError, match=f"checkpoint {url} .*another study: key"):
        study(SWEEP, n_runs=7, checkpoint=url, key=4)
    study(SWEEP, n_runs=7, checkpoint=tmp_path)
    files = storage_at(url)
    for key, content in stores.tree(tmp_path).items():
        assert key == "blocks/lock" or files.read(key) == content
    saved = f"memory://{tmp_path.name}/saved"
    for result in (reference.select("one"), reference):
        result.save(saved)
    assert_same_bits(jo.load_result(saved), reference)
    with pytest.raises(FileExistsError, match="exists"):
        reference.save(url)
    storage_at(saved).write({"note.txt": b"mine"})
    with pytest.raises(FileExistsError, match="exists"):
        reference.save(saved)
    assert storage_at(saved).read("note.txt") == b"mine"
    with pytest.raises(FileNotFoundError, match="memory://nowhere"):
        jo.load_result("memory://nowhere")


def saved_at_a_url(tmp_path, monkeypatch, fail):
    """A store that is replaced by another one, where a part of it fails."""
    url = f"memory://{tmp_path.name}/saved"
    made_up().save(url)
    with monkeypatch.context() as patch:
        fail(patch)
        with pytest.raises(OSError, match="full"):
            made_up().select("b, c").save(url)
    return url


def full(*arguments):
    raise OSError(errno.ENOSPC, "full")


def test_failed_save_at_a_url_keeps_the_old_result(tmp_path, monkeypatch):
    write, left = Bucket.write, [3]

    def until_it_is_full(self, files, durable=True):
        left[0] -= 1
        if left[0] < 0:
            full()
        write(self, files, durable)

    url = saved_at_a_url(tmp_path, monkeypatch, lambda patch: patch.setattr(Bucket, "write", until_it_is_full))
    assert jo.load_result(url).learners == ("α", "b, c")
    storage_at(url).write({".unfinished/a/c.0": b"of a process that was killed"})
    made_up().select("b, c").save(url)
    assert jo.load_result(url).learners == ("b, c",)
    assert ".unfinished" not in storage_at(url).names()


def test_save_at_a_url_writes_before_it_deletes(tmp_path, monkeypatch):
    url = saved_at_a_url(tmp_path, monkeypatch, lambda patch: patch.setattr(Bucket, "copy", full))
    with pytest.raises(FileNotFoundError, match=r"saved: .*interrupted") as error:
        jo.load_result(url)
    assert jo.load_result(str(error.value).rpartition(" ")[2]).learners == ("b, c",)


def test_numbers_of_a_part_are_stored_at_a_url(tmp_path):
    with Context(checkpoint=f"memory://{tmp_path.name}").parts(1) as part:
        context = part("one part")
    assert context.checkpoint.folder == f"memory://{tmp_path.name}/one-part"
    for value in (3.0, 4.0):
        found = context.compute_once(1, lambda value=value: {"a/b": np.full(2, value), "none": np.empty((0, 2))})
        assert (found["a/b"].tolist(), found["none"].shape) == ([3.0, 3.0], (0, 2))


def test_damaged_numbers_are_computed_again(tmp_path):
    for value in (3.0, 4.0):
        with warnings.catch_warnings(action="ignore" if value == 4.0 else "error"):
            found = Context(checkpoint=tmp_path).compute_once(1, lambda value=value: {"a": np.full(2, value)})
        assert found["a"].tolist() == [value, value]
        (tmp_path / "a" / "c.0").write_bytes(b"damaged")
    with pytest.warns(DamagedStoreWarning, match="numbers are damaged"):
        Context(checkpoint=tmp_path).compute_once(1, lambda: {"a": np.zeros(2)})


S3 = """
import sys, warnings
sys.path.insert(0, "tests/helpers")
import numpy as np, pytest, s3fs, xarray
import jaxonline as jo
from jaxonline.parameters.warning_classes import UnfinishedStudyWarning
from small_study import assert_same_bits, study
from stopping import SWEEP, Stop, stop_after

warnings.simplefilter("ignore", ResourceWarning)
s3fs.S3FileSystem().mkdir("bucket")
reference, url = study(SWEEP, n_runs=7), "s3://bucket/deep/kept"
with pytest.raises(FileNotFoundError, match=url):
    jo.load_result(url)
with pytest.raises(Stop):
    study(SWEEP, n_runs=7, checkpoint=jo.Checkpoint(url, every=0.5), progress=stop_after(39))
with pytest.warns(UnfinishedStudyWarning, match="is unfinished"):
    jo.load_result(url)
assert_same_bits(study(SWEEP, n_runs=7, checkpoint=jo.Checkpoint(url, every=0.5)), reference)
assert_same_bits(jo.load_result(url), reference)
with xarray.open_zarr(url) as data:
    np.testing.assert_array_equal(data.cumulative_loss, reference.cumulative_loss)
with pytest.raises(ValueError, match="another study"):
    study(SWEEP, n_runs=7, checkpoint=url, key=4)
with pytest.raises(OSError, match="s3://nobodys/kept"):
    study(SWEEP, n_runs=7, checkpoint="s3://nobodys/kept")
for result in (reference.select("one"), reference):
    result.save("s3://bucket/saved")
assert_same_bits(jo.load_result("s3://bucket/saved"), reference)
print("done")
"""


@contextlib.contextmanager
def s3_server(has_failed=lambda n_requests: False):
    """Settings of a process that uses moto's server, which answers requests with 503 when `has_failed(number)`."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    numbers, works = itertools.count(1), DomainDispatcherApplication(create_backend_app)

    def app(environ, start_response):
        if not has_failed(next(numbers)):
            return works(environ, start_response)
        start_response("503 Service Unavailable", [("Content-Type", "text/xml")])
        return [b"<Error><Code>ServiceUnavailable</Code><Message>Please try again.</Message></Error>"]

    quiet = type("Quiet", (WSGIRequestHandler,), {"log": lambda *_: None})
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    own = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}", "AWS_DEFAULT_REGION": "us-east-1"}
    own |= {"AWS_MAX_ATTEMPTS": "1"} | dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "test")
    try:
        yield os.environ | own
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run_with(environment, code):
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.long
def test_study_at_an_s3_url():
    """Against moto's server."""
    with s3_server() as environment:
        done = run_with(environment, S3)
    assert done.stdout == "done\n", done.stderr


FAILING_S3 = """
import sys, warnings
sys.path.insert(0, "tests/helpers")
import s3fs
from jaxonline.store import filesystem
from small_study import assert_same_bits, study

warnings.simplefilter("ignore", ResourceWarning)
s3fs.S3FileSystem().makedirs("bucket", exist_ok=True)
url, filesystem.RETRY_SECONDS = "s3://bucket/kept", RETRY
assert_same_bits(study(n_runs=7, checkpoint=url), study(n_runs=7))
print("done")
"""


@pytest.mark.long
@pytest.mark.parametrize("retry_seconds", [120.0, 5.0])
def test_study_survives_a_store_that_fails_for_a_while(retry_seconds):
    """S3 fails for 20 seconds from its 40th request on. With 5 seconds of retries the call ends, and resumes later."""
    failed = []

    def has_failed(number):
        if number >= 40 and (not failed or time.monotonic() < failed[0] + 20):
            failed.append(time.monotonic())
            return True
        return False

    code = FAILING_S3.replace('= "s3://bucket/kept", RETRY', f"= 's3://bucket/kept', {retry_seconds}")
    with s3_server(has_failed) as environment:
        done = run_with(environment, code)
        print(f"retries for {retry_seconds:g} s: {len(failed)} failed requests in {failed[-1] - failed[0]:.1f} s")
        if retry_seconds == 5.0:
            last = done.stderr.splitlines()[-1]
            print(last)
            assert last.startswith("ConnectionError: s3://bucket/kept: the store failed for 5 s (")
            assert "Errno" not in last
            time.sleep(max(0.0, failed[0] + 20 - time.monotonic()))
            done = run_with(environment, code)
    assert done.stdout == "done\n", done.stderr


# ---------------------------------------------------------------------------------------------------------------------
# A disk that is full


def test_study_resumes_after_a_full_disk(reference, tmp_path, monkeypatch):
    """Here: a writer that finds no room after 19 batches of files. What is finished stays readable."""
    write, left = Folder.write, [19]

    def full(self, files, durable=True):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.name)
        write(self, files, durable)

    monkeypatch.setattr(Folder, "write", full)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left on device") as error:
            study(SWEEP, n_runs=7, checkpoint=tmp_path)
        assert error.value.filename == str(tmp_path)
        with pytest.warns(UnfinishedStudyWarning, match="is unfinished"):
            found = jo.load_result(tmp_path)
        done = np.isfinite(found.cumulative_loss)
        assert 0 < done.sum() < done.size
        np.testing.assert_array_equal(found.cumulative_loss[done], reference.cumulative_loss[:, found.runs][done])
    monkeypatch.undo()
    assert_same_bits(study(SWEEP, n_runs=7, checkpoint=tmp_path), reference)


FULL = """
import sys
import numpy as np, jaxonline as jo
environment = jo.environments.LinearModel(np.array([0.6, -0.8, 0.3]), noise_std=0.1)
game = jo.Game(environment, jo.NoisyCopies(jo.noise.gaussian(0.2)))
learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1, radius=1.0)
jo.simulate(game, learner, n_runs=512, n_rounds=50, block_size=16, comparator=jo.L2Ball(1.0), checkpoint=sys.argv[1])
"""


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 700 kB, where there may be one."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(tmp_path)], capture_output=True)
    if done.returncode:
        pytest.skip("only the superuser makes disks; the test with a writer without room is for all")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.long
def test_study_on_a_small_disk(small_disk):
    """Killed by it, readable, and continued when it is larger; a command says so in two lines."""
    folder = small_disk / "kept"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}

    def run():
        command = [sys.executable, "-c", FULL, str(folder)]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    done = run()
    assert done.stderr.splitlines()[-1] == f"OSError: [Errno 28] No space left on device: '{folder}'"
    with pytest.warns(UnfinishedStudyWarning, match="is unfinished"):
        found = jo.load_result(folder)
    assert 16 <= len(found.runs) < 512
    command = [sys.executable, "-m", "jaxonline", "quickstart", "--runs", "2000", "--passes", "1", "--checkpoint"]
    command += [str(small_disk / "part"), "--out", str(small_disk.parent / "out")]
    told = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (told.returncode, "Traceback" in told.stderr) == (2, False)
    lines = [line for line in told.stderr.splitlines() if line.startswith(("Error", "Try"))]
    assert len(lines) == 2
    assert f"No space left on device: '{small_disk / 'part'}" in lines[0]
    shutil.rmtree(small_disk / "part")
    subprocess.run(["mount", "-o", "remount,size=9m", str(small_disk)], check=True)
    assert run().returncode == 0
    with warnings.catch_warnings(action="error"):
        whole = jo.load_result(folder)
    np.testing.assert_array_equal(whole.cumulative_loss[:, found.runs], found.cumulative_loss)
    elsewhere = Path(small_disk / "elsewhere")
    subprocess.run([sys.executable, "-c", FULL, str(elsewhere)], env=environment, check=True)
    assert stores.tree(folder) == stores.tree(elsewhere)
