"""Limits of an AWS account, beside those of concurrent executions (invocations.py): request rates
and latency of S3 and DynamoDB, a function's memory, and what an execution may hold. The figures and
their sources are in emulators/limits/profiles.ts."""

import asyncio
import json
import re
import time
import uuid
from typing import Any, TypedDict
from urllib.parse import parse_qs

from asgi import Receive, Scope, Send, answer, drop_rest
from ministack.core import lambda_runtime
from ministack.services import lambda_svc, stepfunctions


class Rates(TypedDict):
    latencySeconds: float
    readsPerSecond: float
    writesPerSecond: float


class Limits(TypedDict):
    """As emulators/aws/ministack.ts sends them."""

    s3: Rates
    dynamodbLatencySeconds: float
    payloadBytes: int
    historyEvents: int


class TokenBucket:
    """Holds the tokens of one second."""

    def __init__(self, per_second: float, now: float) -> None:
        self._per_second = per_second
        self._tokens = per_second
        self._filled_at = now

    def take(self, now: float) -> bool:
        grown = self._tokens + (now - self._filled_at) * self._per_second
        self._tokens = min(self._per_second, grown)
        self._filled_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


PATH = "/_tidewheel/limits"
"""What the limits refused since the start, as JSON."""

_refused = {"invocations": 0, "requests": 0}

_SERVICE = re.compile(r"(?:/|%2F)(s3|dynamodb)(?:/|%2F)aws4_request", re.IGNORECASE)
_READS = frozenset({"GET", "HEAD"})
_MOST_BUCKETS = 10_000
_SLOW_DOWN = (
    "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message>"
    "<RequestId>{}</RequestId></Error>"
)


class Pace:
    """Answers after the service's latency, and refuses what is above the rate of a prefix.

    A prefix is a folder here. S3 divides keys where the load is, and does not say where.
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
    """

    def __init__(self, app: Any, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._buckets: dict[str, TokenBucket] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == PATH:
            await _answer_refused(receive, send)
            return
        service = _service_of(scope) if scope["type"] == "http" else None
        if service == "dynamodb":
            await asyncio.sleep(self._limits["dynamodbLatencySeconds"])
        elif service == "s3":
            if not self._takes(scope):
                _refused["requests"] += 1
                await _refuse(receive, send)
                return
            await asyncio.sleep(self._limits["s3"]["latencySeconds"])
        await self._app(scope, receive, send)

    def _takes(self, scope: Scope) -> bool:
        rates = self._limits["s3"]
        is_read = scope["method"] in _READS
        kind, per_second = (
            ("read", rates["readsPerSecond"]) if is_read else ("write", rates["writesPerSecond"])
        )
        now = time.monotonic()
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.clear()
        name = f"{kind} {_prefix_of(scope)}"
        return self._buckets.setdefault(name, TokenBucket(per_second, now)).take(now)


def _service_of(scope: Scope) -> str | None:
    signed = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    found = _SERVICE.search(signed.decode("latin-1")) or _SERVICE.search(
        scope["query_string"].decode("latin-1")
    )
    return found.group(1).lower() if found else None


def _prefix_of(scope: Scope) -> str:
    path: str = scope["path"]
    listed = parse_qs(scope["query_string"].decode("latin-1")).get("prefix", [""])[0]
    folder = listed.rpartition("/")[0] if listed else ""
    return f"{path}/{folder}" if folder else path.rpartition("/")[0]


async def _answer_refused(receive: Receive, send: Send) -> None:
    await drop_rest(receive)
    headers = {"content-type": "application/json"}
    await answer(send, 200, headers, json.dumps(_refused).encode())


async def _refuse(receive: Receive, send: Send) -> None:
    await drop_rest(receive)
    request_id = uuid.uuid4().hex[:16].upper()
    headers = {"content-type": "application/xml", "x-amz-request-id": request_id}
    await answer(send, 503, headers, _SLOW_DOWN.format(request_id).encode())


def install(limits: Limits) -> None:
    _bound_executions(limits["payloadBytes"], limits["historyEvents"])
    _bound_memory()
    _count_throttled_invocations()


def _count_throttled_invocations() -> None:
    throttle = lambda_svc._throttle_response

    def throttle_and_count(*args: Any, **kwargs: Any) -> Any:
        _refused["invocations"] += 1
        return throttle(*args, **kwargs)

    lambda_svc._throttle_response = throttle_and_count


def _bound_executions(payload_bytes: int, history_events: int) -> None:
    """https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html"""
    add_event = stepfunctions._add_event

    def add_within_limits(
        execution: dict[str, Any], event_type: str, details: dict[str, Any] | None = None
    ) -> Any:
        if not event_type.startswith("Execution"):
            # The failure is the last event of the history.
            if len(execution["events"]) >= history_events - 1:
                raise stepfunctions._ExecutionError(
                    "States.Runtime",
                    "The execution reached the maximum number of history events "
                    f"({history_events}).",
                )
            if event_type.endswith("StateExited"):
                _bound_output(details or {}, payload_bytes)
        return add_event(execution, event_type, details)

    stepfunctions._add_event = add_within_limits


def _bound_output(details: dict[str, Any], payload_bytes: int) -> None:
    exited = details.get("stateExitedEventDetails", {})
    if len(exited.get("output", "").encode()) <= payload_bytes:
        return
    raise stepfunctions._ExecutionError(
        "States.DataLimitExceeded",
        f"The state/task '{exited.get('name')}' returned a result with a size exceeding the "
        "maximum number of bytes service limit.",
    )


class _Subprocess:
    """Stands in for the module `subprocess` where MiniStack starts a function's process."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def Popen(self, command: list[str], **options: Any) -> Any:
        environment = dict(options.pop("env", None) or {})
        megabytes = int(environment.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", 0))
        if megabytes > 0:
            # A tenth is for young objects, as in Lambda's runtime, unless the function's own flags
            # say otherwise.
            young = f"--max-semi-space-size={megabytes // 20}"
            old = f"--max-old-space-size={megabytes - megabytes // 10}"
            own = environment.get("NODE_OPTIONS", "")
            environment["NODE_OPTIONS"] = " ".join(filter(None, (young, own, old)))
        return self._module.Popen(command, env=environment, **options)


def _bound_memory() -> None:
    module: Any = _Subprocess(lambda_runtime.subprocess)
    lambda_runtime.subprocess = module
