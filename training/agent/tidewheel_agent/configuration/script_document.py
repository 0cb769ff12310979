"""What the pipeline declares of its script: command line, variables, folder, checkpoints.

The service sends one JSON document (functions/launch/job/hyperparameters.ts) in the
hyperparameters `tidewheel_script`, `tidewheel_script_2` and so on.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from ..declared_pattern import DeclaredPattern
from .placeholders import Argument
from .settings import CheckpointRules, Json

_NAME = "tidewheel_script"
_CHECKPOINTS = "${checkpoints}"


@dataclass(frozen=True)
class Evaluation:
    """A script that scores the model when training has ended."""

    program: str
    arguments: tuple[Argument, ...]
    maximum_seconds: float
    """For all models together."""
    current_digest: str | None = None
    """SHA-256 of the model in use, where it is to be scored, too."""
    is_alone: bool = False
    """Nothing trains: the model is the one of the channel, if there is one to be scored."""


@dataclass(frozen=True)
class ScriptDocument:
    """Empty for a job that the declaration says nothing of."""

    command: tuple[Argument, ...] = ()
    """Starts the script instead of this Python; the first is a program."""
    arguments: tuple[Argument, ...] | None = None
    """Instead of the hyperparameters."""
    environment: dict[str, str] = field(default_factory=dict)
    working_directory: str = ""
    """Below the source, or `${checkpoints}`."""
    checkpoint: CheckpointRules | None = None
    checkpoint_link: str | None = None
    """A folder, below the working directory, that leads to the folder of `checkpoint`."""

    instrument: bool = True
    """Hooks measure where the script's time goes."""
    most_steps: int | None = None
    """The script is ended after so many, and counts as finished."""
    evaluation: Evaluation | None = None

    @property
    def runs_in_checkpoints(self) -> bool:
        return self.working_directory == _CHECKPOINTS


def read_script(
    agent_parameters: dict[str, Json], checkpoint_dir: Path | None, problems: list[str]
) -> ScriptDocument:
    text = _joined(agent_parameters)
    if not text:
        return ScriptDocument()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        problems.append(f"hyperparameter {_NAME} cannot be read as JSON ({error})")
        return ScriptDocument()
    if not isinstance(document, dict):
        problems.append(f"hyperparameter {_NAME}: expected an object")
        return ScriptDocument()
    arguments, steps = document.get("arguments"), document.get("steps")
    checkpoint, link = _checkpoint(document.get("checkpoint"), checkpoint_dir, problems)
    return ScriptDocument(
        command=_arguments(document.get("command"), "command", problems),
        arguments=None if arguments is None else _arguments(arguments, "arguments", problems),
        environment=_environment(document.get("environment"), problems),
        working_directory=_folder(document.get("workingDirectory"), problems),
        checkpoint=checkpoint,
        checkpoint_link=link,
        instrument=document.get("instrument") is not False,
        most_steps=steps if isinstance(steps, int) and steps > 0 else None,
        evaluation=_evaluation(document.get("evaluation"), problems),
    )


def _joined(agent_parameters: dict[str, Json]) -> str:
    pieces: list[str] = []
    name = _NAME
    while isinstance(piece := agent_parameters.get(name), str):
        pieces.append(piece)
        name = f"{_NAME}_{len(pieces) + 1}"
    return "".join(pieces)


def _arguments(value: object, where: str, problems: list[str]) -> tuple[Argument, ...]:
    arguments: list[Argument] = []
    for item in value if isinstance(value, list) else []:
        parts = item if isinstance(item, list) else [item]
        if all(isinstance(part, str) for part in parts):
            arguments.append(item)
        else:
            problems.append(f"training.{where} holds {item!r}: expected a text or a list of texts")
    return tuple(arguments)


def _evaluation(value: object, problems: list[str]) -> Evaluation | None:
    if not isinstance(value, dict):
        return None
    program, digest = value.get("entryPoint"), value.get("current")
    seconds = value.get("maximumSeconds")
    if not isinstance(program, str) or not isinstance(seconds, (int, float)):
        problems.append(f"hyperparameter {_NAME}: evaluation lacks entryPoint or maximumSeconds")
        return None
    return Evaluation(
        program,
        _arguments(value.get("arguments"), "arguments", problems),
        float(seconds),
        digest if isinstance(digest, str) else None,
        value.get("isAlone") is True,
    )


def _environment(value: object, problems: list[str]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for name, text in value.items() if isinstance(value, dict) else ():
        if isinstance(text, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            variables[name] = text
        else:
            problems.append(f"training.environment.{name}: expected a name and a text")
    return variables


def _folder(value: object, problems: list[str]) -> str:
    if value is None:
        return ""
    if value == _CHECKPOINTS:
        return _CHECKPOINTS
    if isinstance(value, str) and not value.startswith("/") and ".." not in value.split("/"):
        return value
    problems.append(f"training.workingDirectory: {value!r} is no folder of the source")
    return ""


def _checkpoint(
    value: object, checkpoint_dir: Path | None, problems: list[str]
) -> tuple[CheckpointRules | None, str | None]:
    if value is None or checkpoint_dir is None:
        return None, None
    if value == "automatic":
        return CheckpointRules(folder=checkpoint_dir, automatic=True), None
    rules = value if isinstance(value, dict) else {}
    declared = rules.get("folder") or _CHECKPOINTS
    below = _folder(str(declared).removeprefix(_CHECKPOINTS).removeprefix("/"), problems)
    link = None if str(declared).startswith(_CHECKPOINTS) else below
    step = rules.get("step") or "name"
    expression = None if step in ("name", "time") else _expression(str(step), problems)
    keep = rules.get("keep")
    return CheckpointRules(
        folder=checkpoint_dir / below,
        pattern=rules.get("pattern"),
        step=expression,
        step_by="time" if step == "time" else "name",
        keep=keep if isinstance(keep, int) and keep > 1 else None,
    ), link


def _expression(text: str, problems: list[str]) -> DeclaredPattern | None:
    try:
        expression = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        problems.append(f"training.checkpoint.step: {error}")
        return None
    if expression.groups != 1:
        problems.append("training.checkpoint.step: put the step into the one group that it has")
    return DeclaredPattern("training.checkpoint.step", text)
