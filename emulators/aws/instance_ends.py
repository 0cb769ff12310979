"""Why an instance was terminated, and that for an hour, as EC2 tells it.

MiniStack's instances have no StateReason, and it forgets them a minute after their end.
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html
"""

import time
from typing import Any

from ministack.services import ec2
from patches import PatchError

PARAMETER = "TidewheelStateReason"
"""Of TerminateInstances: the code, where no caller ends the instance. The local EC2 sends it."""

NO_REASON = "none"
"""AWS documents no code for a machine that fails."""
CALLER_ENDED_IT = "Client.UserInitiatedShutdown"
MESSAGES = {
    CALLER_ENDED_IT: "User initiated shutdown",
    "Client.InstanceInitiatedShutdown": "Instance initiated shutdown",
    "Server.InsufficientInstanceCapacity": "Insufficient capacity to satisfy instance request",
    "Server.InternalError": "Internal error on launch",
    "Server.SpotInstanceTermination": "Spot instance termination",
}
"""The words after the code are no part of EC2's contract."""

_REMEMBERED_SECONDS = 3_600
"""About an hour:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/terminating-instances.html"""
_MINISTACK_REMEMBERS_SECONDS = 60
_END = "<amiLaunchIndex>"


def install() -> None:
    terminate = ec2._terminate_instances
    describe = ec2._instance_xml

    def terminate_with_reason(parameters: dict[str, Any]) -> Any:
        code = _first(parameters.get(PARAMETER, CALLER_ENDED_IT))
        if code != NO_REASON and code not in MESSAGES:
            return ec2._error("InvalidParameterValue", f"{PARAMETER} is none of EC2's codes", 400)
        ids = ec2._parse_member_list(parameters, "InstanceId")
        ending = [one for one in map(ec2._instances.get, ids) if one and not _is_terminated(one)]
        answer = terminate(parameters)
        for instance in filter(_is_terminated, ending):
            instance["_state_reason"] = code
            # MiniStack counts its minute from here.
            instance["_terminated_at"] = (
                time.time() + _REMEMBERED_SECONDS - _MINISTACK_REMEMBERS_SECONDS
            )
        return answer

    def describe_with_reason(instance: dict[str, Any]) -> str:
        xml: str = describe(instance)
        code = instance.get("_state_reason")
        if code not in MESSAGES:
            return xml
        if _END not in xml:
            raise PatchError(f"MiniStack's instances changed: {_END} is not in them")
        message = f"{code}: {MESSAGES[code]}"
        reason = f"<stateReason><code>{code}</code><message>{message}</message></stateReason>"
        return xml.replace(_END, reason + _END)

    ec2._terminate_instances = terminate_with_reason
    ec2._ACTION_MAP["TerminateInstances"] = terminate_with_reason
    ec2._instance_xml = describe_with_reason


def _is_terminated(instance: dict[str, Any]) -> bool:
    return bool(instance["State"]["Name"] == "terminated")


def _first(value: Any) -> str:
    return str(value[0] if isinstance(value, list) else value)
