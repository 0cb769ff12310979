"""Links inside the checkpoint folder, which no copy of it in S3 has, and pointers."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from agent_runs import run
from checkpoint_files import cut, torch_file
from cluster import running
from ec2_host import FAKE_AWS
from sagemaker_host import make_host
from tidewheel_agent.checkpoints.frameworks import newest_checkpoint
from tidewheel_agent.checkpoints.kept.repair import repair, step_back
from tidewheel_agent.checkpoints.links import LINKS_FILE, find_links, make_links_again
from tidewheel_agent.checkpoints.log_progress import LogProgress
from tidewheel_agent.checkpoints.progress import ProgressReporter
from tidewheel_agent.configuration.settings import CheckpointRules
from tidewheel_host.aws_cli import AwsCli
from tidewheel_host.uploads import CheckpointSync


def saved(folder: Path) -> ProgressReporter:
    """Two checkpoints of an attempt, a link to each, and one that leads out of the folder."""
    folder.mkdir()
    reporter = ProgressReporter(folder, leader=True, log_progress=LogProgress())
    reporter.script_started(time.time(), dict)
    for step in (10, 20):
        torch_file(folder / f"epoch_0_step_{step}" / "state.pt", step=step)
        torch_file(folder / "files" / f"step={step}.ckpt", step=step)
    (folder / "LATEST").symlink_to("epoch_0_step_20")
    (folder / "best").symlink_to(folder / "LATEST")
    (folder / "files" / "last.ckpt").symlink_to("step=20.ckpt")
    (folder / "data").symlink_to("/usr")
    reporter.check()
    return reporter


def from_bucket(folder: Path, *, follows: bool) -> Path:
    """As S3 gives it back: without links, or with copies of what they led to."""
    copy = folder.with_name("again")
    links = {str(folder / name) for name in find_links(folder)}

    def left_out(parent: str, names: list[str]) -> set[str]:
        return {n for n in names if not follows and os.path.join(parent, n) in links}

    (folder / "data").unlink()
    shutil.copytree(folder, copy, ignore=left_out)
    return copy


@pytest.mark.parametrize("follows", [False, True], ids=["gone", "copied"])
def test_links_are_made_again_after_a_copy(tmp_path: Path, follows: bool) -> None:
    saved(tmp_path / "checkpoints")
    copy = from_bucket(tmp_path / "checkpoints", follows=follows)
    make_links_again(copy)
    assert os.readlink(copy / "LATEST") == "epoch_0_step_20"
    assert os.readlink(copy / "files" / "last.ckpt") == "step=20.ckpt"
    assert (copy / "best").resolve() == copy / "epoch_0_step_20"
    assert (copy / "best").is_symlink()


def test_a_link_whose_place_is_empty_is_left(tmp_path: Path) -> None:
    saved(tmp_path / "checkpoints")
    copy = from_bucket(tmp_path / "checkpoints", follows=True)
    shutil.rmtree(copy / "epoch_0_step_20")
    make_links_again(copy)
    assert not (copy / "LATEST").is_symlink()
    assert (copy / "LATEST" / "state.pt").exists()


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/../../outside"])
def test_a_noted_link_never_leads_out(tmp_path: Path, name: str) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "outside").touch()
    links = {name: "file", "inside": name.replace("/tmp", "/..")}
    (tmp_path / "checkpoints" / LINKS_FILE).write_text(json.dumps({"links": links}))
    make_links_again(tmp_path / "checkpoints")
    assert find_links(tmp_path / "checkpoints") == {}
    assert not (tmp_path / "checkpoints" / "inside").is_symlink()


def test_a_removed_link_is_not_made_again(tmp_path: Path) -> None:
    reporter = saved(tmp_path / "checkpoints")
    (tmp_path / "checkpoints" / "best").unlink()
    reporter._next_links = 0.0
    reporter.check()
    copy = from_bucket(tmp_path / "checkpoints", follows=False)
    make_links_again(copy)
    assert find_links(copy).keys() == {"LATEST", "files/last.ckpt"}


def test_a_linked_checkpoint_is_proven_by_its_own_files(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    newest = saved(folder).newest
    assert newest is not None and newest.step == 20
    assert not any("last.ckpt" in name or "LATEST" in name for name in newest.files)
    assert newest_checkpoint(folder, "files/last.ckpt", None) == "files/last.ckpt"
    assert newest_checkpoint(folder, "none.ckpt", None) is None
    rules = CheckpointRules(folder=folder, pattern="files/last.ckpt")
    assert newest_checkpoint(folder, "files/step=*.ckpt", rules) == "files/step=20.ckpt"


@pytest.mark.parametrize(
    ("pointer", "text", "turned"),
    [
        ("last_checkpoint", "/opt/ml/checkpoints/epoch_30.pth", "/opt/ml/checkpoints/epoch_20.pth"),
        ("latest_checkpointed_iteration.txt", "30", "20"),
        ("checkpoint", '"epoch_30.pth"\n"epoch_10.pth"', '"epoch_20.pth"\n"epoch_10.pth"'),
        ("train.log", "saved epoch_30.pth after 3 s", "saved epoch_30.pth after 3 s"),
        ("last_checkpoint", "epoch_300.pth", "epoch_300.pth"),
    ],
)
def test_what_names_a_damaged_checkpoint_turns_to_the_whole_one(
    tmp_path: Path, pointer: str, text: str, turned: str
) -> None:
    reporter = ProgressReporter(tmp_path, leader=True, log_progress=LogProgress())
    reporter.script_started(time.time(), dict)
    for epoch in (10, 20, 30):
        torch_file(tmp_path / f"epoch_{epoch}.pth")
    reporter.check()
    (tmp_path / pointer).write_text(text)
    (tmp_path / "latest.pth").symlink_to("epoch_30.pth")
    cut(tmp_path / "epoch_30.pth")
    (done,) = repair(tmp_path, None, leads=True)
    assert (done.name, done.step) == ("epoch_30.pth", 20)
    assert (tmp_path / pointer).read_text() == turned
    assert os.readlink(tmp_path / "latest.pth") == "epoch_20.pth"


def test_a_pointer_without_another_checkpoint_goes_with_it(tmp_path: Path) -> None:
    series = tmp_path / "tidewheel-series" / "attempt-1.jsonl"
    series.parent.mkdir()
    series.write_text('{"startedAt": 1}\n')
    cut(torch_file(tmp_path / "epoch_1.pth"))
    (tmp_path / "last_checkpoint").write_text(str(tmp_path / "epoch_1.pth"))
    done = step_back(tmp_path, None)
    assert done is not None and done.instead == "the beginning"
    assert not (tmp_path / "last_checkpoint").exists()
    assert (tmp_path / "tidewheel-set-aside" / "last_checkpoint").exists()


LINKING = """
import os, pathlib, pickle, time
folder = pathlib.Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
newest = folder / "LATEST"
step = pickle.loads((newest / "state.pkl").read_bytes())["step"] if newest.is_symlink() else 0
print("began at", step, flush=True)
while step < 60:
    time.sleep(0.05)
    step += 1
    if step % 5 == 0:
        saved = folder / f"epoch_0_step_{step}"
        saved.mkdir(exist_ok=True)
        (saved / "state.pkl").write_bytes(pickle.dumps({"step": step}))
        if newest.is_symlink():
            os.remove(newest)
        newest.symlink_to(saved.name)
    print(f"tidewheel step={step}", flush=True)
pathlib.Path(os.environ["SM_MODEL_DIR"], "model").write_text("done")
"""


def test_a_script_goes_on_from_the_link_that_it_made(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", script=LINKING)
    with running([base]) as cluster:
        cluster.await_step(30, 30)
        cluster.lose_host(0)
    shutil.copytree(base / "checkpoints/LATEST", tmp_path / "copy")
    (base / "checkpoints/LATEST").unlink()
    (tmp_path / "copy").rename(base / "checkpoints/LATEST")
    code, log = run(base)
    assert code == 0, log
    assert [int(line.split()[-1]) for line in log.splitlines() if line.startswith("began")][-1] > 20


def test_the_upload_of_a_host_follows_no_link_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = tmp_path / "s3" / "b" / "run"
    monkeypatch.setenv("FAKE_S3", str(tmp_path / "s3"))
    sync = CheckpointSync(AwsCli(str(FAKE_AWS)), tmp_path / "checkpoints", "s3://b/run", {})
    saved(sync.folder)
    (sync.folder / "data").unlink()
    sync.upload()
    found = [path for ending in ("pt", "ckpt") for path in bucket.rglob(f"*.{ending}")]
    assert sorted(path.relative_to(bucket).as_posix() for path in found) == [
        "epoch_0_step_10/state.pt",
        "epoch_0_step_20/state.pt",
        "files/step=10.ckpt",
        "files/step=20.ckpt",
    ]
    assert sync.missing() == []
