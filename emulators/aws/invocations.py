"""Invocations of Lambda functions in an account with a limit of concurrent executions.

A caller that waits gets TooManyRequestsException. An asynchronous event and a batch of a queue are
tried again, as Lambda does:
https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html

The machine has a limit of its own: few workers run at once, and a function that has a slot of the
account waits for one of them.
"""

import contextvars
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ministack.services import eventbridge, lambda_svc, stepfunctions

MOST_WORKERS = 8

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 300.0
_RETRY_PAUSES_SECONDS = (60.0, 120.0)
"""Before the second and the third try of an event that a function failed on."""
_MOST_EVENT_AGE_SECONDS = 21_600.0

Result = dict[str, Any]

_own = threading.local()
"""How long this thread tries again when it is throttled; not at all where nothing is set."""


class _Time:
    """Replaced where the region follows a virtual clock."""

    sleep: Callable[[float], Any] = staticmethod(time.sleep)


waits = _Time()


def install() -> None:
    _answer_as_lambda_does()
    _share_workers()
    _retry_where_the_thread_says_so()
    _keep_batches_of_queues()
    _tell_step_functions()
    lambda_svc.invoke_async_with_retry = invoke_asynchronously
    eventbridge._dispatch_to_lambda = _dispatch_event


def _answer_as_lambda_does() -> None:
    """https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html#API_Invoke_Errors"""
    throttle = lambda_svc._throttle_response
    invoke = lambda_svc._invoke

    def throttle_as_lambda(reason_code: str, msg: str, retry_after: int = 1) -> Result:
        result: Result = throttle(reason_code, msg, retry_after)
        result["body"] = {"Reason": reason_code, "Type": "User", "message": "Rate Exceeded."}
        return result

    async def invoke_with_type(*args: Any, **kwargs: Any) -> Any:
        status, headers, body = await invoke(*args, **kwargs)
        if status == 429:
            headers = {**headers, "x-amzn-ErrorType": "TooManyRequestsException"}
        return status, headers, body

    lambda_svc._throttle_response = throttle_as_lambda
    lambda_svc._invoke = invoke_with_type


def _share_workers() -> None:
    dispatch = lambda_svc._execute_function_dispatch
    workers = threading.BoundedSemaphore(MOST_WORKERS)

    def dispatch_in_turn(*args: Any) -> Result:
        with workers:
            result: Result = dispatch(*args)
            return result

    lambda_svc._execute_function_dispatch = dispatch_in_turn


def _pauses(seconds: float) -> Iterator[float]:
    """Pauses that grow from a second to five minutes, and end in time."""
    ends = time.time() + seconds
    pause = _FIRST_PAUSE_SECONDS
    while time.time() + pause < ends:
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _retry_where_the_thread_says_so() -> None:
    execute = lambda_svc._execute_function

    def execute_patiently(func: dict[str, Any], event: Any) -> Result:
        result: Result = execute(func, event)
        for pause in _pauses(getattr(_own, "patience", 0.0)):
            if not result.get("throttle"):
                break
            waits.sleep(pause)
            result = execute(func, event)
        return result

    lambda_svc._execute_function = execute_patiently


def _keep_batches_of_queues() -> None:
    """Tries a throttled batch again as long as its messages are invisible; then they return."""
    from ministack.services import sqs

    run_batch = lambda_svc._run_sqs_batch

    def run_patiently(
        esm: Any, func_rec: Any, event: Any, batch: Any, queue_url: str, queue_name: str
    ) -> None:
        attributes = sqs._queues.get(queue_url, {}).get("attributes", {})
        timeout = float((func_rec.get("config") or func_rec).get("Timeout", 3))
        _own.patience = float(attributes.get("VisibilityTimeout", 30)) - timeout
        try:
            run_batch(esm, func_rec, event, batch, queue_url, queue_name)
        finally:
            _own.patience = 0.0

    lambda_svc._run_sqs_batch = run_patiently


def _tell_step_functions() -> None:
    """Names a throttled task as Step Functions does; MiniStack calls it Lambda.Unknown."""
    call_lambda = stepfunctions._call_lambda

    def call_and_name(function: str, event: Any) -> Any:
        try:
            return call_lambda(function, event)
        except stepfunctions._ExecutionError as error:
            # The account's, or that of the function (ReservedFunctionConcurrent…).
            if 'ConcurrentInvocationLimitExceeded"' not in error.cause:
                raise
            raise stepfunctions._ExecutionError(
                "Lambda.TooManyRequestsException",
                "Rate Exceeded. (Service: Lambda, Status Code: 429)",
            ) from error

    stepfunctions._call_lambda = call_and_name


def _dispatch_event(arn: str, payload: Any) -> None:
    """EventBridge invokes asynchronously; MiniStack drops an event that is throttled or fails."""
    func, config, _name = lambda_svc._get_func_record_for_ref(arn)
    if func and config:
        record = lambda_svc._execution_record_for_config(func, config)
        invoke_asynchronously(record, json.loads(payload))


def invoke_asynchronously(func: dict[str, Any], event: Any) -> None:
    config = func.get("config") or func
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(_try, func, config, event), daemon=True).start()


def _try(func: dict[str, Any], config: dict[str, Any], event: Any) -> None:
    requested = func.get("event_invoke_config") or {}
    retries = requested.get("MaximumRetryAttempts")
    pauses = _RETRY_PAUSES_SECONDS[: 2 if retries is None else int(retries)]
    ends = time.time() + float(requested.get("MaximumEventAgeInSeconds", _MOST_EVENT_AGE_SECONDS))
    result: Result = {}
    for pause in (0.0, *pauses):
        if time.time() + pause > ends:
            break
        if pause > 0:
            waits.sleep(pause)
        _own.patience = ends - time.time()
        result = lambda_svc._execute_function_with_config_scope(func, event)
        if not result.get("error"):
            return
    destinations = requested.get("DestinationConfig") or {}
    dead_letters = (config.get("DeadLetterConfig") or {}).get("TargetArn")
    target = (destinations.get("OnFailure") or {}).get("Destination") or dead_letters
    if target:
        lambda_svc._route_async_failure(target, config.get("FunctionName", ""), event, result)
