"""The notebook's client against a real HTTP server that answers as docs/openapi.json says."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest

import write_operations
from tidewheel_client import (
    Deployment,
    RefusedError,
    RunFailedError,
    Tidewheel,
    TidewheelError,
    UnreachableError,
    WaitTimeoutError,
)
from tidewheel_client.model import _extract
from tidewheel_client.runs import describe

AT = "2026-11-25T10:00:00.000Z"
MONEY = {
    "asOf": AT,
    "usd": 0.5,
    "usdPerSecond": 0.1,
    "byPurchaseOption": [],
    "lost": {"seconds": 0, "usd": 0},
    "onDemandUsd": 1.5,
}


class Api:
    """Answers in the order given for a path; the last answer stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[tuple[int, Any, dict[str, str]]]] = {}
        self.requests: list[tuple[str, str, dict[str, str], str]] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                api.requests.append((self.command, self.path, dict(self.headers), body))
                key = f"{self.command} {self.path.split('?')[0]}"
                waiting = api.answers[key]
                status, answer, headers = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            do_DELETE = do_GET = do_POST = do_PUT = _answer

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def give(self, key: str, *answers: Any, status: int = 200, **headers: str) -> None:
        self.answers.setdefault(key, []).extend((status, each, headers) for each in answers)


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def slept() -> list[float]:
    """Seconds that the client would have waited."""
    return []


@pytest.fixture
def tidewheel(api: Api, slept: list[float]) -> Tidewheel:
    session = boto3.Session("AKIDEXAMPLE", "secret", region_name="us-east-1")
    deployment = Deployment("a test", api.url, "us-east-1", session)
    return Tidewheel(deployment=deployment, sleep=slept.append)


def run_answer(status: str, **run: object) -> dict[str, Any]:
    about = {"runId": "digits-000001", "pipeline": "digits", "status": status, **run}
    return {"asOf": AT, "run": about, "attempts": [], "timeline": [], "money": MONEY}


def test_a_run_is_started_and_waited_for(
    api: Api, tidewheel: Tidewheel, slept: list[float]
) -> None:
    api.give("POST /pipelines/digits/runs", {"kind": "started", "runId": "digits-000001"})
    api.give("GET /runs/digits-000001", *map(run_answer, ["packing", "training", "succeeded"]))
    run = tidewheel.run("digits")
    assert run.wait(quiet=True) is run
    assert len(slept) == 2
    assert run.status == "succeeded"


def test_every_call_is_signed(api: Api, tidewheel: Tidewheel) -> None:
    api.give("GET /runs", {"runs": []})
    tidewheel.runs(pipeline="digits")
    ((_method, path, headers, _body),) = api.requests
    assert path == "/runs?pipeline=digits&limit=20"
    assert "/us-east-1/execute-api/aws4_request" in headers["Authorization"]


def test_a_failed_run_raises_its_reason(api: Api, tidewheel: Tidewheel) -> None:
    api.give("GET /runs/digits-000001", run_answer("failed", failure="exit code 1"))
    run = tidewheel.get("digits-000001")
    with pytest.raises(RunFailedError, match="ended as failed: exit code 1"):
        run.wait(quiet=True)
    assert run.wait(quiet=True, check=False).status == "failed"
    with pytest.raises(TidewheelError, match="has made no model: its status is failed"):
        _ = run.model


def test_files_that_a_script_keeps_are_no_model(api: Api, tidewheel: Tidewheel) -> None:
    run = run_answer(
        "succeeded",
        modelUri="s3://bucket/digits/runs/digits-000001/models/a1/output/model.tar.gz",
        declaration={"training": {"model": "none"}},
    )
    api.give("GET /runs/digits-000001", run)
    kept = "s3://bucket/digits/runs/digits-000001/checkpoints/.*tidewheel model get digits-000001"
    with pytest.raises(TidewheelError, match=kept):
        tidewheel.get("digits-000001").model.download()


@pytest.mark.parametrize(
    ("pipeline", "says"),
    [
        ("digtis", "did you mean digits"),
        ("x", "there are digits, pets"),
        ("pets", "has no run yet"),
    ],
)
def test_a_pipeline_without_runs_is_explained(
    api: Api, tidewheel: Tidewheel, pipeline: str, says: str
) -> None:
    api.give("GET /runs", {"runs": []})
    api.give("GET /pipelines", {"pipelines": [{"name": "digits"}, {"name": "pets"}]})
    with pytest.raises(TidewheelError, match=says):
        tidewheel.latest(pipeline)


def test_a_wait_ends_in_time(api: Api, tidewheel: Tidewheel) -> None:
    api.give("GET /runs/digits-000001", run_answer("training"))
    run = tidewheel.get("digits-000001")
    with pytest.raises(WaitTimeoutError, match="training after 0 s; it goes on"):
        run.wait(timeout_seconds=0, quiet=True)


def test_a_throttled_call_is_repeated(api: Api, tidewheel: Tidewheel, slept: list[float]) -> None:
    api.give("GET /runs/digits-000001", {"message": "later"}, status=429, **{"Retry-After": "3"})
    api.give("GET /runs/digits-000001", run_answer("training"))
    run = tidewheel.get("digits-000001")
    assert run.status == "training"
    assert slept == [3.0]


def test_a_refusal_names_every_problem(api: Api, tidewheel: Tidewheel) -> None:
    problems = [{"path": "limits.budgetUsd", "message": "must be positive"}]
    answer = {"message": "nothing has changed", "problems": problems}
    api.give("PUT /runs/digits-000001/limits", answer, status=400)
    with pytest.raises(RefusedError, match=r"limits.budgetUsd: must be positive") as refused:
        tidewheel.get("digits-000001").set_limits(budgetUsd=-1)
    assert refused.value.status == 400
    assert json.loads(api.requests[0][3]) == {"budgetUsd": -1}


def test_nothing_at_the_address_is_said(tidewheel: Tidewheel, api: Api) -> None:
    api.server.shutdown()
    api.server.server_close()
    with pytest.raises(UnreachableError, match="Is a test up"):
        tidewheel.pipelines()


def test_metrics_are_one_curve_over_attempts(api: Api, tidewheel: Tidewheel) -> None:
    def point(position: int, attempt: int) -> dict[str, object]:
        return {"position": position, "value": 0.5, "at": AT, "attempt": attempt}

    series = {
        "name": "loss",
        "source": "log",
        "unit": "step",
        "pointCount": 2,
        "points": [point(1, 1), point(2, 2)],
        "lost": [point(2, 1)],
    }
    api.give("GET /runs/digits-000001/series", {"series": [series]})
    rows = tidewheel.get("digits-000001").metrics("loss")
    rows = rows if isinstance(rows, list) else rows.to_dict("records")
    assert [(row["position"], row["attempt"], row["lost"]) for row in rows] == [
        (1, 1, False),
        (2, 2, False),
        (2, 1, True),
    ]


def test_the_log_is_read_by_pages_and_followed(
    api: Api, tidewheel: Tidewheel, slept: list[float]
) -> None:
    def page(text: str, **more: object) -> dict[str, object]:
        line = {"kind": "line", "attempt": 1, "at": AT, "host": "algo-1", "text": text}
        return {"entries": [line], "isCurrent": False, **more}

    pages = [
        page("a", nextToken="1"),
        page("b", nextToken="2", isCurrent=True),
        page("c", isCurrent=True),
    ]
    api.give("GET /runs/digits-000001/log", *pages[:2], *pages)
    run = tidewheel.get("digits-000001")
    assert [entry["text"] for entry in run.logs(attempt=1)] == ["a", "b"]
    assert slept == []
    assert [entry["text"] for entry in run.logs(follow=True)] == ["a", "b", "c"]
    assert len(slept) == 1
    paths = [path.partition("?")[2] for _, path, _, _ in api.requests]
    assert paths == ["attempt=1", "attempt=1&nextToken=1", "", "nextToken=1", "nextToken=2"]


def test_the_line_of_a_run_has_a_bar() -> None:
    answer = run_answer("training")
    answer["progress"] = {"step": 3, "totalSteps": 4}
    assert "step 3 of 4 · ███████████████░░░░░ 75% · $0.5000" in describe(answer)  # type: ignore[arg-type]


@pytest.mark.heavy
def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    def run(*words: str | Path) -> str:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    source = tmp_path / "source"
    shutil.copytree(write_operations.HERE, source)
    run(Path(sys.base_prefix) / "bin" / "python3", "-m", "venv", "env")
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "made", source)
    (wheel,) = (tmp_path / "made").iterdir()
    run(python, "-m", "pip", "install", "--quiet", wheel)
    shutil.rmtree(source)
    program = "import tidewheel_client as t; print(t.Tidewheel, t.run.__doc__)"
    assert "for the cell of a notebook" in run(python, "-c", program)
    missing = (
        "import tidewheel_client as t\ntry: t.Tidewheel()\nexcept t.TidewheelError as e: print(e)"
    )
    assert "region" in run(python, "-c", missing)


def test_pages_of_runs_are_joined(api: Api, tidewheel: Tidewheel) -> None:
    api.give("GET /runs", {"runs": [{"runId": "b"}], "nextToken": "t"}, {"runs": [{"runId": "a"}]})
    assert [run["runId"] for run in tidewheel.runs(limit=5)] == ["b", "a"]
    assert "nextToken=t" in api.requests[1][1]


def test_probes_are_listed_with_their_speed(api: Api, tidewheel: Tidewheel) -> None:
    probe = {"runId": "digits-probe-000001", "speed": {"stepSeconds": {"mean": 0.5}}}
    api.give("GET /pipelines/digits/probes", {"probes": [probe]})
    assert [dict(each) for each in tidewheel.probes("digits")] == [probe]
    assert "limit=20" in api.requests[0][1]


def test_checkpoints_are_deleted(api: Api, tidewheel: Tidewheel) -> None:
    answer = {"runId": "digits-000001", "status": "stopped", "isDeleted": False}
    api.give("DELETE /runs/digits-000001/checkpoints", answer)
    assert tidewheel.get("digits-000001").delete_checkpoints() == answer


@pytest.mark.parametrize("name", ["../outside", "/etc/outside"])
def test_an_archive_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "model.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(TidewheelError, match="outside its folder"):
        _extract(archive, tmp_path / "model")


def test_an_archive_holds_no_links(tmp_path: Path) -> None:
    archive = tmp_path / "model.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo("link")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(member)
    with pytest.raises(TidewheelError, match="holds a link"):
        _extract(archive, tmp_path)


def test_operations_are_those_of_the_document() -> None:
    document = json.loads(write_operations.DOCUMENT.read_text(encoding="utf-8"))
    written = write_operations.written(document)
    assert write_operations.TARGET.read_text(encoding="utf-8") == written, (
        "docs/openapi.json has changed: run `npm run generate`"
    )


def test_a_token_takes_the_place_of_a_signature(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_API_URL", f"{api.url}/")
    monkeypatch.setenv("TIDEWHEEL_TOKEN", "abc")
    api.give("GET /runs", {"runs": []})
    client = Tidewheel()
    assert client.runs() == []
    assert [headers["Authorization"] for _, _, headers, _ in api.requests] == ["Bearer abc"]
    assert "abc" not in repr(client.deployment)
    with pytest.raises(TidewheelError, match="asks for AWS credentials"):
        client.deployment.client("s3")


def test_a_token_follows_no_redirect(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_API_URL", api.url)
    monkeypatch.setenv("TIDEWHEEL_TOKEN", "abc")
    api.give("GET /runs", {}, status=302, location=f"{api.url}/elsewhere")
    with pytest.raises(RefusedError):
        Tidewheel().runs()
    assert [path.split("?")[0] for _, path, _, _ in api.requests] == ["/runs"]


@pytest.mark.parametrize(
    ("url", "token", "remedy"),
    [("", "abc", "set both"), ("http://example.org", "abc", "write https://")],
)
def test_a_token_needs_an_address_and_tls(
    monkeypatch: pytest.MonkeyPatch, url: str, token: str, remedy: str
) -> None:
    monkeypatch.setenv("TIDEWHEEL_API_URL", url)
    monkeypatch.setenv("TIDEWHEEL_TOKEN", token)
    with pytest.raises(TidewheelError, match=remedy):
        Tidewheel()
