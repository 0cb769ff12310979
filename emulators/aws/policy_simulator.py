"""Two things that MiniStack's policy simulator lacks. It ignores `ContextEntries`, so a right with
a condition on the request, such as one on a permissions boundary, always looks denied. And it
answers for a role that does not exist."""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import count
from typing import Any

from ministack.core import iam_evaluator
from ministack.services import iam

Parameters = dict[str, Any]

_entries: ContextVar[dict[str, Any]] = ContextVar("context_entries")


def install() -> None:
    evaluate = iam_evaluator.evaluate

    def evaluate_with_entries(context: Any, *policies: Any) -> Any:
        context.service_context.update(_entries.get({}))
        return evaluate(context, *policies)

    iam_evaluator.evaluate = evaluate_with_entries
    for action in ("SimulatePrincipalPolicy", "SimulateCustomPolicy"):
        iam._IAM_HANDLERS[action] = _reading_entries(iam._IAM_HANDLERS[action])


def _reading_entries(simulate: Callable[[Parameters], Any]) -> Callable[[Parameters], Any]:
    def simulate_with_entries(parameters: Parameters) -> Any:
        principal = iam._p(parameters, "PolicySourceArn")
        if _is_missing_role(principal):
            return iam._error(404, "NoSuchEntity", f"{principal} does not exist.", ns="iam")
        token = _entries.set(dict(_entries_of(parameters)))
        try:
            return simulate(parameters)
        finally:
            _entries.reset(token)

    return simulate_with_entries


def _is_missing_role(arn: str) -> bool:
    kind, _, name = arn.rpartition(":")[2].partition("/")
    return kind == "role" and name.rpartition("/")[2] not in iam._roles


def _entries_of(parameters: Parameters) -> Iterator[tuple[str, Any]]:
    """Names of condition keys are not case-sensitive."""
    for number in count(1):
        entry = f"ContextEntries.member.{number}"
        name = iam._p(parameters, f"{entry}.ContextKeyName")
        if not name:
            return
        values = list(_values_of(parameters, f"{entry}.ContextKeyValues"))
        is_list = iam._p(parameters, f"{entry}.ContextKeyType").endswith("List")
        yield name.lower(), values if is_list or len(values) != 1 else values[0]


def _values_of(parameters: Parameters, member: str) -> Iterator[str]:
    for number in count(1):
        value = iam._p(parameters, f"{member}.member.{number}")
        if not value:
            return
        yield value
