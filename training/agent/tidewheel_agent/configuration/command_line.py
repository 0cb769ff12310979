"""The command line of a rank. Arguments are a list, never shell text."""

import sys
from collections.abc import Mapping, Sequence

from .job import Job
from .placeholders import Argument, UnknownPlaceholderError, expand_arguments
from .settings import ConfigurationError, Json


def script_command(job: Job) -> list[str]:
    """The declared command, or the script, run by the agent's own interpreter.

    Raises ConfigurationError.
    """
    if job.script.command:
        return [*_command(job), *declared_arguments(job)]
    return [sys.executable, "-u", *script_with_arguments(job)]


def script_with_arguments(job: Job) -> list[str]:
    # A relative path would be looked for in the working directory.
    program = str(job.code_dir / job.program) if job.script.working_directory else job.program
    return [program, *declared_arguments(job)]


def declared_arguments(job: Job) -> list[str]:
    """The declared arguments, else the hyperparameters; nothing after a command without any."""
    if job.script.arguments is None:
        return [] if job.script.command else script_arguments(job.hyperparameters)
    return _expanded(job, job.script.arguments)


def _command(job: Job) -> list[str]:
    program, *rest = _expanded(job, job.script.command)
    if program in ("python", "python3"):
        return [sys.executable, "-u", *rest]
    return [program, *rest]


def _expanded(job: Job, arguments: Sequence[Argument]) -> list[str]:
    try:
        hyperparameters = script_arguments(job.hyperparameters)
        return expand_arguments(arguments, job.paths, hyperparameters, job.newest_checkpoints)
    except UnknownPlaceholderError as error:
        raise ConfigurationError(f"training.arguments or training.command: {error}") from error


def script_arguments(hyperparameters: Mapping[str, Json]) -> list[str]:
    """As SageMaker's toolkit (`mapping.py`) passes them.

    `--name value` sorted by name, `-n value` for one letter; booleans as True and False.
    """
    arguments: list[str] = []
    for name in sorted(hyperparameters):
        if name:
            arguments += [f"--{name}" if len(name) > 1 else f"-{name}"]
        arguments.append(_argument(hyperparameters[name]))
    return arguments


def _argument(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in sorted(value.items()))
    return str(value)
