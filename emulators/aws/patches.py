"""Patches MiniStack 1.5.33, from outside while it runs, where it differs from AWS.

When requirements.lock names another MiniStack, leave out one patch after the other and run
emulators/tests/integration/aws: one whose tests pass without it can go.
"""

import re
import threading
from typing import Any

from ministack.core import lambda_runtime
from ministack.services import eventbridge, lambda_svc, s3, scheduler, stepfunctions

# The two places where MiniStack's Node worker reports a failed invocation.
_SETTLED = 'status: "error", error: String(err.message || err), trace: err.stack || ""'
_THROWN = 'status: "error", error: e.message, trace: e.stack'
_NAME_OF = 'errorType: ({0} && typeof {0} === "object" && {0}.name) || typeof {0}'
# Without this a worker outlives a MiniStack that was killed for as long as its event loop has
# something to do.
_END_WITH_PARENT = '\nrl.on("close", () => process.exit(0));\n'


class PatchError(RuntimeError):
    """This MiniStack no longer looks as the patch expects; compare
    emulators/aws/requirements.lock."""


def name_node_errors() -> None:
    """Makes errorType the error's own name, as Lambda's Node runtime does, so that Retry and
    Catch by class match.

    https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html
    """
    script = lambda_runtime._NODEJS_WORKER_SCRIPT
    for reported, variable in ((_SETTLED, "err"), (_THROWN, "e")):
        if reported not in script:
            raise PatchError(f"MiniStack's Node worker changed: {reported!r} is not in it")
        script = script.replace(reported, f"{reported}, {_NAME_OF.format(variable)}")
    lambda_runtime._NODEJS_WORKER_SCRIPT = script + _END_WITH_PARENT
    _pass_names_through()


def set_worker_clock(prelude: str) -> None:
    """JavaScript that every Node worker begins with; only where a virtual clock is gone by."""
    lambda_runtime._NODEJS_WORKER_SCRIPT = prelude + lambda_runtime._NODEJS_WORKER_SCRIPT


def _pass_names_through() -> None:
    """The worker's answer and the invocation's result are made in one thread: a thread-local
    carries the name over."""
    failed = threading.local()
    invoke = lambda_runtime.Worker.invoke
    execute = lambda_svc._execute_function_warm

    def invoke_and_remember(self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        answer: dict[str, Any] = invoke(self, *args, **kwargs)
        failed.answer = answer if answer.get("status") == "error" else None
        return answer

    def execute_with_name(func: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        failed.answer = None
        result: dict[str, Any] = execute(func, event, request_id)
        answer, body = failed.answer, result.get("body")
        if result.get("error") and isinstance(body, dict) and answer:
            if answer.get("errorType"):
                body["errorType"] = answer["errorType"]
                body["trace"] = str(answer.get("trace", "")).split("\n")
            elif answer.get("error") == "Worker process died":
                body["errorType"] = "Runtime.ExitError"
        return result

    lambda_runtime.Worker.invoke = invoke_and_remember
    lambda_svc._execute_function_warm = execute_with_name


# Services that stand beside the emulator in the local region, and send events as AWS's own do.
_BESIDE = frozenset({"aws.sagemaker", "aws.ec2"})


def admit_events_of_services_beside() -> None:
    """Lets emulators/sagemaker and emulators/spot-market publish under their services' names.

    On AWS only the service itself can: PutEvents refuses every source that begins with
    `aws.`, as MiniStack does, and goes on doing for all other sources.
    """
    put_events = eventbridge._put_events

    def admit(data: dict[str, Any], allow_aws_source: bool = False) -> Any:
        entries = data.get("Entries")
        sources = {e.get("Source") for e in entries} if isinstance(entries, list) else set()
        return put_events(
            data, allow_aws_source=allow_aws_source or (len(sources) > 0 and sources <= _BESIDE)
        )

    eventbridge._put_events = admit


def fail_callbacks_with_their_function() -> None:
    """Fails a `lambda:invoke.waitForTaskToken` task when its function fails, as Step Functions
    does; MiniStack swallows the error and waits for a token that is lost.

    https://docs.aws.amazon.com/step-functions/latest/dg/connect-lambda.html
    """
    waiting = threading.local()
    invoke_with_callback = stepfunctions._invoke_with_callback
    call_lambda = stepfunctions._call_lambda

    def invoke_and_wait(resource: str, data: Any, token: str, state: dict[str, Any]) -> Any:
        waiting.token = token
        try:
            return invoke_with_callback(resource, data, token, state)
        finally:
            waiting.token = None

    def call_or_fail(function: str, event: Any) -> Any:
        token = getattr(waiting, "token", None)
        waiting.token = None
        try:
            return call_lambda(function, event)
        except stepfunctions._ExecutionError as error:
            task = stepfunctions._task_tokens.get(token) if token else None
            if task:
                task["error"] = {"Error": error.error, "Cause": error.cause}
                task["event"].set()
            raise

    stepfunctions._invoke_with_callback = invoke_and_wait
    stepfunctions._call_lambda = call_or_fail


def read_concurrency_of_maps() -> None:
    """Reads MaxConcurrencyPath of a distributed Map, which MiniStack does not know.

    https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html
    """
    run_map = stepfunctions._run_distributed_map

    def run_with_concurrency(
        state_def: dict[str, Any], raw_input: Any, effective: Any, *others: Any
    ) -> Any:
        path = state_def.get("MaxConcurrencyPath")
        if path is not None:
            limit = stepfunctions._resolve_path(path, effective)
            state_def = {**state_def, "MaxConcurrency": limit}
        return run_map(state_def, raw_input, effective, *others)

    stepfunctions._run_distributed_map = run_with_concurrency


def encrypt_with_the_accounts_key() -> None:
    """Takes `aws:kms` without a key for the account's own key, as S3 does; SageMaker's Python SDK
    uploads every source so.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
    """
    resolve = s3._resolve_sse_write_headers
    named, key = "x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id"

    def resolve_with_key(headers: dict[str, str], bucket_name: str) -> Any:
        if headers.get(named) == "aws:kms" and not headers.get(key):
            headers = {**headers, key: "alias/aws/s3"}
        return resolve(headers, bucket_name)

    s3._resolve_sse_write_headers = resolve_with_key


def tell_what_was_copied() -> None:
    """Sends the CRC of a copied part, and keeps it, where the upload was created with one.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyPartResult.html
    """
    copy_part = s3._upload_part_copy

    def copy_and_tell(bucket_name: str, key: str, query: dict[str, Any], headers: Any) -> Any:
        answer = copy_part(bucket_name, key, query, headers)
        status, answer_headers, body = answer
        upload = s3._multipart_uploads.get(s3._qp(query, "uploadId"), {})
        algorithm = upload.get("checksum_algorithm")
        if status != 200 or algorithm not in ("CRC32", "CRC32C", "CRC64NVME"):
            return answer
        part = upload["parts"][int(s3._qp(query, "partNumber", "1"))]
        checksum = s3._compute_s3_checksum(algorithm, part["body"])
        part["checksums"] = {algorithm: checksum}
        end = "</CopyPartResult>"
        element = f"<Checksum{algorithm}>{checksum}</Checksum{algorithm}>"
        return status, answer_headers, body.replace(end.encode(), (element + end).encode())

    s3._upload_part_copy = copy_and_tell


def tell_checksums_of_parts() -> None:
    """Names each part's checksum to GetObjectAttributes, as S3 does for a composite one.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_ObjectPart.html
    """
    asked = threading.local()
    get_attributes = s3._get_object_attributes
    append_parts = s3._append_object_parts

    def get_and_remember(bucket_name: str, key: str, headers: Any, query: dict[str, Any]) -> Any:
        asked.object = (bucket_name, key, s3._qp(query, "versionId", "") or None)
        return get_attributes(bucket_name, key, headers, query)

    def sum_up(algorithm: str, parts: list[dict[str, Any]]) -> None:
        body = s3._get_object_data(*asked.object) or b""
        offset = 0
        for part in parts:
            end = offset + part["Size"]
            part["checksum"] = s3._compute_s3_checksum(algorithm, body[offset:end])
            offset = end

    def append_with_checksums(root: Any, record: dict[str, Any], headers: dict[str, str]) -> None:
        append_parts(root, record, headers)
        algorithm = next(iter(record.get("checksums") or {}), None)
        if algorithm is None:
            return
        if any("checksum" not in part for part in record.get("parts") or ()):
            sum_up(algorithm, record["parts"])
        of_part = {str(part["PartNumber"]): part for part in record.get("parts") or ()}
        for element in root.iter("Part"):
            part = of_part[element.findtext("PartNumber")]
            s3.SubElement(element, f"Checksum{algorithm}").text = part["checksum"]

    s3._get_object_attributes = get_and_remember
    s3._append_object_parts = append_with_checksums


def notify_of_named_events() -> None:
    """Matches `s3:ObjectRemoved:*` with removals alone; MiniStack takes every `:*` for all events.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-event-types-and-destinations.html
    """
    if not hasattr(s3, "_event_matches"):
        raise PatchError("MiniStack's S3 has no _event_matches any more")

    def matches(event_name: str, patterns: list[str]) -> bool:
        return any(
            event_name.startswith(pattern[:-1]) if pattern.endswith(":*") else event_name == pattern
            for pattern in patterns
        )

    s3._event_matches = matches


def give_functions_the_key(access_key_id: str, secret_access_key: str) -> None:
    """Lets functions sign with the region's access key; MiniStack names the account's number as
    their key, with any secret."""

    def credentials(_config: dict[str, Any]) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": access_key_id,
            "AWS_SECRET_ACCESS_KEY": secret_access_key,
            "AWS_SESSION_TOKEN": "",
        }

    for module in (lambda_runtime, lambda_svc):
        if not hasattr(module, "execution_credentials"):
            raise PatchError(f"{module.__name__} has no execution_credentials any more")
        setattr(module, "execution_credentials", credentials)  # noqa: B010


# EventBridge Scheduler agrees the number of the unit with its value:
# https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
_RATE = re.compile(r"rate\((1 (minute|hour|day)|(?!1 )[1-9]\d* (minutes|hours|days))\)")


def refuse_impossible_schedules() -> None:
    """Refuses a schedule at its creation, as EventBridge Scheduler does. MiniStack takes every
    text, and its ticker then fails for all schedules at the first that it cannot read."""
    next_fire = eventbridge._cron_next_fire

    def checked(write: Any) -> Any:
        def write_checked(name: str, body: dict[str, Any]) -> Any:
            expression = str(body.get("ScheduleExpression", ""))
            if expression and not _is_schedule(expression):
                return scheduler._error(
                    400, "ValidationException", f"Invalid Schedule Expression {expression}."
                )
            return write(name, body)

        return write_checked

    def next_fire_or_none(fields: Any, after: Any) -> Any:
        """For a schedule that was stored without this patch."""
        try:
            return next_fire(fields, after)
        except ValueError:
            return None

    scheduler._create_schedule = checked(scheduler._create_schedule)
    scheduler._update_schedule = checked(scheduler._update_schedule)
    eventbridge._cron_next_fire = next_fire_or_none


def _is_schedule(expression: str) -> bool:
    if expression.startswith("at("):
        return scheduler._at_time_epoch(expression) is not None
    if expression.startswith("rate("):
        return _RATE.fullmatch(expression) is not None
    fields = eventbridge._parse_cron_fields(expression)
    if fields is None:
        return False
    minutes, hours, days, months, weekdays, years, *_ = fields
    return (
        minutes <= frozenset(range(60))
        and hours <= frozenset(range(24))
        and days["days"] <= frozenset(range(1, 32))
        and months <= frozenset(range(1, 13))
        and weekdays["days"] <= frozenset(range(1, 8))
        and (years is None or years <= frozenset(range(1970, 2200)))
    )


def stop_workers() -> None:
    """Ends every Lambda worker and removes its folder; MiniStack leaves both behind when it
    ends."""
    lambda_runtime.reset()
