"""The model that a run begins from reaches the script unpacked, or the job is refused."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import tarfile
from pathlib import Path

import pytest

from agent_runs import run
from sagemaker_host import make_host
from tidewheel_agent.configuration.settings import ConfigurationError
from tidewheel_agent.source.start_model import unpack_model

SCRIPT = """
import os, pathlib, sys
print("given", *sys.argv[1:], "channel", os.environ.get("SM_CHANNEL_MODEL"), flush=True)
print("channels", os.environ["SM_CHANNELS"], flush=True)
for path in sys.argv[1:]:
    print("weights", pathlib.Path(path.partition("=")[2], "weights.txt").read_text(), flush=True)
pathlib.Path(os.environ["SM_MODEL_DIR"], "model").write_text("done")
"""

Member = tuple[str, bytes | str, bytes]
"""Name, content or where a link leads, and the tar's type."""


def pack(path: Path, *members: Member) -> str:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as packed:
        for name, value, kind in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if isinstance(value, str):
                info.linkname = value
                packed.addfile(info)
            else:
                info.size = len(value)
                packed.addfile(info, io.BytesIO(value))
    path.write_bytes(content.getvalue())
    return hashlib.sha256(content.getvalue()).hexdigest()


def file(name: str, content: bytes = b"w") -> Member:
    return name, content, tarfile.REGTYPE


def host(folder: Path, digest: str | None = None) -> Path:
    model = folder / "model"
    model.mkdir()
    found = pack(model / "model.tar.gz", file("./weights.txt", b"from before"))
    model.chmod(0o555)
    parameters = {
        "tidewheel_run_id": "digits-000002",
        "sagemaker_job_name": "digits-000002-a1-0a1b2c",
        "tidewheel_model": digest or found,
        "tidewheel_script": json.dumps({"arguments": ["--init=${channel:model}?"]}),
    }
    channels = {"model": model}
    return make_host(folder / "ml", script=SCRIPT, hyperparameters=parameters, channels=channels)


def test_the_script_gets_the_unpacked_model(tmp_path: Path) -> None:
    base = host(tmp_path)
    code, log = run(base)
    assert code == 0, log
    assert f"given --init={base}/start-model channel {base}/start-model" in log
    assert "weights from before" in log


def test_a_checkpoint_counts_instead_of_the_model(tmp_path: Path) -> None:
    base = host(tmp_path)
    series = base / "checkpoints" / "tidewheel-series"
    series.mkdir(parents=True)
    (series / "attempt-1.jsonl").write_text('{"startedAt": 1}\n')
    (base / "checkpoints" / "step_3.pkl").write_bytes(pickle.dumps({"step": 3}))
    code, log = run(base)
    assert code == 0, log
    assert "given channel None" in log
    assert 'channels ["code"]' in log


def test_without_a_model_the_argument_is_left_out(tmp_path: Path) -> None:
    parameters = {"tidewheel_script": json.dumps({"arguments": ["--init=${channel:model}?"]})}
    base = make_host(tmp_path / "ml", script=SCRIPT, hyperparameters=parameters)
    code, log = run(base)
    assert code == 0, log
    assert "given channel None" in log


def test_other_bytes_than_on_record_are_refused(tmp_path: Path) -> None:
    code, log = run(host(tmp_path, "0" * 64))
    assert code != 0
    assert "the model on record " + "0" * 64 in log


def test_files_and_links_to_them_are_unpacked(tmp_path: Path) -> None:
    archive = tmp_path / "model.tar.gz"
    pack(
        archive,
        ("a", b"", tarfile.DIRTYPE),
        file("a/best.pt", b"weights"),
        ("a/last.pt", "best.pt", tarfile.SYMTYPE),
        ("same.pt", "a/best.pt", tarfile.LNKTYPE),
    )
    unpack_model(archive, tmp_path / "out")
    names = ("a/best.pt", "a/last.pt", "same.pt")
    assert [(tmp_path / "out" / name).read_bytes() for name in names] == [b"weights"] * 3
    assert not (tmp_path / "out" / "a" / "last.pt").is_symlink()


HOSTILE = [
    pytest.param(file("../outside"), id="above its folder"),
    pytest.param(file("a/../../outside"), id="above, through a folder"),
    pytest.param(file("/outside"), id="absolute"),
    pytest.param(("link", "../outside", tarfile.SYMTYPE), id="a link out of it"),
    pytest.param(("link", "/etc/passwd", tarfile.SYMTYPE), id="an absolute link"),
    pytest.param(("link", "../outside", tarfile.LNKTYPE), id="a hard link out of it"),
    pytest.param(("device", b"", tarfile.BLKTYPE), id="a block device"),
    pytest.param(("pipe", b"", tarfile.FIFOTYPE), id="a pipe"),
]


@pytest.mark.parametrize("member", HOSTILE)
def test_a_hostile_archive_writes_nothing_outside(tmp_path: Path, member: Member) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "outside").write_text("mine")
    archive = work / "model.tar.gz"
    pack(archive, member)
    with pytest.raises(ConfigurationError, match=r"out of its folder|no regular file"):
        unpack_model(archive, work / "out")
    assert (tmp_path / "outside").read_text() == "mine"
    assert [path.name for path in (work / "out").rglob("*")] == []


def test_a_bomb_stops_at_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "model.tar.gz"
    pack(archive, file("zeros", bytes(1 << 20)))
    monkeypatch.setattr("tidewheel_agent.source.start_model._SPARE_BYTES", 1 << 60)
    with pytest.raises(ConfigurationError, match=r"raise compute\.volumeGigabytes"):
        unpack_model(archive, tmp_path / "out")
