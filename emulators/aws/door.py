"""Stands in front of MiniStack: programs on this machine that hold the region's key come in, web
pages and programs of other regions do not.

MiniStack sends `Access-Control-Allow-Origin: *` with every answer, allows every preflight, and
answers under every host name, so any page open in a browser of this machine could write an object
or run code. emulators/access does the same for the servers beside it.
"""

import asyncio
import contextlib
import re
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

from asgi import Message, Receive, Scope, Send, answer, drop_rest
from http_api import takes_tokens
from ministack.core.iam_actions import access_denied_response
from ministack.core.responses import fix_error_content_type
from ministack.core.router import detect_service
from ministack.core.sigv4 import decode_header_value
from signatures import Refusal, Request, is_form, is_unsigned, refusal_of, unverified_bytes

_LOCAL_HOST = re.compile(
    r"(localhost|127(\.\d{1,3}){3}|\[::1\]|([a-z0-9_-]+\.)+localhost)(:\d+)?", re.IGNORECASE
)
_FROM_A_PAGE = "The local region answers programs on this machine, not web pages of other origins."
_MOST_OPEN_BYTES = 10 * 1024**2
"""As API Gateway takes them."""
_MOST_HELD_BYTES = 64 * 1024**2
"""Of all open bodies together."""
_BODY_SECONDS = 60
_TOO_LARGE = "The body is larger than the local region holds before it knows its sender."
_OTHER_HOST = "The local region answers at 127.0.0.1 and localhost, under no other name."


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


# A person comes back from the issuer of an API's tokens. Routes without an authorizer answer them.
_VISIT = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}

_API = re.compile(r"/_aws/execute-api/([^/]+)/.*")
"""An API's address. The form with a host stays closed: MiniStack looks for its own paths, such as
`/_ministack/reset`, before it looks for an API's host."""

_OPEN = re.compile(
    # For the start, the owner of a virtual clock, and the screen: none has anything secret.
    r"GET /_ministack/ready|GET /_tidewheel/(clock|limits)"
    # Their tokens are secrets: on AWS these are presigned addresses.
    r"|PUT /_ministack/cfn-(response|signal)/[^/]+"
)


class Door:
    def __init__(self, app: Any) -> None:
        self._app = app
        self._held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        request = _request_of(scope)
        page = _refusal_of_page(request, scope["scheme"])
        if page is not None:
            await _refuse(scope, receive, send, _plain(page))
            return
        if _is_open(request):
            await self._answer_open(scope, receive, send)
            return
        refusal = refusal_of(request)
        most_bytes = unverified_bytes(request)
        if refusal is None and most_bytes > 0 and scope["type"] == "http":
            body, is_whole, receive = await _read(receive, lambda size: size <= most_bytes)
            if not is_whole and not is_form(request):
                await _refuse(scope, receive, send, _plain(_TOO_LARGE, 413))
                return
            refusal = refusal_of(request, body)
        if refusal is not None:
            await _refuse(scope, receive, send, _as_the_service_says(refusal, request))
            return
        await self._app(scope, receive, _without_cors(send))

    async def _answer_open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Anyone may send these, so they share a bounded memory."""
        held = 0

        def fits(size: int) -> bool:
            nonlocal held
            self._held_bytes += size - held
            held = size
            return size <= _MOST_OPEN_BYTES and self._held_bytes <= _MOST_HELD_BYTES

        is_whole = False
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_BODY_SECONDS):
                    _, is_whole, receive = await _read(receive, fits)
            if is_whole:
                await self._app(scope, receive, _without_cors(send))
            else:
                await _refuse(scope, receive, send, _plain(_TOO_LARGE, 413))
        finally:
            self._held_bytes -= held


def _request_of(scope: Scope) -> Request:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), decode_header_value(value)
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return Request(
        scope.get("method", "GET"),
        scope["raw_path"].decode("latin-1"),
        scope["query_string"].decode("latin-1"),
        headers,
    )


def _refusal_of_page(request: Request, scheme: str) -> str | None:
    host = request.headers.get("host", "")
    if not _LOCAL_HOST.fullmatch(host):
        return _OTHER_HOST
    own = f"{scheme.replace('ws', 'http')}://{host}"
    is_foreign = request.headers.get("origin", own) != own
    is_own = request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    return None if not is_foreign and (is_own or _is_visit(request)) else _FROM_A_PAGE


def _is_visit(request: Request) -> bool:
    """Whether a browser shows what an API answers, to its user and to no page: the page that a link
    or a redirect leads to. It carries neither a signature nor a token."""
    return (
        request.method == "GET"
        and all(request.headers.get(name) == value for name, value in _VISIT.items())
        and _API.fullmatch(request.raw_path) is not None
    )


def _is_open(request: Request) -> bool:
    """What AWS answers without a signature. An API's own routes say themselves what they ask for;
    MiniStack takes any authorization there, so a signature that is given is verified here. A token
    is verified by MiniStack, on routes that take tokens."""
    if _OPEN.fullmatch(f"{request.method} {request.raw_path}"):
        return True
    called = _API.fullmatch(request.raw_path)
    if called is None:
        return False
    is_token = request.headers.get("authorization", "").startswith("Bearer ")
    return is_unsigned(request) or (is_token and takes_tokens(called[1]))


async def _read(receive: Receive, fits: Callable[[int], bool]) -> tuple[bytes, bool, Receive]:
    """The body, or a few bytes more than fit, whether that is all, and a `receive` that begins with
    it."""
    messages = [await receive()]
    size = len(messages[-1].get("body", b""))
    while fits(size) and messages[-1].get("more_body"):
        messages.append(await receive())
        size += len(messages[-1].get("body", b""))
    is_whole = fits(size) and not messages[-1].get("more_body")
    waiting = iter(messages)

    async def again() -> Message:
        message = next(waiting, None)
        return message if message is not None else await receive()

    return b"".join(message.get("body", b"") for message in messages), is_whole, again


async def _refuse(scope: Scope, receive: Receive, send: Send, refusal: Answer) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_BODY_SECONDS):
            await drop_rest(receive)
    await answer(send, *refusal)


def _plain(sentence: str, status: int = 403) -> Answer:
    return Answer(status, {"Content-Type": "text/plain; charset=utf-8"}, f"{sentence}\n".encode())


def _as_the_service_says(refusal: Refusal, request: Request) -> Answer:
    query = parse_qs(request.query_string, keep_blank_values=True)
    headers = dict(request.headers)
    service = detect_service(request.method, unquote(request.raw_path), headers, query)
    request_id = str(uuid.uuid4())
    status, answered, body = access_denied_response(
        service,
        "",
        "",
        request_id,
        error_code=refusal.code,
        message=refusal.message,
        headers=headers,
    )
    fix_error_content_type(service, status, answered)
    return Answer(status, {**answered, "x-amzn-requestid": request_id}, body)


def _without_cors(send: Send) -> Send:
    async def send_without(message: Message) -> None:
        if "headers" in message:
            kept = [
                (name, value)
                for name, value in message["headers"]
                if not name.lower().startswith(b"access-control-")
            ]
            message = {**message, "headers": kept}
        await send(message)

    return send_without
