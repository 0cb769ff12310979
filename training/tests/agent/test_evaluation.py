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
SLOW = "import time; print('scoring', flush=True); time.sleep(60)"
NOTE = "tidewheel-finished/attempt-1.json"


def archived(folder: Path, channel: str, weight: str) -> tuple[Path, str]:
    """Returns the channel's folder with a model's archive, and its digest."""
    archive = folder / channel / "model.tar.gz"
    archive.parent.mkdir()
    (folder / "weight").write_text(weight)
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(folder / "weight", arcname="weight")
    return archive.parent, hashlib.sha256(archive.read_bytes()).hexdigest()


def host(
    folder: Path,
    evaluate: str,
    *,
    in_use: str | None = None,
    seconds: int = 60,
    alone: bool = False,
) -> Path:
    """`alone`: the second attempt of an evaluation that trains nothing."""
    declared: dict[str, Any] = {
        "entryPoint": "evaluate.py",
        "arguments": ["--model=${channel:model}"],
        "maximumSeconds": seconds,
    }
    channels: dict[str, Path] = {}
    parameters: dict[str, Any] = {"lr": 0.1}
    if in_use is not None:
        current = archived(folder, "tidewheel_current", in_use)
        channels["tidewheel_current"], declared["current"] = current
    if alone:
        declared["isAlone"] = True
        channels["model"], parameters["tidewheel_model"] = archived(folder, "model", "2")
        run = "digits-probe-000001"
        name = f"{run}-a2-0a1b2c"
        parameters |= {"tidewheel_run_id": run, "sagemaker_job_name": name}
    script = json.dumps({"evaluation": declared})
    base = make_host(
        folder / "ml",
        script="raise SystemExit('nothing trains')" if alone else TRAIN,
        hyperparameters={"tidewheel_script": script, **parameters},
        channels=channels,
    )
    (folder / "source" / "evaluate.py").write_text(evaluate)
    return base


def test_alone_nothing_trains_and_both_are_scored(tmp_path: Path) -> None:
    base = host(tmp_path, SCORE, in_use="1", alone=True)
    with running([base]) as cluster:
        assert cluster.wait(30) == [0], cluster.log()
    results = [(e["of"], e["samples"]) for e in note(base, 2)["evaluations"]]
    assert results == [("candidate", 4), ("current", 4)]
    assert right(base, "attempt-2.jsonl") == [1, 1, 0, 0]
    assert right(base, "current-2.jsonl") == [1, 0, 0, 0]


def test_alone_it_goes_on_where_an_attempt_was_lost(tmp_path: Path) -> None:
    base = host(tmp_path, SCORE, in_use="1", alone=True)
    checkpoints = base / "checkpoints"
    scored = checkpoints / "tidewheel-scores" / "attempt-1.jsonl"
    scored.parent.mkdir(parents=True)
    scored.write_text('{"key": "a/0", "accuracy": 0.5}\n')
    (checkpoints / "tidewheel-finished").mkdir()
    done = {"of": "candidate", "result": "ended", "seconds": 1, "samples": 1}
    text = json.dumps({"version": 1, "bytes": 1, "digest": "a" * 64, "evaluations": [done]})
    (checkpoints / NOTE).write_text(text)
    with running([base]) as cluster:
        assert cluster.wait(30) == [0], cluster.log()
    assert right(base, "attempt-2.jsonl") == [0.5]
    assert right(base, "current-2.jsonl") == [1, 0, 0, 0]


def test_alone_a_stop_is_no_end_of_the_job(tmp_path: Path) -> None:
    base = host(tmp_path, SLOW, alone=True)
    with running([base]) as cluster:
        wait_until(lambda: "scoring" in cluster.log(), 30, "the evaluation begins")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(30) == [143], cluster.log()


def note(base: Path, attempt: int = 1) -> dict[str, Any]:
    file = base / "checkpoints" / NOTE.replace("1", str(attempt))
    found: dict[str, Any] = json.loads(file.read_text())
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
    base = host(tmp_path, SLOW)
    with running([base]) as cluster:
        wait_until(lambda: "scoring" in cluster.log(), 30, "the evaluation begins")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(30) == [0], cluster.log()
    assert [each["result"] for each in note(base)["evaluations"]] == ["stopped"]


def test_a_lost_host_leaves_the_whole_model(tmp_path: Path) -> None:
    base = host(tmp_path, SLOW)
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
