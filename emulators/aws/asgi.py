"""What the parts in front of MiniStack receive and send, in the words of ASGI."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def whole_body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    message: Message = {"type": "http.request", "more_body": True}
    while message["type"] == "http.request" and message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
    return b"".join(parts)


async def drop_rest(receive: Receive) -> None:
    """Reads the request to its end, so that the answer reaches a client that is still sending."""
    message = await receive()
    while message["type"] == "http.request" and message.get("more_body"):
        message = await receive()


async def answer(send: Send, status: int, headers: Mapping[str, str], body: bytes) -> None:
    lowered = {name.lower(): text for name, text in headers.items()}
    lowered["content-length"] = str(len(body))
    encoded = [(name.encode(), text.encode()) for name, text in lowered.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
