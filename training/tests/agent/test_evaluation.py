"""A script scores the model, and the one in use, when training has ended."""

from __future__ import annotations

import hashlib
import json
import signal
import tarfile
from pathlib import Path
from typing import Any

import pytest

from cluster import running, wait_until
from sagemaker_host import make_host

TRAIN = """
import os, pathlib
assert "SM_CHANNEL_TIDEWHEEL_CURRENT" not in os.environ
assert "SM_CHANNEL_MODEL" not in os.environ
pathlib.Path(os.environ["SM_MODEL_DIR"], "weight").write_text("2")
"""
SCORE = """
import os, pathlib, sys, tidewheel
weight = int(pathlib.Path(os.environ["SM_CHANNEL_MODEL"], "weight").read_text())
assert sys.argv[1:] == ["--model=" + os.environ["SM_CHANNEL_MODEL"]], sys.argv
for k in range(4):
    tidewheel.score(f"a/{k}", accuracy=k < weight)
"""
NOTE = "tidewheel-finished/attempt-1.json"


def host(folder: Path, evaluate: str, *, in_use: str | None = None, seconds: int = 60) -> Path:
    declared: dict[str, Any] = {
        "entryPoint": "evaluate.py",
        "arguments": ["--model=${channel:model}"],
        "maximumSeconds": seconds,
    }
    channels = {}
    if in_use is not None:
        archive = folder / "in-use" / "model.tar.gz"
        archive.parent.mkdir()
        (folder / "weight").write_text(in_use)
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(folder / "weight", arcname="weight")
        channels["tidewheel_current"] = archive.parent
        declared["current"] = hashlib.sha256(archive.read_bytes()).hexdigest()
    script = json.dumps({"evaluation": declared})
    base = make_host(
        folder / "ml",
        script=TRAIN,
        hyperparameters={"tidewheel_script": script, "lr": 0.1},
        channels=channels,
    )
    (folder / "source" / "evaluate.py").write_text(evaluate)
    return base


def note(base: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((base / "checkpoints" / NOTE).read_text())
    return found


def right(base: Path, file: str) -> list[float]:
    lines = (base / "checkpoints" / "tidewheel-scores" / file).read_text().splitlines()
    return [json.loads(line)["accuracy"] for line in lines]


def test_both_models_are_scored_on_the_same_samples(tmp_path: Path) -> None:
    base = host(tmp_path, SCORE, in_use="1")
    with running([base]) as cluster:
        assert cluster.wait(30) == [0], cluster.log()
    results = [(e["of"], e["result"], e["samples"]) for e in note(base)["evaluations"]]
    assert results == [("candidate", "ended", 4), ("current", "ended", 4)]
    assert right(base, "attempt-1.jsonl") == [1, 1, 0, 0]
    assert right(base, "current-1.jsonl") == [1, 0, 0, 0]
    copy = base / "checkpoints" / "tidewheel-finished" / "attempt-1.tar.gz"
    digest = hashlib.sha256(copy.read_bytes()).hexdigest()
    assert (note(base)["bytes"], note(base)["digest"]) == (copy.stat().st_size, digest)
    assert not (base / "evaluation").exists()
    assert [path.name for path in (base / "model").iterdir()] == ["weight"]


@pytest.mark.parametrize(
    ("evaluate", "expected"),
    [
        ("raise RuntimeError('size mismatch')", {"result": "failed", "samples": 0}),
        (
            "print('accuracy: 0.75'); print('{\"auc\": 0.5, \"f1\": NaN}')",
            {"result": "ended", "printed": {"accuracy": 0.75, "auc": 0.5}},
        ),
        ("import os; os.kill(os.getpid(), 9)", {"result": "stopped", "samples": 0}),
    ],
)
def test_every_end_of_a_script_is_noted(
    tmp_path: Path, evaluate: str, expected: dict[str, object]
) -> None:
    base = host(tmp_path, evaluate)
    with running([base]) as cluster:
        assert cluster.wait(30) == [0], cluster.log()
    [found] = note(base)["evaluations"]
    assert found == {**found, **expected}
    assert ("size mismatch" in found.get("message", "")) == (expected["result"] == "failed")
    assert not (base / "checkpoints" / "tidewheel-scores").exists()


def test_a_missing_script_is_found_before_the_training(tmp_path: Path) -> None:
    base = host(tmp_path, SCORE)
    (tmp_path / "source" / "evaluate.py").unlink()
    with running([base]) as cluster:
        assert cluster.wait(30) == [1]
    failure = (base / "output" / "failure").read_text()
    assert failure.startswith(
        "Cannot start: evaluation.entryPoint evaluate.py is not in the source"
    )


def test_a_stop_ends_the_evaluation_alone(tmp_path: Path) -> None:
    base = host(tmp_path, "import time; print('scoring', flush=True); time.sleep(60)")
    with running([base]) as cluster:
        wait_until(lambda: "scoring" in cluster.log(), 30, "the evaluation begins")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(30) == [0], cluster.log()
    assert [each["result"] for each in note(base)["evaluations"]] == ["stopped"]


def test_a_lost_host_leaves_the_whole_model(tmp_path: Path) -> None:
    base = host(tmp_path, "import time; print('scoring', flush=True); time.sleep(60)")
    with running([base]) as cluster:
        wait_until(lambda: "scoring" in cluster.log(), 30, "the evaluation begins")
        cluster.lose_host(0)
    copy = base / "checkpoints" / "tidewheel-finished" / "attempt-1.tar.gz"
    assert note(base) == {
        "version": 1,
        "bytes": copy.stat().st_size,
        "digest": hashlib.sha256(copy.read_bytes()).hexdigest(),
        "evaluations": [],
    }


def test_an_evaluation_has_a_deadline_of_its_own(tmp_path: Path) -> None:
    base = host(tmp_path, "import time; time.sleep(60)", in_use="1", seconds=1)
    with running([base]) as cluster:
        assert cluster.wait(30) == [0], cluster.log()
    assert [each["result"] for each in note(base)["evaluations"]] == ["timedOut"]
