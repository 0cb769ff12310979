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

import botocore.session
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials

from agent_runs import run, wheel
from sagemaker_host import make_host
from tidewheel_agent.configuration.settings import ConfigurationError
from tidewheel_agent.source.aws_request import (
    Credentials,
    Request,
    RequestError,
    signed_headers,
)
from tidewheel_agent.source.requirements import installer_variables, read_credentials
from tidewheel_agent.source.secrets_manager import read_secret, read_token

REPOSITORY = "arn:aws:codeartifact:eu-west-1:111122223333:repository/team/wheels"
ARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:index-AbCdEf"
PASSWORD = "p@ss/word:1"


@pytest.mark.parametrize(
    "asked",
    [
        Request(
            "secretsmanager",
            "us-east-1",
            "https://secretsmanager.us-east-1.amazonaws.com",
            body=json.dumps({"SecretId": ARN}).encode(),
            headers={"content-type": "application/x-amz-json-1.1", "x-amz-target": "t"},
        ),
        Request(
            "codeartifact",
            "eu-west-1",
            "https://codeartifact.eu-west-1.amazonaws.com",
            path="/v1/authorization-token",
            query="domain=team&domain-owner=111122223333&duration=3600",
        ),
    ],
)
def test_the_signature_equals_botocores(asked: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 11, 21, 8, 0, tzinfo=timezone.utc)
    ours = signed_headers(asked, Credentials("AKIDEXAMPLE", "secret", "token"), now)

    url = f"{asked.endpoint}{asked.path}?{asked.query}".rstrip("?")
    request = AWSRequest("POST", url, headers=dict(asked.headers), data=asked.body)
    auth = SigV4Auth(
        BotocoreCredentials("AKIDEXAMPLE", "secret", "token"), asked.service, asked.region
    )
    request.context["timestamp"] = "20261121T080000Z"
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: now.replace(tzinfo=None))
    auth.add_auth(request)
    assert ours["Authorization"] == request.headers["Authorization"]


def test_the_request_for_a_token_is_botocores(server: tuple[str, type[Server]]) -> None:
    url, handler = server
    options: dict[str, str] = {
        "region_name": "eu-west-1",
        "endpoint_url": url,
        "aws_access_key_id": "key",
        "aws_secret_access_key": "word",
    }
    client: Any = botocore.session.get_session().create_client("codeartifact", **options)
    theirs = client.get_authorization_token(
        domain="team", domainOwner="111122223333", durationSeconds=3600
    )["authorizationToken"]
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "word"}
    assert read_token(REPOSITORY, {"AWS_ENDPOINT_URL": url, **keys}) == theirs == PASSWORD
    assert handler.requests[0] == handler.requests[1]
    service = "https://codeartifact.eu-west-1.amazonaws.com"
    real: Any = botocore.session.get_session().create_client(
        "codeartifact", region_name="eu-west-1"
    )
    assert real.meta.endpoint_url == service


class Server(BaseHTTPRequestHandler):
    """Secrets Manager and a package index in one; records its requests."""

    secret: str = json.dumps({"username": "reader", "password": PASSWORD})
    requests: list[tuple[str, str]]
    folder: Path
    user = "reader"

    def do_POST(self) -> None:
        if self.path.startswith("/v1/authorization-token"):
            self.requests.append(("token", self.path))
            self._reply(200, json.dumps({"authorizationToken": PASSWORD}).encode())
            return
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.requests.append((str(self.headers["x-amz-target"]), str(body["SecretId"])))
        self._reply(200, json.dumps({"SecretString": self.secret}).encode())

    def do_GET(self) -> None:
        self.requests.append((self.path, self.headers.get("Authorization", "")))
        wanted = "Basic " + base64.b64encode(f"{self.user}:{PASSWORD}".encode()).decode()
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


@pytest.mark.parametrize(
    ("arn", "user", "asked"),
    [
        (ARN, "reader", ("secretsmanager.GetSecretValue", ARN)),
        (
            REPOSITORY,
            "aws",
            (
                "token",
                "/v1/authorization-token?domain=team&domain-owner=111122223333&duration=3600",
            ),
        ),
    ],
)
def test_the_private_indexs_password_stays_hidden(
    tmp_path: Path, server: tuple[str, type[Server]], arn: str, user: str, asked: tuple[str, str]
) -> None:
    url, handler = server
    handler.user = user
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
        TIDEWHEEL_INDEX_SECRET=arn,
        AWS_ENDPOINT_URL=url,
        AWS_ACCESS_KEY_ID="key",
        AWS_SECRET_ACCESS_KEY="other secret",
        PYTHONPATH=str(tmp_path / "site"),
        PIP_TARGET=str(tmp_path / "site"),
        PIP_TRUSTED_HOST="127.0.0.1",
    )
    assert code == 0, log
    assert f"has {name}" in log
    assert handler.requests[0] == asked
    for secret in (PASSWORD, "p%40ss", "other secret"):
        assert secret not in log


def test_a_token_serves_as_password(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {
        "TIDEWHEEL_INDEX_URL": "https://index.example/simple/",
        "TIDEWHEEL_INDEX_SECRET": ARN,
    }
    read = "tidewheel_agent.source.requirements.read_secret"
    monkeypatch.setattr(read, lambda arn, environment: "tok/en\n")
    variables, hidden = installer_variables(environment, read_credentials)
    assert variables["PIP_INDEX_URL"] == "https://__token__:tok%2Fen@index.example/simple/"
    assert hidden == ["tok/en", "tok%2Fen"]


def test_an_index_without_secret_reads_none() -> None:
    def never(arn: str, environment: Any) -> tuple[str, str]:  # noqa: ANN401
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


@pytest.mark.parametrize(
    ("arn", "parameter"), [(ARN, "packageIndexSecret"), (REPOSITORY, "packageIndexRepository")]
)
def test_the_error_for_unreadable_credentials_holds_the_remedy(arn: str, parameter: str) -> None:
    def refuse(arn: str, environment: Any) -> tuple[str, str]:  # noqa: ANN401
        raise RequestError("AccessDeniedException")

    environment = {
        "TIDEWHEEL_INDEX_URL": "https://index.example/simple/",
        "TIDEWHEEL_INDEX_SECRET": arn,
    }
    with pytest.raises(ConfigurationError, match=f"{parameter}={arn}"):
        installer_variables(environment, refuse)


def test_without_credentials_there_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidewheel_agent.source.aws_request._METADATA", "http://127.0.0.1:9")
    with pytest.raises(RequestError, match="no AWS credentials"):
        read_secret(ARN, {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    with pytest.raises(RequestError, match="not the ARN"):
        read_secret("my-secret", {})
    with pytest.raises(RequestError, match="not the ARN"):
        read_token(ARN, {})
