"""Gathers messages into batches as Lambda's pollers do: up to the mapping's BatchSize within its
batching window.

MiniStack hands a function ten messages at most, so a flood costs a hundred times the invocations.
"""

import time
from typing import Any

from ministack.services import lambda_svc, sqs

# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html (the payload, with room
# for what the event adds to each message)
_MOST_BYTES = 6_000_000
_BYTES_BESIDE_BODY = 600


def gather_batches(*, has_windows: bool) -> None:
    """`has_windows`: not by a virtual clock, which would leap over the end of a window."""

    def receive(queue_url: str, batch_size: int) -> list[dict[str, Any]]:
        with sqs._queues_lock:
            queue = sqs._get_q(queue_url)
            sqs._expire_retained(queue)
            sqs._dlq_sweep(queue)
            attributes = queue["attributes"]
            window = _window_seconds(attributes.get("QueueArn", "")) if has_windows else 0.0
            count = min(batch_size, 10) if queue["is_fifo"] else _count(queue, batch_size, window)
            visibility = int(attributes.get("VisibilityTimeout", "30"))
            received: list[dict[str, Any]] = sqs._collect_msgs(queue, count, visibility)
            return received

    sqs._receive_messages_for_esm = receive


def _count(queue: dict[str, Any], batch_size: int, window_seconds: float) -> int:
    """How many messages make the next batch; none while the batching window is open."""
    now = time.time()
    count, size, oldest = 0, 0, now
    for message in queue["messages"]:
        sqs._ensure_msg_fields(message)
        if message["visible_at"] > now:
            continue
        size += len(message["body"]) + _BYTES_BESIDE_BODY
        if count == batch_size or size > _MOST_BYTES:
            return count
        count += 1
        oldest = min(oldest, message["visible_at"])
    is_open = now - oldest < window_seconds
    return 0 if is_open and count < batch_size else count


def _window_seconds(queue_arn: str) -> float:
    windows = [
        float(mapping.get("MaximumBatchingWindowInSeconds") or 0)
        for _account, _region, mapping in lambda_svc._iter_all_esms()
        if mapping.get("EventSourceArn") == queue_arn
    ]
    return min(windows, default=0.0)
