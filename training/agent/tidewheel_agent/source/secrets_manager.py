"""Reads one secret from AWS Secrets Manager with the credentials of the container or the host.

The credentials of a private package index are the only secret. The agent signs the request itself,
so that images need no AWS SDK: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
"""

from __future__ import annotations

import hashlib
import hmac
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from urllib.parse import urlsplit

_METADATA = "http://169.254.169.254"
_CONTAINER = "http://169.254.170.2"
_TIMEOUT_SECONDS = 10.0
_TARGET = "secretsmanager.GetSecretValue"


class SecretError(Exception):
    """The secret cannot be read; the message says why and never holds the secret."""


@dataclass(frozen=True, repr=False)
class Credentials:
    key: str
    secret: str
    token: str


def read_secret(arn: str, environment: Mapping[str, str]) -> str:
    """The secret's text; raises SecretError."""
    parts = arn.split(":")
    if len(parts) < 7 or parts[2] != "secretsmanager":
        raise SecretError(f"{arn} is not the ARN of a secret")
    region = parts[3]
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    endpoint = (
        environment.get("AWS_ENDPOINT_URL_SECRETS_MANAGER")
        or environment.get("AWS_ENDPOINT_URL")
        or f"https://secretsmanager.{region}.{suffix}"
    ).rstrip("/")
    body = json.dumps({"SecretId": arn}).encode()
    headers = signed_headers(
        endpoint, body, region, find_credentials(environment), datetime.now(timezone.utc)
    )
    request = urllib.request.Request(f"{endpoint}/", data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            text = json.loads(answer.read()).get("SecretString")
    except urllib.error.HTTPError as error:
        reply = error.read().decode("utf-8", "replace")[:300]
        raise SecretError(f"Secrets Manager refuses {arn}: HTTP {error.code} {reply}") from error
    except (OSError, ValueError) as error:
        raise SecretError(f"Secrets Manager at {endpoint} does not answer: {error}") from error
    if not isinstance(text, str):
        raise SecretError(f"{arn} holds no text")
    return text


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


def signed_headers(
    endpoint: str, body: bytes, region: str, credentials: Credentials, now: datetime
) -> dict[str, str]:
    """The headers of a signed POST to `/` of Secrets Manager. Pure."""
    time = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "host": urlsplit(endpoint).netloc,
        "x-amz-date": time,
        "x-amz-target": _TARGET,
        **({"x-amz-security-token": credentials.token} if credentials.token else {}),
    }
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    hashed = hashlib.sha256(body).hexdigest()
    canonical = f"POST\n/\n\n{lines}\n{names}\n{hashed}"
    scope = f"{time[:8]}/{region}/secretsmanager/aws4_request"
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
