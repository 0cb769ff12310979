"""Reads the credentials of a private package index with those of the container or the host: from
AWS Secrets Manager, or as a token of CodeArtifact.

They are the only secret. The agent signs the request itself, so that images need no AWS SDK:
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
"""

from __future__ import annotations

import hashlib
import hmac
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote, urlsplit

_METADATA = "http://169.254.169.254"
_CONTAINER = "http://169.254.170.2"
_TIMEOUT_SECONDS = 10.0
_TARGET = "secretsmanager.GetSecretValue"
_TOKEN_SECONDS = 3600
"""Longer than any installation; CodeArtifact's least are 900."""


class SecretError(Exception):
    """The secret cannot be read; the message says why and never holds the secret."""


@dataclass(frozen=True, repr=False)
class Credentials:
    key: str
    secret: str
    token: str


@dataclass(frozen=True)
class Request:
    """A signed POST. `query`: as it is sent, in the order of the names."""

    service: str
    region: str
    endpoint: str
    path: str = "/"
    query: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def read_secret(arn: str, environment: Mapping[str, str]) -> str:
    """The secret's text; raises SecretError."""
    parts = arn.split(":")
    if len(parts) < 7 or parts[2] != "secretsmanager":
        raise SecretError(f"{arn} is not the ARN of a secret")
    request = Request(
        "secretsmanager",
        parts[3],
        _endpoint("secretsmanager", "SECRETS_MANAGER", parts[3], environment),
        body=json.dumps({"SecretId": arn}).encode(),
        headers={"content-type": "application/x-amz-json-1.1", "x-amz-target": _TARGET},
    )
    text = _answer(request, arn, environment).get("SecretString")
    if not isinstance(text, str):
        raise SecretError(f"{arn} holds no text")
    return text


def read_token(arn: str, environment: Mapping[str, str]) -> str:
    """A token of the CodeArtifact repository's domain; raises SecretError.

    https://docs.aws.amazon.com/codeartifact/latest/APIReference/API_GetAuthorizationToken.html
    """
    parts = arn.split(":")
    names = parts[-1].split("/")
    if len(parts) != 6 or parts[2] != "codeartifact" or len(names) != 3:
        raise SecretError(f"{arn} is not the ARN of a repository")
    domain, owner = quote(names[1], safe=""), quote(parts[4], safe="")
    request = Request(
        "codeartifact",
        parts[3],
        _endpoint("codeartifact", "CODEARTIFACT", parts[3], environment),
        path="/v1/authorization-token",
        query=f"domain={domain}&domain-owner={owner}&duration={_TOKEN_SECONDS}",
    )
    token = _answer(request, arn, environment).get("authorizationToken")
    if not isinstance(token, str):
        raise SecretError(f"CodeArtifact gives no token for {arn}")
    return token


def _endpoint(service: str, variable: str, region: str, environment: Mapping[str, str]) -> str:
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return (
        environment.get(f"AWS_ENDPOINT_URL_{variable}")
        or environment.get("AWS_ENDPOINT_URL")
        or f"https://{service}.{region}.{suffix}"
    ).rstrip("/")


def _answer(asked: Request, arn: str, environment: Mapping[str, str]) -> dict[str, Any]:
    headers = signed_headers(asked, find_credentials(environment), datetime.now(timezone.utc))
    url = f"{asked.endpoint}{asked.path}{'?' if asked.query else ''}{asked.query}"
    request = urllib.request.Request(url, data=asked.body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            return dict(json.loads(answer.read()))
    except urllib.error.HTTPError as error:
        reply = error.read().decode("utf-8", "replace")[:300]
        text = f"{asked.service} refuses {arn}: HTTP {error.code} {reply}"
        raise SecretError(text) from error
    except (OSError, ValueError) as error:
        text = f"{asked.service} at {asked.endpoint} does not answer: {error}"
        raise SecretError(text) from error


def find_credentials(environment: Mapping[str, str]) -> Credentials:
    """From the environment, the container (SageMaker) or the host's role (EC2)."""
    key = environment.get("AWS_ACCESS_KEY_ID")
    if key:
        token = environment.get("AWS_SESSION_TOKEN", "")
        return Credentials(key, environment.get("AWS_SECRET_ACCESS_KEY", ""), token)
    relative = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    full = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
    try:
        if relative or full:
            bearer = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
            headers = {"Authorization": bearer} if bearer else {}
            return _parsed(_get(f"{_CONTAINER}{relative}" if relative else full or "", headers))
        ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        token = _get(f"{_METADATA}/latest/api/token", ttl, "PUT")
        roles = f"{_METADATA}/latest/meta-data/iam/security-credentials/"
        with_token = {"X-aws-ec2-metadata-token": token}
        return _parsed(_get(roles + _get(roles, with_token).split("\n")[0], with_token))
    except (OSError, ValueError, KeyError) as error:
        raise SecretError(f"there are no AWS credentials here: {error!r}") from error


def _get(url: str, headers: Mapping[str, str], method: str = "GET") -> str:
    request = urllib.request.Request(url, headers=dict(headers), method=method)
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
        return str(answer.read().decode())


def _parsed(text: str) -> Credentials:
    reply = json.loads(text)
    return Credentials(reply["AccessKeyId"], reply["SecretAccessKey"], reply.get("Token", ""))


def signed_headers(request: Request, credentials: Credentials, now: datetime) -> dict[str, str]:
    """The headers of a signed POST. Pure."""
    time = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {
        **request.headers,
        "host": urlsplit(request.endpoint).netloc,
        "x-amz-date": time,
        **({"x-amz-security-token": credentials.token} if credentials.token else {}),
    }
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    hashed = hashlib.sha256(request.body).hexdigest()
    canonical = f"POST\n{request.path}\n{request.query}\n{lines}\n{names}\n{hashed}"
    scope = f"{time[:8]}/{request.region}/{request.service}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{credentials.secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}"
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return {
        **{name: value for name, value in headers.items() if name != "host"},
        "Authorization": (
            f"AWS4-HMAC-SHA256 Credential={credentials.key}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}"
        ),
    }
