"""The agents' talk: real connections between gangs in one process, each with its own address."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from cluster import free_ports, wait_until
from tidewheel_agent.gang.gang import Gang, GangView

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
Start = Callable[..., Gang]


class Heard(list[str]):
    """Reasons for which a host was told to stop."""


@pytest.fixture
def start() -> Iterator[Start]:
    port = free_ports()[0]
    gangs: list[Gang] = []

    def begin(
        host: str, *, job: str = "job", heard: list[str] | None = None, port: int = port
    ) -> Gang:
        gang = Gang(
            job,
            HOSTS,
            host,
            HOSTS[0],
            port=port,
            silence_seconds=5,
            on_stop=(heard if heard is not None else []).append,
        )
        gangs.append(gang)
        gang.start()
        return gang

    yield begin
    for gang in gangs:
        gang.close()


def soon(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, 8, what)


def test_a_stop_of_one_member_reaches_all(start: Start) -> None:
    heard: dict[str, list[str]] = {host: [] for host in HOSTS}
    gangs = {host: start(host, heard=heard[host]) for host in HOSTS}
    gangs[HOSTS[2]].tell_stop("SIGTERM")
    for host in HOSTS[:2]:
        soon(lambda h=host: heard[h] != [], f"{host} hears the stop")  # type: ignore[misc]
        assert heard[host] == ["host 127.0.0.4 was told to leave (SIGTERM)"]
    assert heard[HOSTS[2]] == []


def test_who_connects_late_hears_what_was_said_before(start: Start) -> None:
    leader = start(HOSTS[0])
    leader.tell_stop("SIGTERM")
    time.sleep(0.3)
    heard: list[str] = []
    start(HOSTS[1], heard=heard)
    soon(lambda: heard != [], "the latecomer hears the stop")


def test_a_failure_is_told_with_code_and_text(start: Start) -> None:
    gangs = [start(host) for host in HOSTS]
    gangs[1].tell_ended(42, "ValueError: no")
    for gang in (gangs[0], gangs[2]):
        soon(lambda g=gang: g.view.trouble is not None, "the failure is known")  # type: ignore[misc]
        assert gang.view.trouble is not None
        assert (gang.view.trouble.host, gang.view.trouble.code) == (HOSTS[1], 42)
        assert gang.view.trouble.text == "ValueError: no"


def test_a_host_that_vanishes_is_lost_to_all(start: Start) -> None:
    gangs = [start(host) for host in HOSTS]
    soon(lambda: len(gangs[0]._lines) == 2, "all are connected")
    gangs[1].close()
    for gang in (gangs[0], gangs[2]):
        soon(lambda g=gang: g.view.trouble is not None, "the loss is known")  # type: ignore[misc]
        assert gang.view.trouble is not None and gang.view.trouble.is_lost
        assert gang.view.trouble.host == HOSTS[1]


def test_a_host_that_ended_well_is_not_lost(start: Start) -> None:
    gangs = [start(host) for host in HOSTS[:2]]
    soon(lambda: len(gangs[0]._lines) == 1, "connected")
    gangs[0].tell_ended(0)
    gangs[0].close()
    soon(lambda: gangs[1].view.ended == {HOSTS[0]: 0}, "the end is known")
    soon(lambda: gangs[1]._lines == [], "the line is closed")
    assert gangs[1].view.trouble is None


def test_a_silent_host_is_lost(start: Start) -> None:
    port = free_ports()[0]
    leader = start(HOSTS[0], port=port)
    soon(lambda: leader._server is not None, "listening")
    with socket.create_connection((HOSTS[0], port)) as frozen:
        hello = {"say": "hello", "host": HOSTS[1], "job": "job"}
        frozen.sendall(json.dumps(hello).encode() + b"\n")
        soon(lambda: leader.view.trouble is not None, "the silence is noticed")
    assert leader.view.trouble is not None and leader.view.trouble.host == HOSTS[1]


_STRANGERS = [
    b'{"say": "hello", "host": "127.0.0.3", "job": "another"}\n'
    b'{"say": "stop", "host": "127.0.0.3"}\n',
    b'{"say": "hello", "host": "10.9.9.9", "job": "job"}\n{"say": "stop", "host": "127.0.0.3"}\n',
    b'{"say": "stop", "host": "127.0.0.3"}\n',
    b"GET / HTTP/1.1\r\n\r\n",
    b"[" * 20_000 + b"\n",
    b"x" * 20_000,
    b"[1]\n",
    b"\xff\xfe\n",
    b'{"say": "hello", "host": "127.0.0.3", "job": "job"}\n'
    b'{"say": "ended", "host": "127.0.0.4", "code": 1}\n',
]
"""The last is a member who speaks for another."""


def test_strangers_are_not_believed(start: Start) -> None:
    port = free_ports()[0]
    heard: list[str] = []
    leader = start(HOSTS[0], heard=heard, port=port)
    soon(lambda: leader._server is not None, "listening")
    for words in _STRANGERS:
        with socket.create_connection((HOSTS[0], port)) as stranger:
            stranger.sendall(words)
            time.sleep(0.4)
        assert heard == [], words
        assert leader.view.stop_reason == "", words
        assert HOSTS[2] not in leader.view.ended, words


def test_a_port_in_use_leaves_each_on_its_own(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind((HOSTS[0], 0))
        taken.listen()
        leader = start(HOSTS[0], port=int(taken.getsockname()[1]))
        soon(lambda: "TIDEWHEEL_GANG_PORT" in capsys.readouterr().out, "the remedy is told")
    assert leader.view.trouble is None


def test_after_a_stop_nobody_is_in_trouble() -> None:
    view = GangView()
    view.take("a", {"say": "stop", "reason": "SIGTERM"})
    view.take("a", {"say": "ended", "code": 143})
    view.lose("b")
    assert view.trouble is None


def test_the_first_trouble_counts() -> None:
    view = GangView()
    view.take("a", {"say": "ended", "code": 7, "text": "first"})
    view.take("b", {"say": "ended", "code": 1, "text": "echo"})
    assert view.trouble is not None and view.trouble.host == "a"
