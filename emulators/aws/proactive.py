"""Initialises functions before their first invocation, as Lambda does ahead of expected traffic:
https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html (proactive
initialization)

A state machine that waits before its first Tasks would else start one cold function after the
other.
"""

import contextvars
import logging
import threading
from collections.abc import Iterable
from typing import Any

from ministack.core import lambda_runtime
from ministack.services import lambda_svc, stepfunctions

logger = logging.getLogger("lambda")


def initialise_when_an_execution_starts(names: Iterable[str]) -> None:
    """`names`: what the functions' names end with, in the order in which they will be needed."""
    endings = tuple(f"-{name}" for name in names)
    start = stepfunctions._start_execution

    def start_and_initialise(data: dict[str, Any]) -> Any:
        answer = start(data)
        if answer[0] == 200:
            context = contextvars.copy_context()
            threading.Thread(target=context.run, args=(_initialise, endings), daemon=True).start()
        return answer

    stepfunctions._start_execution = start_and_initialise


def _initialise(endings: tuple[str, ...]) -> None:
    functions = dict(lambda_svc._functions.items())
    for ending in endings:
        for name, function in functions.items():
            if name.endswith(ending):
                _initialise_one(name, function)


def _initialise_one(name: str, function: dict[str, Any]) -> None:
    config, code = function.get("config") or function, function.get("code_zip")
    qualifier = config.get("Version", "$LATEST")
    if not code or lambda_runtime._workers.get(lambda_runtime._worker_key(name, config, qualifier)):
        return
    worker, _how = lambda_runtime.acquire_worker(name, config, code, qualifier=qualifier)
    # Before it is up: an invocation that comes meanwhile waits for this environment and takes it.
    lambda_runtime.release_worker(worker)
    try:
        lambda_runtime.ensure_spawned(worker)
    except Exception as error:  # The first invocation meets the same error, and reports it.
        logger.warning("Lambda %s: not initialised: %s", name, error)
