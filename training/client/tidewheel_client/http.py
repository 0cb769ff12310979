"""Calls of the HTTP API, signed or with a token."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from .operations import OPERATIONS

if TYPE_CHECKING:
    from .deployment import Deployment

_TIMEOUT_SECONDS = 30.0
_TRIES = 5
_LATER = (429, 500, 502, 503, 504)
"""docs/api.md: these mean "later", and every call may be repeated."""
_LONGEST_PAUSE_SECONDS = 20.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """urllib would take the token along to any host."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


class TidewheelError(Exception):
    """Everything that this package raises by itself."""


class UnreachableError(TidewheelError):
    """Nothing answers at the API's address."""


class RefusedError(TidewheelError):
    """The API refused a call. `problems` names each wrong field of a declaration or body."""

    def __init__(self, status: int, message: str, problems: list[dict[str, str]]) -> None:
        lines = [f"{each.get('path') or 'body'}: {each.get('message')}" for each in problems]
        super().__init__("\n".join([f"{message} (HTTP {status})", *lines]))
        self.status = status
        self.message = message
        self.problems = problems


class Api:
    """The operations of docs/openapi.json, by their operationId."""

    def __init__(self, deployment: Deployment, sleep: Callable[[float], None] = time.sleep) -> None:
        self._deployment = deployment
        self._sleep = sleep

    def call(
        self,
        operation: str,
        parameters: Mapping[str, str | int | None] | None = None,
        body: object = None,
    ) -> Any:
        """The answer's JSON.

        `parameters` go into path and query; those that are None are left out. A text is sent as
        it is.
        Raises RefusedError, UnreachableError.
        """
        method, path = OPERATIONS[operation]
        given = {name: value for name, value in (parameters or {}).items() if value is not None}
        for name in [name for name in given if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", urllib.parse.quote(str(given.pop(name)), safe=""))
        query = urllib.parse.urlencode(given)
        url = f"{self._deployment.api_url}{path}{'?' if query else ''}{query}"
        written = body if isinstance(body, str) or body is None else json.dumps(body)
        data = None if written is None else written.encode()
        for attempt in range(1, _TRIES + 1):
            status, text, retry_after = self._send(method, url, data)
            if 200 <= status < 300:
                return json.loads(text)
            if status not in _LATER or attempt == _TRIES:
                raise _refusal(status, text)
            self._sleep(min(retry_after or 2.0 ** (attempt - 1), _LONGEST_PAUSE_SECONDS))
        raise AssertionError("unreachable")

    def _send(self, method: str, url: str, data: bytes | None) -> tuple[int, str, float | None]:
        call = urllib.request.Request(
            url, data=data, headers=self._headers(method, url, data), method=method
        )
        try:
            with _OPENER.open(call, timeout=_TIMEOUT_SECONDS) as answer:
                return answer.status, answer.read().decode(), None
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace"), _seconds(error)
        except OSError as error:
            deployment = self._deployment
            raise UnreachableError(
                f"nothing answers at {deployment.api_url}: {error}. Is {deployment.title} up?"
            ) from error

    def _headers(self, method: str, url: str, data: bytes | None) -> dict[str, str]:
        deployment = self._deployment
        headers = {"content-type": "application/json"}
        if deployment.token is not None:
            return {**headers, "authorization": f"Bearer {deployment.token}"}
        request = AWSRequest(method, url, data=data, headers=headers)
        # A new look each time: credentials of a role expire while a notebook waits.
        SigV4Auth(deployment.credentials(), "execute-api", deployment.region).add_auth(request)
        return dict(request.headers.items())


def _seconds(error: urllib.error.HTTPError) -> float | None:
    value = error.headers.get("retry-after", "")
    return float(value) if value.isdigit() else None


def _refusal(status: int, text: str) -> RefusedError:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = {}
    if not isinstance(answer, dict):
        answer = {}
    message = str(answer.get("message") or "the API gave no reason")
    if status == 401:
        message = "the token has expired or is of another issuer: set TIDEWHEEL_TOKEN to a new one"
    problems = answer.get("problems")
    return RefusedError(status, message, problems if isinstance(problems, list) else [])
