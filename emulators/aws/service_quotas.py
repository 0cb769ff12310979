"""Service Quotas, which MiniStack lacks: the quotas of the account as this region plays them.

The operations, members and errors are those of AWS's service model of 2019-06-24. Which quotas
there are, and their values, come from emulators/region/account-quotas.ts.
"""

import base64
import json
import re
import uuid
from pathlib import Path
from typing import Any

from asgi import Receive, Scope, Send, answer, whole_body

Json = dict[str, Any]

_TARGET = "ServiceQuotasV20190624."
_LISTS = {"ListServiceQuotas": "value", "ListAWSDefaultServiceQuotas": "default"}
"""Operations, and which value of a quota each tells."""
_REGION = re.compile(r"Credential=[^/]+/\d{8}/([a-z0-9-]+)/")
_SERVICE_CODE = re.compile(r"[a-zA-Z][a-zA-Z0-9-]{1,63}")
_MOST_RESULTS = 100


class QuotasError(Exception):
    """An error of the model, by its name."""

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(message)
        self.name = name


class ServiceQuotas:
    """Answers what is addressed to Service Quotas, and passes everything else on."""

    def __init__(self, app: Any, file: Path) -> None:
        """`file`: of one account, the same in every region, as emulators/aws/ministack.ts writes
        it."""
        self._app = app
        self._account: Json = json.loads(file.read_text())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        target = headers.get(b"x-amz-target", b"").decode("latin-1")
        if scope["type"] != "http" or not target.startswith(_TARGET):
            await self._app(scope, receive, send)
            return
        found = _REGION.search(headers.get(b"authorization", b"").decode("latin-1"))
        region = found.group(1) if found else "us-east-1"
        try:
            request = _parsed(await whole_body(receive))
            status, content = 200, self._page(target.removeprefix(_TARGET), request, region)
        except QuotasError as error:
            status, content = 400, {"__type": error.name, "Message": str(error)}
        kind = {"content-type": "application/x-amz-json-1.1"}
        kind["x-amzn-requestid"] = str(uuid.uuid4())
        await answer(send, status, kind, json.dumps(content).encode())

    def _page(self, operation: str, request: Json, region: str) -> Json:
        """Raises QuotasError."""
        value = _LISTS.get(operation)
        if value is None:
            raise QuotasError("UnknownOperationException")
        code, most = request.get("ServiceCode"), request.get("MaxResults", _MOST_RESULTS)
        if not isinstance(code, str) or not _SERVICE_CODE.fullmatch(code):
            raise _illegal("ServiceCode", code)
        if type(most) is not int or not 1 <= most <= _MOST_RESULTS:
            raise _illegal("MaxResults", most)
        service = self._account["services"].get(code)
        if service is None:
            raise QuotasError("NoSuchResourceException", f"The service {code} does not exist.")
        common = {"ServiceCode": code, "ServiceName": service["name"], "Unit": "None"}
        common |= {"Adjustable": True, "GlobalQuota": False}
        if value != "default":
            common["QuotaAppliedAtLevel"] = "ACCOUNT"
        arn = f"arn:aws:servicequotas:{region}:{self._account['accountId']}:{code}"
        every = [
            {
                **common,
                "QuotaArn": f"{arn}/{quota['code']}",
                "QuotaCode": quota["code"],
                "QuotaName": quota["name"],
                "Value": quota[value],
            }
            for quota in service["quotas"]
        ]
        # A token holds for the question that it came from.
        tokens = [None, *(_token(operation, code, place) for place in range(1, len(every)))]
        if (token := request.get("NextToken")) not in tokens:
            message = "The pagination token is not valid."
            raise QuotasError("InvalidPaginationTokenException", message)
        first = tokens.index(token)
        page: Json = {"Quotas": every[first : first + most]}
        if first + most < len(every):
            page["NextToken"] = tokens[first + most]
        return page


def _illegal(member: str, value: object) -> QuotasError:
    return QuotasError("IllegalArgumentException", f"{member} is not valid: {value!r}")


def _token(operation: str, code: str, place: int) -> str:
    return base64.b64encode(f"{operation} {code} {place}".encode()).decode()


def _parsed(body: bytes) -> Json:
    try:
        request = json.loads(body or b"{}")
    except ValueError as error:
        raise QuotasError("SerializationException", "The body is no JSON.") from error
    if not isinstance(request, dict):
        raise QuotasError("SerializationException", "The body is no JSON object.")
    return request
