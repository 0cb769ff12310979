"""Service Quotas, which MiniStack lacks: the quotas of the account as this region plays them.

The operations, members and errors are those of AWS's service model of 2019-06-24. Which quotas
there are, and their values, come from emulators/region/account-quotas.ts.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from asgi import Receive, Scope, Send, answer

Json = dict[str, Any]

_TARGET = "ServiceQuotasV20190624."
_REGION = re.compile(r"Credential=[^/]+/\d{8}/([a-z0-9-]+)/")
_SERVICE_CODE = re.compile(r"[a-zA-Z][a-zA-Z0-9-]{1,63}")
_MOST_RESULTS = 100


class Quota(NamedTuple):
    code: str
    name: str
    value: float
    default: float


class Service(NamedTuple):
    name: str
    quotas: tuple[Quota, ...]


class QuotasError(Exception):
    """An error of the model, by its name."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class Catalogue:
    """Of one account, the same in every region."""

    def __init__(self, account_id: str, services: dict[str, Service]) -> None:
        self._account_id = account_id
        self._services = services

    @classmethod
    def read(cls, file: Path) -> Catalogue:
        """As emulators/aws/ministack.ts writes it."""
        given = json.loads(file.read_text())
        services = {
            code: Service(given["name"], tuple(Quota(**quota) for quota in given["quotas"]))
            for code, given in given["services"].items()
        }
        return cls(given["accountId"], services)

    def answer(self, operation: str, request: Json, region: str) -> Json:
        """Raises QuotasError."""
        code = request.get("ServiceCode")
        if not isinstance(code, str) or not _SERVICE_CODE.fullmatch(code):
            raise _illegal("ServiceCode", code)
        match operation:
            case "ListServiceQuotas" | "ListAWSDefaultServiceQuotas":
                return self._page(operation, code, request, region)
            case _:
                raise QuotasError("UnknownOperationException", "")

    def _of(self, code: str) -> Service:
        service = self._services.get(code)
        if service is None:
            raise QuotasError("NoSuchResourceException", f"The service {code} does not exist.")
        return service

    def _page(self, operation: str, code: str, request: Json, region: str) -> Json:
        every = self._of(code).quotas
        start = _position(request.get("NextToken"), f"{operation} {code}", len(every))
        end = start + _size(request.get("MaxResults"))
        page: Json = {
            "Quotas": [self._shown(operation, code, quota, region) for quota in every[start:end]]
        }
        if end < len(every):
            page["NextToken"] = _token(f"{operation} {code}", end)
        return page

    def _shown(self, operation: str, code: str, quota: Quota, region: str) -> Json:
        is_default = "AWSDefault" in operation
        shown = {
            "ServiceCode": code,
            "ServiceName": self._of(code).name,
            "QuotaArn": f"arn:aws:servicequotas:{region}:{self._account_id}:{code}/{quota.code}",
            "QuotaCode": quota.code,
            "QuotaName": quota.name,
            "Value": quota.default if is_default else quota.value,
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }
        return shown if is_default else {**shown, "QuotaAppliedAtLevel": "ACCOUNT"}


def _illegal(member: str, value: object) -> QuotasError:
    return QuotasError("IllegalArgumentException", f"{member} is not valid: {value!r}")


def _size(value: object) -> int:
    if value is None:
        return _MOST_RESULTS
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_RESULTS:
        raise _illegal("MaxResults", value)
    return value


def _token(of: str, position: int) -> str:
    return base64.b64encode(f"{of} {position}".encode()).decode()


def _position(token: object, of: str, count: int) -> int:
    """A token holds for the question that it came from."""
    if token is None:
        return 0
    for position in range(1, count):
        if token == _token(of, position):
            return position
    raise QuotasError("InvalidPaginationTokenException", "The pagination token is not valid.")


class ServiceQuotas:
    """Answers what is addressed to Service Quotas, and passes everything else on."""

    def __init__(self, app: Any, catalogue: Catalogue) -> None:
        self._app = app
        self._catalogue = catalogue

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        target = headers.get(b"x-amz-target", b"").decode("latin-1")
        if scope["type"] != "http" or not target.startswith(_TARGET):
            await self._app(scope, receive, send)
            return
        found = _REGION.search(headers.get(b"authorization", b"").decode("latin-1"))
        region = found.group(1) if found else "us-east-1"
        body = await _body(receive)
        try:
            request = _parsed(body)
            content = self._catalogue.answer(target.removeprefix(_TARGET), request, region)
            await _send(send, 200, content)
        except QuotasError as error:
            await _send(send, 400, {"__type": error.name, "Message": str(error)})


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return b"".join(parts)


def _parsed(body: bytes) -> Json:
    try:
        request = json.loads(body or b"{}")
    except ValueError as error:
        raise QuotasError("SerializationException", "The body is no JSON.") from error
    if not isinstance(request, dict):
        raise QuotasError("SerializationException", "The body is no JSON object.")
    return request


async def _send(send: Send, status: int, content: Json) -> None:
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "x-amzn-requestid": str(uuid.uuid4()),
    }
    await answer(send, status, headers, json.dumps(content).encode())
