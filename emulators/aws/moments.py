"""What comes due in MiniStack by the date: schedules, and messages that wait for a function."""

import time
from collections.abc import Iterator
from typing import Any

_MINUTE = 60.0


def tick() -> None:
    from ministack.services import eventbridge, scheduler

    eventbridge._tick_scheduled_rules()
    scheduler._tick_schedules()


def schedule_moments(now: float) -> Iterator[float]:
    """When the rules and schedules there are come due next; cron() and at() go by the minute."""
    from ministack.services import eventbridge, scheduler

    minute = (now // _MINUTE + 1) * _MINUTE
    for key, rule in list(eventbridge._rules._data.items()):
        if rule.get("State") == "ENABLED" and rule.get("ScheduleExpression"):
            last = eventbridge._rule_last_fired.get(key)
            yield _next(eventbridge, rule["ScheduleExpression"], last, minute)
    for key, schedule in list(scheduler._schedules._data.items()):
        if schedule.get("State") == "ENABLED":
            last = scheduler._schedule_last_fired.get(key)
            yield _next(eventbridge, schedule.get("ScheduleExpression", ""), last, minute)


def _next(eventbridge: Any, expression: str, last: float | None, minute: float) -> float:
    seconds = eventbridge._parse_rate_seconds(expression)
    return minute if seconds is None or last is None else last + float(seconds)


def message_moments() -> Iterator[float]:
    """When functions may take the messages that wait for them."""
    from ministack.services import lambda_svc, sqs

    for _account, _region, mapping in lambda_svc._iter_all_esms():
        if not mapping.get("Enabled", True):
            continue
        rests_until = lambda_svc._esm_backoff_until.get(mapping["UUID"], 0.0)
        for queue in list(sqs._queues._data.values()):
            if queue.get("attributes", {}).get("QueueArn") != mapping.get("EventSourceArn", ""):
                continue
            for message in list(queue["messages"]):
                yield max(float(message["visible_at"]), float(rests_until))


def take_messages() -> bool:
    """Whether a function has messages to take; its poller is woken."""
    from ministack.core.concurrency import esm_wake

    now = time.time()
    if all(moment > now for moment in message_moments()):
        return False
    esm_wake.set()
    return True
