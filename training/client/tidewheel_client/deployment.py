"""Finds the deployment to talk to: a stack in the account, or the local region of a folder."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from .http import TidewheelError

_STATE = ".tidewheel"
_USUAL_STAGE = "dev"
_LOCAL_REGION = "us-east-1"


class DeploymentError(TidewheelError):
    """No deployment was found. The message says what to start or to name."""


@dataclass(frozen=True)
class Deployment:
    """Where calls go, and who signs them."""

    title: str
    """How it is named to a person."""
    api_url: str
    """Without a slash at its end."""
    region: str
    session: boto3.Session | None
    """None: calls bear a token instead of a signature."""
    endpoint_url: str | None = None
    """Of a local region."""
    bucket: str = ""
    """Contains data and code. Empty if only a token is known."""
    token: str | None = field(default=None, repr=False)

    def credentials(self) -> Any:
        found = None if self.session is None else self.session.get_credentials()
        if found is None:
            raise DeploymentError(
                "there are no AWS credentials: run `aws sso login` or set AWS_PROFILE"
            )
        return found.get_frozen_credentials()

    def client(self, service: str) -> Any:
        """A boto3 client of the same account or local region. Raises DeploymentError."""
        if self.session is None:
            raise DeploymentError(
                f"{self.title} takes your token, but its {service} asks for AWS credentials: "
                'give stage="…" and region="…", and set AWS_PROFILE'
            )
        style = {"addressing_style": "path"} if self.endpoint_url else None
        return self.session.client(service, endpoint_url=self.endpoint_url, config=Config(s3=style))


def find_deployment(
    *,
    stage: str | None = None,
    region: str | None = None,
    state: str | Path | None = None,
    session: boto3.Session | None = None,
) -> Deployment:
    """The deployment that the arguments name, else the one that takes the token in the environment
    (TIDEWHEEL_API_URL, TIDEWHEEL_TOKEN), else the local region of this folder or of one above it,
    else the stack `tidewheel-dev` of the account.

    Raises DeploymentError.
    """
    if not (stage or region or session or state):
        with_token = _with_token(os.environ)
        if with_token is not None:
            return with_token
    named = stage or region or session or os.environ.get("AWS_ENDPOINT_URL")
    folder = Path(state) if state is not None else None if named else _state_above(Path.cwd())
    if folder is not None:
        return _local(folder)
    stage = stage or os.environ.get("TIDEWHEEL_STAGE") or _USUAL_STAGE
    session = session or boto3.Session(region_name=region)
    if session.region_name is None:
        raise DeploymentError('no AWS region is set: give region="us-east-1", or set AWS_REGION')
    stack = f"tidewheel-{stage}"
    title = f"stack {stack} in {session.region_name}"
    return _deployment(title, stack, session, os.environ.get("AWS_ENDPOINT_URL"))


def _with_token(environment: Mapping[str, str]) -> Deployment | None:
    url = environment.get("TIDEWHEEL_API_URL", "").rstrip("/")
    token = environment.get("TIDEWHEEL_TOKEN", "")
    if not url and not token:
        return None
    if not url or not token:
        raise DeploymentError("set both TIDEWHEEL_API_URL and TIDEWHEEL_TOKEN, or neither")
    if not url.startswith(("https://", "http://127.0.0.1:")):
        raise DeploymentError(
            f"TIDEWHEEL_API_URL is {url}: write https://, so that the token stays secret"
        )
    title = f"the deployment at {url}"
    return Deployment(title=title, api_url=url, region="", session=None, token=token)


def _state_above(folder: Path) -> Path | None:
    for each in (folder, *folder.parents):
        if (each / _STATE / "access-key.json").is_file():
            return each / _STATE
    return None


def _local(state: Path) -> Deployment:
    try:
        key = json.loads((state / "access-key.json").read_text(encoding="utf-8"))
        ports = json.loads((state / "ports.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DeploymentError(
            f"there is no local region in {state}: start it with `npm start`"
        ) from error
    session = boto3.Session(
        aws_access_key_id=key["accessKeyId"],
        aws_secret_access_key=key["secretAccessKey"],
        region_name=_LOCAL_REGION,
    )
    return _deployment(
        f"the local region in {state}",
        f"tidewheel-{_USUAL_STAGE}",
        session,
        f"http://127.0.0.1:{ports['aws']}",
    )


def _deployment(
    title: str, stack: str, session: boto3.Session, endpoint_url: str | None
) -> Deployment:
    cloud_formation = session.client("cloudformation", endpoint_url=endpoint_url)
    try:
        stacks = cloud_formation.describe_stacks(StackName=stack)["Stacks"]
    except (BotoCoreError, ClientError) as error:
        remedy = "start it with `npm start`" if endpoint_url else "name another stage or region"
        raise DeploymentError(f"{title} cannot be read ({error}): {remedy}") from error
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stacks[0].get("Outputs", [])}
    if "ApiUrl" not in outputs:
        raise DeploymentError(f"{title} is not deployed yet: wait until it is up")
    return Deployment(
        title=title,
        api_url=outputs["ApiUrl"].rstrip("/"),
        region=str(session.region_name),
        session=session,
        endpoint_url=endpoint_url,
        bucket=outputs.get("DataBucketName", ""),
    )
