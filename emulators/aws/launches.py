"""EC2's idempotency of launches by client token, the seconds until EC2 sees a new instance profile,
and gangs of one type. MiniStack ignores tokens, launches with a profile that does not exist, and
deals the hosts of a fleet round its types.

https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
"""

import re
import time
from datetime import datetime
from typing import Any

from ministack.services import ec2, iam

PROFILE_SECONDS = 5.0
"""AWS names no time; seconds are usual."""
_INVALID = (
    "Value ({0}) for parameter iamInstanceProfile.arn is invalid. Invalid IAM Instance Profile ARN"
)


def install() -> None:
    create_fleet = _of_one_type(ec2._ACTION_MAP["CreateFleet"])
    ec2._ACTION_MAP["CreateFleet"] = _refuse_new_profiles(create_fleet)
    for action in ("CreateFleet", "CreateLaunchTemplate"):
        ec2._ACTION_MAP[action] = _once_a_token(ec2._ACTION_MAP[action])


def _once_a_token(perform: Any) -> Any:
    """Only a request that succeeded uses up its token."""
    answered: dict[str, tuple[dict[str, Any], Any]] = {}

    def perform_once(parameters: dict[str, Any]) -> Any:
        token = ec2._p(parameters, "ClientToken")
        requested, answer = answered.get(token, (parameters, None))
        if requested != parameters:
            message = "The token was used with other parameters"
            return ec2._error("IdempotentParameterMismatch", message, 400)
        answer = answer or perform(parameters)
        if token and answer[0] == 200:
            answered[token] = (parameters, answer)
        return answer

    return perform_once


_FURTHER_TYPES = re.compile(r"LaunchTemplateConfigs\.\d+\.Overrides\.(?!1\.)")


def _of_one_type(create_fleet: Any) -> Any:
    """The first type, by priority as Tidewheel sends them, always has On-Demand capacity here."""

    def create(parameters: dict[str, Any]) -> Any:
        if ec2._p(parameters, "OnDemandOptions.SingleInstanceType") != "true":
            return create_fleet(parameters)
        first = {
            name: value for name, value in parameters.items() if not _FURTHER_TYPES.match(name)
        }
        return create_fleet(first)

    return create


def _refuse_new_profiles(create_fleet: Any) -> Any:
    """An instant fleet is answered with 200 and the reason why it has no instance."""

    def create_or_refuse(parameters: dict[str, Any]) -> Any:
        name = "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName"
        specification = {"LaunchTemplateName": ec2._p(parameters, name), "Version": "1"}
        template, _, _ = ec2._resolve_launch_template_data(specification)
        arn = (template or {}).get("IamInstanceProfile", {}).get("Arn", "")
        profile = iam._lookup_instance_profile(arn=arn)
        created = (profile or {}).get("CreateDate", "1970-01-01T00:00:00Z").replace("Z", "+00:00")
        if time.time() - datetime.fromisoformat(created).timestamp() >= PROFILE_SECONDS:
            return create_fleet(parameters)
        answer = (
            "<fleetId>fleet-0</fleetId><fleetInstanceSet/>"
            "<errorSet><item><errorCode>InvalidParameterValue</errorCode>"
            f"<errorMessage>{_INVALID.format(arn)}</errorMessage></item></errorSet>"
        )
        return ec2._xml(200, "CreateFleetResponse", answer)

    return create_or_refuse
