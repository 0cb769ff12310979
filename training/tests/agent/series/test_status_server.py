"""The loopback server that Hugging Face's KubeflowCallback reports to."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_runs import run
from sagemaker_host import make_host
from tidewheel_agent.series.point import Point
from tidewheel_agent.series.status_server import StatusServer, point_of_status

# As transformers 5.23 sends it.
STATUS = {
    "trainerStatus": {
        "lastUpdatedTime": "2026-11-23T09:00:00+00:00",
        "progressPercentage": 20,
        "estimatedRemainingSeconds": 40,
        "metrics": [
            {"name": "loss", "value": "2.5"},
            {"name": "grad_norm", "value": "nan"},
            {"name": "current_step", "value": "20"},
            {"name": "total_steps", "value": "100"},
            {"name": "current_epoch", "value": "0.4"},
        ],
    }
}


class Served:
    def __init__(self, server: StatusServer) -> None:
        self.server = server

    def post(self, body: bytes, token: str | None = None) -> int:
        environment = self.server.environment
        token = token or Path(environment["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read_text()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        url = environment["KUBEFLOW_TRAINER_SERVER_URL"]
        request = urllib.request.Request(url, data=body, headers=headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code


@pytest.fixture
def points() -> list[Point]:
    return []


@pytest.fixture
def served(tmp_path: Path, points: list[Point]) -> Iterator[Served]:
    server = StatusServer(tmp_path / "token", points.append)
    yield Served(server)
    server.close()


def test_a_status_becomes_a_point_at_its_step(served: Served, points: list[Point]) -> None:
    assert served.post(json.dumps(STATUS).encode()) == 200
    assert points == [Point(20.0, {"loss": 2.5})]


def test_other_callers_and_large_bodies_are_refused(served: Served, points: list[Point]) -> None:
    assert served.post(json.dumps(STATUS).encode(), token="guessed") == 401
    assert served.post(b" " * 70_000) == 413
    assert points == []


def test_only_its_user_may_read_the_token(tmp_path: Path, served: Served) -> None:
    assert served.server.environment["KUBEFLOW_TRAINER_SERVER_TOKEN"] == str(tmp_path / "token")
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"trainerStatus": {}}', b'{"trainerStatus": {"metrics": [1]}}', b"[" * 9_000],
)
def test_anything_else_is_no_point(body: bytes) -> None:
    assert point_of_status(body) is None


def test_a_first_status_without_a_step_is_no_point() -> None:
    first = {"trainerStatus": {"metrics": [{"name": "total_steps", "value": "100"}]}}
    assert point_of_status(json.dumps(first).encode()) is None


POSTS = f"""
import json, os, urllib.request
token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read()
request = urllib.request.Request(
    os.environ["KUBEFLOW_TRAINER_SERVER_URL"],
    data=json.dumps({STATUS!r}).encode(),
    headers={{"Authorization": "Bearer " + token}},
)
assert urllib.request.urlopen(request).status == 200
open(os.path.join(os.environ["SM_MODEL_DIR"], "model"), "w").close()
"""


def test_what_a_script_posts_becomes_a_series(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text(POSTS)
    base = make_host(
        tmp_path / "ml", hyperparameters={"sagemaker_program": "train.py"}, source=source
    )
    code, log = run(base)
    assert code == 0, log
    (file,) = (base / "checkpoints" / "tidewheel-series").iterdir()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(each["source"], each["position"], each["values"]) for each in lines[1:]] == [
        ("kubeflow", 20.0, {"loss": 2.5})
    ]
