"""Credentials of a private package index go from Secrets Manager to the installer alone."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials

from agent_runs import run, wheel
from sagemaker_host import make_host
from tidewheel_agent.configuration.settings import ConfigurationError
from tidewheel_agent.source.requirements import installer_variables
from tidewheel_agent.source.secrets_manager import (
    Credentials,
    SecretError,
    read_secret,
    signed_headers,
)

ARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:index-AbCdEf"
PASSWORD = "p@ss/word:1"


def test_the_signature_equals_botocores(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 11, 21, 8, 0, tzinfo=timezone.utc)
    body = json.dumps({"SecretId": ARN}).encode()
    endpoint = "https://secretsmanager.us-east-1.amazonaws.com"
    ours = signed_headers(
        endpoint, body, "us-east-1", Credentials("AKIDEXAMPLE", "secret", "token"), now
    )

    unsigned = {k: v for k, v in ours.items() if k in ("content-type", "x-amz-target")}
    request = AWSRequest("POST", f"{endpoint}/", headers=unsigned, data=body)
    auth = SigV4Auth(
        BotocoreCredentials("AKIDEXAMPLE", "secret", "token"), "secretsmanager", "us-east-1"
    )
    request.context["timestamp"] = "20261121T080000Z"
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: now.replace(tzinfo=None))
    auth.add_auth(request)
    assert ours["Authorization"] == request.headers["Authorization"]


class Server(BaseHTTPRequestHandler):
    """Secrets Manager and a package index in one; records its requests."""

    secret: str = json.dumps({"username": "reader", "password": PASSWORD})
    requests: list[tuple[str, str]]
    folder: Path

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.requests.append((str(self.headers["x-amz-target"]), str(body["SecretId"])))
        self._reply(200, json.dumps({"SecretString": self.secret}).encode())

    def do_GET(self) -> None:
        self.requests.append((self.path, self.headers.get("Authorization", "")))
        wanted = "Basic " + base64.b64encode(f"reader:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != wanted:
            self._reply(401, b"who are you?", {"WWW-Authenticate": 'Basic realm="index"'})
        elif self.path.endswith(".whl"):
            self._reply(200, (self.folder / self.path.rpartition("/")[2]).read_bytes())
        else:
            links = "".join(
                f'<a href="/files/{f.name}">{f.name}</a>' for f in self.folder.glob("*.whl")
            )
            self._reply(200, f"<html><body>{links}</body></html>".encode(), {})

    def _reply(self, status: int, body: bytes, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.send_header("content-type", "text/html" if more == {} else "application/octet-stream")
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, type[Server]]]:
    handler = type("Handler", (Server,), {"requests": [], "folder": tmp_path})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}", handler
        running.shutdown()


def test_the_private_indexs_password_stays_hidden(
    tmp_path: Path, server: tuple[str, type[Server]]
) -> None:
    url, handler = server
    package = wheel(tmp_path)
    source = tmp_path / "source"
    source.mkdir()
    name = package.name.split("-")[0]
    (source / "requirements.txt").write_text(f"{name}\n")
    (source / "train.py").write_text(
        "import os\n"
        "assert 'PIP_INDEX_URL' not in os.environ and 'UV_DEFAULT_INDEX' not in os.environ\n"
        f"print('has', __import__('{name}').__name__)\n"
    )
    base = make_host(
        tmp_path / "host", source=source, hyperparameters={"sagemaker_program": "train.py"}
    )
    code, log = run(
        base,
        TIDEWHEEL_INDEX_URL=f"{url}/simple/",
        TIDEWHEEL_INDEX_SECRET=ARN,
        AWS_ENDPOINT_URL=url,
        AWS_ACCESS_KEY_ID="key",
        AWS_SECRET_ACCESS_KEY="other secret",
        PYTHONPATH=str(tmp_path / "site"),
        PIP_TARGET=str(tmp_path / "site"),
        PIP_TRUSTED_HOST="127.0.0.1",
    )
    assert code == 0, log
    assert f"has {name}" in log
    assert handler.requests[0] == ("secretsmanager.GetSecretValue", ARN)
    for secret in (PASSWORD, "p%40ss", "other secret"):
        assert secret not in log


def test_a_token_serves_as_password() -> None:
    environment = {
        "TIDEWHEEL_INDEX_URL": "https://index.example/simple/",
        "TIDEWHEEL_INDEX_SECRET": ARN,
    }
    variables, hidden = installer_variables(environment, lambda arn, environment: "tok/en\n")
    assert variables["PIP_INDEX_URL"] == "https://__token__:tok%2Fen@index.example/simple/"
    assert hidden == ["tok/en", "tok%2Fen"]


def test_an_index_without_secret_reads_none() -> None:
    def never(arn: str, environment: Any) -> str:  # noqa: ANN401
        raise AssertionError("the secret was read")

    environment = {"TIDEWHEEL_INDEX_URL": "https://index.example/simple/"}
    assert installer_variables(environment, never) == (
        {
            "PIP_INDEX_URL": "https://index.example/simple/",
            "UV_DEFAULT_INDEX": "https://index.example/simple/",
        },
        [],
    )
    assert installer_variables({}, never) == ({}, [])


def test_the_error_for_an_unreadable_secret_holds_the_remedy() -> None:
    def refuse(arn: str, environment: Any) -> str:  # noqa: ANN401
        raise SecretError("AccessDeniedException")

    environment = {
        "TIDEWHEEL_INDEX_URL": "https://index.example/simple/",
        "TIDEWHEEL_INDEX_SECRET": ARN,
    }
    with pytest.raises(ConfigurationError, match="packageIndexSecret"):
        installer_variables(environment, refuse)


def test_without_credentials_there_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidewheel_agent.source.secrets_manager._METADATA", "http://127.0.0.1:9")
    with pytest.raises(SecretError, match="no AWS credentials"):
        read_secret(ARN, {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    with pytest.raises(SecretError, match="not the ARN"):
        read_secret("my-secret", {})
