"""Reads the credentials of a private package index: from AWS Secrets Manager, or as a token of
CodeArtifact. They are the only secret."""

import json
import urllib.error
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from .aws_request import Request, RequestError, endpoint, send

_TARGET = "secretsmanager.GetSecretValue"
_TOKEN_SECONDS = 3600
"""Longer than any installation; CodeArtifact's least are 900."""


def read_secret(arn: str, environment: Mapping[str, str]) -> str:
    """The secret's text; raises RequestError."""
    parts = arn.split(":")
    if len(parts) < 7 or parts[2] != "secretsmanager":
        raise RequestError(f"{arn} is not the ARN of a secret")
    request = Request(
        "secretsmanager",
        parts[3],
        endpoint("secretsmanager", "SECRETS_MANAGER", parts[3], environment),
        body=json.dumps({"SecretId": arn}).encode(),
        headers={"content-type": "application/x-amz-json-1.1", "x-amz-target": _TARGET},
    )
    text = _answer(request, arn, environment).get("SecretString")
    if not isinstance(text, str):
        raise RequestError(f"{arn} holds no text")
    return text


def read_token(arn: str, environment: Mapping[str, str]) -> str:
    """A token of the CodeArtifact repository's domain; raises RequestError.

    https://docs.aws.amazon.com/codeartifact/latest/APIReference/API_GetAuthorizationToken.html
    """
    parts = arn.split(":")
    names = parts[-1].split("/")
    if len(parts) != 6 or parts[2] != "codeartifact" or len(names) != 3:
        raise RequestError(f"{arn} is not the ARN of a repository")
    domain, owner = quote(names[1], safe=""), quote(parts[4], safe="")
    request = Request(
        "codeartifact",
        parts[3],
        endpoint("codeartifact", "CODEARTIFACT", parts[3], environment),
        path="/v1/authorization-token",
        query=f"domain={domain}&domain-owner={owner}&duration={_TOKEN_SECONDS}",
    )
    token = _answer(request, arn, environment).get("authorizationToken")
    if not isinstance(token, str):
        raise RequestError(f"CodeArtifact gives no token for {arn}")
    return token


def _answer(asked: Request, arn: str, environment: Mapping[str, str]) -> dict[str, Any]:
    try:
        with send(asked, environment) as answer:
            return dict(json.loads(answer.read()))
    except urllib.error.HTTPError as error:
        reply = error.read().decode("utf-8", "replace")[:300]
        text = f"{asked.service} refuses {arn}: HTTP {error.code} {reply}"
        raise RequestError(text) from error
    except (OSError, ValueError) as error:
        text = f"{asked.service} at {asked.endpoint} does not answer: {error}"
        raise RequestError(text) from error
