"""Signed requests to AWS with the credentials of the container or the host, so that images need no
AWS SDK: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
"""

import hashlib
import hmac
import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http.client import HTTPResponse
from typing import IO
from urllib.parse import urlsplit

_METADATA = "http://169.254.169.254"
_CONTAINER = "http://169.254.170.2"
_TIMEOUT_SECONDS = 10.0
_TIMEOUT_SECONDS_OF_FILES = 60.0


class RequestError(Exception):
    """AWS refuses or does not answer; the message says why and never holds a secret."""


@dataclass(frozen=True, repr=False)
class Credentials:
    key: str
    secret: str
    token: str


@dataclass(frozen=True)
class Request:
    """`query`: as it is sent, in the order of the names. `headers`: in small letters."""

    service: str
    region: str
    endpoint: str
    path: str = "/"
    query: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"


def endpoint(service: str, variable: str, region: str, environment: Mapping[str, str]) -> str:
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return (
        environment.get(f"AWS_ENDPOINT_URL_{variable}")
        or environment.get("AWS_ENDPOINT_URL")
        or f"https://{service}.{region}.{suffix}"
    ).rstrip("/")


def send(
    asked: Request, environment: Mapping[str, str], file: IO[bytes] | None = None
) -> HTTPResponse:
    """The answer, to be closed. Raises RequestError without credentials, HTTPError and OSError.

    `file` is sent in the body's place; headers have its length and SHA-256.
    """
    headers = signed_headers(asked, find_credentials(environment), datetime.now(timezone.utc))
    url = f"{asked.endpoint}{asked.path}{'?' if asked.query else ''}{asked.query}"
    body = file if file is not None else None if asked.method == "GET" else asked.body
    request = urllib.request.Request(url, data=body, headers=headers, method=asked.method)
    seconds = _TIMEOUT_SECONDS if file is None else _TIMEOUT_SECONDS_OF_FILES
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=seconds)
    return answer


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
        raise RequestError(f"there are no AWS credentials here: {error!r}") from error


def _get(url: str, headers: Mapping[str, str], method: str = "GET") -> str:
    request = urllib.request.Request(url, headers=dict(headers), method=method)
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
        return str(answer.read().decode())


def _parsed(text: str) -> Credentials:
    reply = json.loads(text)
    return Credentials(reply["AccessKeyId"], reply["SecretAccessKey"], reply.get("Token", ""))


def signed_headers(request: Request, credentials: Credentials, now: datetime) -> dict[str, str]:
    """The headers of a signed request. Pure."""
    time = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {
        **request.headers,
        "host": urlsplit(request.endpoint).netloc,
        "x-amz-date": time,
        **({"x-amz-security-token": credentials.token} if credentials.token else {}),
    }
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    hashed = headers.get("x-amz-content-sha256") or hashlib.sha256(request.body).hexdigest()
    canonical = f"{request.method}\n{request.path}\n{request.query}\n{lines}\n{names}\n{hashed}"
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
