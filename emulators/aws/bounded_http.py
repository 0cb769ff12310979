"""HTTP as uvicorn reads it, with what it does not bound: the length and the time of what a client
sends around bodies."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST_BYTES = 64 * 1024
"""Of a head, or of what follows a body, with what has come beside it at once."""
_HEAD_SECONDS = 30
_MOST_WAITING = 16
"""Requests that a client sends before it has the answer to the first. uvicorn reads on with each
answer, however many wait."""


class BoundedHttp(HttpToolsProtocol):
    _bytes = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._goes_on()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        super().data_received(data)
        if self._bytes > _MOST_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= _MOST_WAITING:
            # The parser stops, and uvicorn answers 400 and closes the connection.
            raise ValueError("too many requests wait for their answers")
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        self._goes_on()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._goes_on()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._goes_on()
        super().on_message_complete()

    def _await_head(self) -> None:
        self._goes_on()
        self._timer = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def _goes_on(self) -> None:
        self._bytes = 0
        if self._timer is not None:
            self._timer.cancel()
