"""Whether a request was signed with a key of this region: in its headers, in its query, or in the
form of an S3 upload, with Signature Version 4, or for S3 with Version 2, which boto3 still presigns
with.

MiniStack itself takes any key, and verifies presigned S3 requests only. The signature is verified
here, the time of signing is not: clients on a virtual clock sign with that clock's time.
"""

import base64
import hmac
import math
import os
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote

from ministack import app
from ministack.core import iam_evaluator, responses, router, sigv4
from ministack.services import s3

_SIGNING_PARAMETERS = frozenset(
    {"x-amz-algorithm", "x-amz-credential", "x-amz-signature", "awsaccesskeyid", "signature"}
)


class Request(NamedTuple):
    method: str
    raw_path: str
    """As it was sent, percent-encoded."""
    query_string: str
    headers: Mapping[str, str]
    """Names in small letters; the values of a repeated one are joined by a comma."""


class Refusal(NamedTuple):
    code: str
    """MiniStack's, which stands for the code that each service has for it."""
    message: str


_UNSIGNED = Refusal("MissingAuthenticationToken", "Request is missing Authentication Token")
_OTHER_SIGNATURE = Refusal("UnsupportedSignature", "Sign the request with AWS4-HMAC-SHA256.")
_VERSION_4 = "AWS4-HMAC-SHA256"
_UNKNOWN_KEY = Refusal(
    "UnrecognizedClientException", "The security token included in the request is invalid."
)
_MISMATCH = Refusal("SignatureDoesNotMatch", sigv4.SIGNATURE_MISMATCH)
_MOST_FIELDS_BYTES = 64 * 1024
"""Of a form, before its file. S3 takes 20 KB."""
_MOST_HASHED_BYTES = 80 * 1024**2
"""Lambda takes 50 MB of code, in base64."""
NOT_READ: Any = bytearray()
"""In place of a body, whose chunks are verified when it is there."""
_chunk_signatures_match = sigv4._chunk_signatures_match
sigv4._chunk_signatures_match = lambda body, *signed: (
    body is NOT_READ or _chunk_signatures_match(body, *signed)
)


def is_unsigned(request: Request) -> bool:
    """Without any trace of a signature, valid or not, before its body."""
    query = parse_qs(request.query_string, keep_blank_values=True)
    return "authorization" not in request.headers and not any(
        name.lower() in _SIGNING_PARAMETERS for name in query
    )


def unverified_bytes(request: Request) -> float:
    """How much of the body may be held to verify the signature; 0 where the headers suffice.

    A body in signed chunks may have any size: its headers are verified first.
    """
    if is_form(request):
        return _MOST_FIELDS_BYTES
    stated = request.headers.get("x-amz-content-sha256", "")
    if stated.startswith("STREAMING-AWS4-HMAC-SHA256"):
        return math.inf
    # An address is signed without the body, and so is all of S3 in Version 2.
    is_hashed = request.headers.get("authorization", "AWS ").startswith(_VERSION_4)
    return _MOST_HASHED_BYTES if is_hashed and stated == "" else 0


def refusal_of(request: Request, body: bytes = NOT_READ) -> Refusal | None:
    """Why AWS would not answer; None for what is signed with the region's key, or with a key that
    this region's IAM or STS gave out. Before the body is read, as far as the headers tell."""
    if is_unsigned(request):
        if not is_form(request):
            return _UNSIGNED
        return None if body is NOT_READ else _refusal_of_form(request, body)
    query = parse_qs(request.query_string, keep_blank_values=True)
    authorization = request.headers.get("authorization")
    if (authorization or "").startswith("AWS ") or (
        "AWSAccessKeyId" in query and not authorization
    ):
        return _refusal_of_version_2(request, query)
    if authorization is None:
        if query.get("X-Amz-Algorithm") != [_VERSION_4]:
            return _OTHER_SIGNATURE
        signature: Any = sigv4.parse_query_signature(query)
        token = query.get("X-Amz-Security-Token", [""])[0]
    else:
        if not authorization.startswith(f"{_VERSION_4} "):
            return _OTHER_SIGNATURE
        signature = sigv4.parse_header_signature(request.headers)
        token = request.headers.get("x-amz-security-token", "")
    if isinstance(signature, tuple):
        return Refusal(*signature)
    secret = _secret_of(signature.access_key_id, token)
    if isinstance(secret, Refusal):
        return secret
    if body is NOT_READ and unverified_bytes(request) == _MOST_HASHED_BYTES:
        return None
    return _mismatch(signature, secret, request, query, body)


def _is_nobodys(key_id: str) -> bool:
    """MiniStack takes `test`, and every number of an account, for an owner's key too."""
    return key_id != os.environ["AWS_ACCESS_KEY_ID"] and iam_evaluator.is_root_access_key(key_id)


def _secret_of(key_id: str, token: str) -> str | Refusal:
    if _is_nobodys(key_id):
        return _UNKNOWN_KEY
    account = responses._account_from_sts_session(
        key_id
    ) or iam_evaluator.find_iam_access_key_account(key_id)
    found = iam_evaluator.resolve_credential(key_id, account, token)
    if isinstance(found, iam_evaluator.CredentialResolutionError):
        return Refusal(found.code, found.message)
    secret: str = found.secret_access_key
    return secret


def _mismatch(
    signature: Any, secret: str, request: Request, query: dict[str, list[str]], body: bytes
) -> Refusal | None:
    # Most clients sign the path as they send it, some as S3 specifies it: decoded, encoded again.
    paths = {request.raw_path, quote(unquote(request.raw_path), safe="/-_.~")}
    failures = [
        sigv4.header_signature_failure(
            signature,
            secret,
            request.method,
            path,
            query,
            request.headers,
            body,
            presigned="authorization" not in request.headers,
        )
        for path in paths
    ]
    return None if None in failures else Refusal(*failures[0])


def _refusal_of_version_2(request: Request, query: dict[str, list[str]]) -> Refusal | None:
    """https://docs.aws.amazon.com/AmazonS3/latest/API/RESTAuthentication.html"""
    key_id = router.extract_access_key_id(dict(request.headers), query)
    if _is_nobodys(key_id):
        return _UNKNOWN_KEY
    bucket = app._extract_s3_vhost_bucket(request.headers.get("host", ""))
    signed = iam_evaluator.SignedRequest(
        key_id,
        request.method,
        request.raw_path,
        query,
        dict(request.headers),
        sigv2=True,
        auth_path=f"/{bucket}{request.raw_path}" if bucket else request.raw_path,
    )
    found = iam_evaluator._sigv2_check(signed, responses.get_account_id())
    return (
        Refusal(found.code, found.message) if isinstance(found, iam_evaluator.AuthError) else None
    )


def is_form(request: Request) -> bool:
    kind = request.headers.get("content-type", "")
    return request.method == "POST" and kind.lower().startswith("multipart/form-data")


def _refusal_of_form(request: Request, body: bytes) -> Refusal | None:
    """https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-authentication-HTTPPOST.html"""
    parts = s3._parse_multipart_form(request.headers["content-type"], body)
    fields = {name.lower(): value.decode("utf-8", "replace") for name, _, _, value in parts}
    policy = fields.get("policy", "")
    scope = fields.get("x-amz-credential", "").split("/")
    key_id = scope[0] if len(scope) == 5 else fields.get("awsaccesskeyid", "")
    if key_id == "" or policy == "":
        return _UNSIGNED
    secret = _secret_of(key_id, fields.get("x-amz-security-token", ""))
    if isinstance(secret, Refusal):
        return secret
    if len(scope) == 5:
        given = fields.get("x-amz-signature", "")
        computed = sigv4.calculate_signature(secret, *scope[1:4], policy)
    else:
        given = fields.get("signature", "")
        computed = base64.b64encode(hmac.digest(secret.encode(), policy.encode(), "sha1")).decode()
    return None if sigv4.signatures_match(computed, given) else _MISMATCH
