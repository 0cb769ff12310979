"""Takes what Hugging Face's KubeflowCallback reports, on loopback.

Trainer registers the callback by itself where its variables are set, and posts every five seconds:
`{"trainerStatus": {"metrics": [{"name": "current_step", "value": "20"}, …], …}}`. Source:
transformers/integrations/integration_utils.py (5.x).
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ..log import log
from .point import Point, number

_MOST_BYTES = 64 * 1024
_TIMEOUT_SECONDS = 5.0
_POSITION = ("current_step", "total_steps", "current_epoch")


class StatusServer:
    """Serves until `close`. `environment`: the variables that lead the callback here."""

    def __init__(self, token_file: Path, add: Callable[[Point], None]) -> None:
        token = secrets.token_urlsafe(32)
        descriptor = os.open(token_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(token)
        self._server = _Server(token, add)
        self.environment = {
            "KUBEFLOW_TRAINER_SERVER_URL": f"http://127.0.0.1:{self._server.server_port}/status",
            "KUBEFLOW_TRAINER_SERVER_TOKEN": str(token_file),
        }
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def open_status_server(token_file: Path, add: Callable[[Point], None]) -> StatusServer | None:
    """None where it cannot listen: no such series is worth ending the training."""
    try:
        return StatusServer(token_file, add)
    except OSError as error:
        log(f"cannot take what Trainer's callbacks report: {error}")
        return None


class _Server(ThreadingHTTPServer):
    def __init__(self, token: str, add: Callable[[Point], None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.authorization = f"Bearer {token}"
        self.add = add


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _TIMEOUT_SECONDS

    def do_POST(self) -> None:
        # Another user of the machine could post, too.
        given = self.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(given, self.server.authorization.encode()):
            self._answer(401)
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            self._answer(413)
            return
        point = point_of_status(self.rfile.read(int(length)))
        if point is not None:
            self.server.add(point)
        self._answer(200)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Requests are no part of the script's log."""


def point_of_status(body: bytes) -> Point | None:
    """The metrics at the step that the body names, or None: the first status names no step."""
    try:
        metrics = json.loads(body)["trainerStatus"]["metrics"]
        found = {str(each["name"]): number(str(each["value"])) for each in metrics}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    position = found.get("current_step")
    values = {
        name: value for name, value in found.items() if value is not None and name not in _POSITION
    }
    return Point(position, values) if position is not None and values else None
