"""Agents that report to each other: gangs in one process with real connections, an address each."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from cluster import wait_until
from hosts import free_ports
from tidewheel_agent.gang.gang import Gang
from tidewheel_agent.gang.state import GangState

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
Start = Callable[..., Gang]


@pytest.fixture
def start() -> Iterator[Start]:
    port = free_ports(1)
    gangs: list[Gang] = []

    def begin(
        host: str, *, job: str = "job", stops: list[str] | None = None, port: int = port
    ) -> Gang:
        gang = Gang(
            job,
            HOSTS,
            host,
            HOSTS[0],
            port=port,
            silence_seconds=5,
            on_stop=(stops if stops is not None else []).append,
        )
        gangs.append(gang)
        gang.start()
        return gang

    yield begin
    for gang in gangs:
        gang.close()


def soon(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, 8, what)


def test_a_stop_of_one_host_reaches_all(start: Start) -> None:
    stops: dict[str, list[str]] = {host: [] for host in HOSTS}
    gangs = {host: start(host, stops=stops[host]) for host in HOSTS}
    gangs[HOSTS[2]].send_stop("SIGTERM")
    for host in HOSTS[:2]:
        soon(lambda h=host: stops[h] != [], f"{host} is stopped")  # type: ignore[misc]
        assert stops[host] == ["host 127.0.0.4 got a stop request (SIGTERM)"]
    assert stops[HOSTS[2]] == []


def test_a_late_host_gets_earlier_messages(start: Start) -> None:
    leader = start(HOSTS[0])
    leader.send_stop("SIGTERM")
    time.sleep(0.3)
    stops: list[str] = []
    start(HOSTS[1], stops=stops)
    soon(lambda: stops != [], "the late host is stopped")


def test_a_failure_reaches_all_with_code_and_text(start: Start) -> None:
    gangs = [start(host) for host in HOSTS]
    gangs[1].send_end(42, "ValueError: no")
    for gang in (gangs[0], gangs[2]):
        soon(lambda g=gang: g.state.peer_failure is not None, "the failure is known")  # type: ignore[misc]
        assert gang.state.peer_failure is not None
        assert (gang.state.peer_failure.host, gang.state.peer_failure.exit_code) == (HOSTS[1], 42)
        assert gang.state.peer_failure.failure_text == "ValueError: no"


def test_all_hosts_notice_a_lost_host(start: Start) -> None:
    gangs = [start(host) for host in HOSTS]
    soon(lambda: len(gangs[0]._connections) == 2, "all are connected")
    gangs[1].close()
    for gang in (gangs[0], gangs[2]):
        soon(lambda g=gang: g.state.peer_failure is not None, "the loss is known")  # type: ignore[misc]
        assert gang.state.peer_failure is not None and gang.state.peer_failure.is_lost
        assert gang.state.peer_failure.host == HOSTS[1]


def test_the_leader_knows_whether_all_others_are_idle(start: Start) -> None:
    leader = start(HOSTS[0])
    assert not leader.others_idle, "nothing is heard of the others yet"
    others = [start(host) for host in HOSTS[1:]]
    soon(lambda: leader.others_idle, "hosts without a script are idle")
    others[0].set_idle(False)
    soon(lambda: not leader.others_idle, "one computes")
    others[0].set_idle(True)
    soon(lambda: leader.others_idle, "it is idle again")
    assert not others[0].others_idle, "only the leader decides"
    leader.send_hung()
    for gang in others:
        soon(lambda g=gang: g.state.has_hung, "the hang is known")  # type: ignore[misc]


def test_hosts_that_wait_for_a_failed_one_do_not_hang(start: Start) -> None:
    leader, *others = (start(host) for host in HOSTS)
    soon(lambda: leader.others_idle, "all are connected")
    others[0].send_end(1, "ValueError: no")
    soon(lambda: leader.state.peer_failure is not None, "the failure is known")
    assert not leader.others_idle


def test_hosts_obey_the_leader_alone_about_a_hang(start: Start) -> None:
    gangs = [start(host) for host in HOSTS]
    gangs[1].send_hung()
    gangs[1].send_stop("SIGTERM")
    soon(lambda: gangs[2].state.stop_reason != "", "what was sent after it has come")
    assert not gangs[0].state.has_hung and not gangs[2].state.has_hung


def test_a_host_that_ended_is_not_lost(start: Start) -> None:
    gangs = [start(host) for host in HOSTS[:2]]
    soon(lambda: len(gangs[0]._connections) == 1, "connected")
    gangs[0].send_end(0)
    gangs[0].close()
    soon(lambda: gangs[1].state.exit_codes == {HOSTS[0]: 0}, "the end is known")
    soon(lambda: gangs[1]._connections == [], "the connection is closed")
    assert gangs[1].state.peer_failure is None


def test_a_silent_host_is_lost(start: Start) -> None:
    port = free_ports(1)
    leader = start(HOSTS[0], port=port)
    soon(lambda: leader._server is not None, "listening")
    with socket.create_connection((HOSTS[0], port)) as frozen:
        hello = {"type": "hello", "host": HOSTS[1], "job": "job"}
        frozen.sendall(json.dumps(hello).encode() + b"\n")
        soon(lambda: leader.state.peer_failure is not None, "the silence is noticed")
    assert leader.state.peer_failure is not None and leader.state.peer_failure.host == HOSTS[1]


_STRANGERS = [
    b'{"type": "hello", "host": "127.0.0.3", "job": "another"}\n'
    b'{"type": "stop", "host": "127.0.0.3"}\n',
    b'{"type": "hello", "host": "10.9.9.9", "job": "job"}\n{"type": "stop", "host": "127.0.0.3"}\n',
    b'{"type": "stop", "host": "127.0.0.3"}\n',
    b"GET / HTTP/1.1\r\n\r\n",
    b"[" * 20_000 + b"\n",
    b"x" * 20_000,
    b"[1]\n",
    b"\xff\xfe\n",
    b'{"type": "hello", "host": "127.0.0.3", "job": "job"}\n'
    b'{"type": "ended", "host": "127.0.0.4", "exitCode": 1}\n',
]
"""The last one is a member that reports the end of another host."""


def test_a_gang_ignores_strangers(start: Start) -> None:
    port = free_ports(1)
    stops: list[str] = []
    leader = start(HOSTS[0], stops=stops, port=port)
    soon(lambda: leader._server is not None, "listening")
    for words in _STRANGERS:
        with socket.create_connection((HOSTS[0], port)) as stranger:
            stranger.sendall(words)
            time.sleep(0.4)
        assert stops == [], words
        assert leader.state.stop_reason == "", words
        assert HOSTS[2] not in leader.state.exit_codes, words


def test_a_port_in_use_is_logged_with_the_remedy(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind((HOSTS[0], 0))
        taken.listen()
        leader = start(HOSTS[0], port=int(taken.getsockname()[1]))
        soon(lambda: "TIDEWHEEL_GANG_PORT" in capsys.readouterr().out, "the remedy is logged")
    assert leader.state.peer_failure is None


def test_no_end_after_a_stop_is_a_failure() -> None:
    state = GangState()
    state.record("a", {"type": "stop", "reason": "SIGTERM"})
    state.record("a", {"type": "ended", "exitCode": 143})
    state.record_loss("b")
    assert state.peer_failure is None


def test_the_first_failure_counts() -> None:
    state = GangState()
    state.record("a", {"type": "ended", "exitCode": 7, "failureText": "first"})
    state.record("b", {"type": "ended", "exitCode": 1, "failureText": "echo"})
    assert state.peer_failure is not None and state.peer_failure.host == "a"
