"""Starts MiniStack for Tidewheel: on 127.0.0.1, with a state folder of its own, patched, and
ending with its parent.

`python emulator.py --state DIR [--port N] [--port-fd FD] [--save-seconds S] [--with-parent]`

The port (0 takes a free one) is written to FD as soon as it is known, or else why it does not
start. With --with-parent the end of standard input, which also a killed parent causes, ends the
emulator in good order: state saved, Lambda workers ended, folders removed.
"""

import argparse
import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import virtual_time

HOST = "127.0.0.1"
TEMPORARY_PREFIX = "tidewheel-emulator-"
GRACE_SECONDS = 1


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--state",
        type=Path,
        required=True,
        help="folder for the state, used by one emulator at a time",
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--port-fd", type=int, help="file descriptor that receives the port")
    parser.add_argument(
        "--save-seconds",
        type=float,
        default=3.0,
        help="what a kill -9 can lose; 0 saves at the end only",
    )
    parser.add_argument(
        "--lock-seconds", type=float, default=20.0, help="how long to wait for a predecessor's end"
    )
    parser.add_argument("--with-parent", action="store_true", help="end when standard input ends")
    parser.add_argument(
        "--concurrent-executions",
        type=int,
        default=0,
        help="Lambda functions that the account may run at once; 0 sets no limit",
    )
    parser.add_argument(
        "--limits", type=json.loads, help="further limits of the account, as JSON (limits.py)"
    )
    parser.add_argument(
        "--initialise",
        type=lambda names: names.split(","),
        default=[],
        help="ends of the names of functions that are initialised when an execution starts",
    )
    parser.add_argument(
        "--service-quotas",
        type=Path,
        help="file of the account's quotas (service_quotas.py); default: no such service",
    )
    parser.add_argument(
        "--clock",
        type=Path,
        help="file of a virtual clock to go by (emulators/clock); default: the wall's",
    )
    return parser.parse_args(arguments)


def lock(state: Path, seconds: float, port_fd: int | None) -> int:
    """Holds the folder until this process and its snapshot children have ended. flock forgets at
    kill -9."""
    state.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(state / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    in_use = f"another emulator uses {state}: stop it, or name another state folder"
    waited_for = threading.Timer(seconds, refuse, args=(port_fd, 3, in_use))
    waited_for.daemon = True
    waited_for.start()
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    waited_for.cancel()
    return descriptor


def refuse(port_fd: int | None, code: int, why: str) -> NoReturn:
    """Says why it does not start in the log, and in place of the port."""
    print(why, file=sys.stderr, flush=True)
    if port_fd is not None:
        os.write(port_fd, f"{why}\n".encode())
    os._exit(code)


def temporary_folder(state: Path) -> Path:
    """A fresh folder for Lambda workers; removes the one that a killed predecessor left.

    Not under `state`: inside the project Node would find the project's package.json and
    node_modules, Lambda has neither.
    """
    note = state / "temporary"
    if note.exists():
        left = Path(note.read_text().strip())
        if (
            left.name.startswith(TEMPORARY_PREFIX)
            and left.is_dir()
            and left.stat().st_uid == os.getuid()
        ):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX))
    note.write_text(str(folder))
    return folder


def listen(port: int, port_fd: int | None) -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the protocol is named: else a small answer in
    # two writes waits 40 ms for the client's acknowledgement.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        why = f"port {port} on {HOST} cannot be had ({error.strerror}): choose another"
        refuse(port_fd, 4, why)
    return listening


def set_environment(state: Path, temporary: Path, port: int, concurrent_executions: int) -> None:
    """MiniStack reads these while it is imported; Lambda workers inherit them."""
    os.environ.update(
        {
            "GATEWAY_PORT": str(port),
            "BIND_HOST": HOST,
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "LAMBDA_EXECUTOR": "local",
            "LAMBDA_ACCOUNT_CONCURRENCY": str(concurrent_executions),
            # MiniStack removes what it takes for its own containers at start: leave the user's
            # Docker alone.
            "DOCKER_HOST": "unix:///nonexistent/docker.sock",
            "PERSIST_STATE": "1",
            "STATE_DIR": str(state / "services"),
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(state / "objects"),
            "TMPDIR": str(temporary),
        }
    )
    os.environ.setdefault("LAMBDA_WARM_TTL_SECONDS", "120")
    tempfile.tempdir = None


class CountRequests:
    """Lets the snapshots know that something may have changed."""

    def __init__(self, app: Any, snapshots: Any) -> None:
        self.app = app
        self.snapshots = snapshots

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            self.snapshots.requests += 1
        await self.app(scope, receive, send)


async def serve(listening: socket.socket, options: argparse.Namespace, lock_fd: int) -> None:
    if options.clock is not None:
        virtual_time.install(options.clock)
    # Only now: what MiniStack reads from the environment at import must be set.
    import full_disk
    import http_api
    import instance_ends
    import invocations
    import launches
    import limits
    import listings
    import patches
    import policy_simulator
    import proactive
    import queue_batches
    import service_quotas
    from door import Door
    from ministack.app import app
    from snapshots import Snapshots

    patches.name_node_errors()
    patches.admit_events_of_services_beside()
    invocations.install()
    listings.install()
    instance_ends.install()
    launches.install()
    proactive.initialise_when_an_execution_starts(options.initialise)
    http_api.install()
    queue_batches.gather_batches(has_windows=options.clock is None)
    full_disk.install(options.state)
    if options.limits is not None:
        limits.install(options.limits)
    patches.fail_callbacks_with_their_function()
    patches.read_concurrency_of_maps()
    patches.encrypt_with_the_accounts_key()
    patches.tell_what_was_copied()
    patches.tell_checksums_of_parts()
    patches.notify_of_named_events()
    patches.refuse_impossible_schedules()
    policy_simulator.install()
    patches.give_functions_the_key(
        os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
    )
    snapshots = Snapshots(options.state / "snapshots", lock_fd)
    loop = asyncio.get_running_loop()
    asked_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_stop.set)
    if options.with_parent:
        threading.Thread(
            target=_await_end_of_input, args=(loop, asked_to_stop), daemon=True
        ).start()
    if options.save_seconds > 0:
        snapshots.keep(options.save_seconds, loop)

    served: Any = CountRequests(app, snapshots)
    if options.service_quotas is not None:
        served = service_quotas.ServiceQuotas(served, options.service_quotas)
    if options.limits is not None:
        served = limits.Pace(served, options.limits)
    if options.clock is not None:
        patches.set_worker_clock(virtual_time.worker_prelude(options.clock))
        follower = virtual_time.Follower()
        follower.attach()
        served = virtual_time.ServeClock(served, follower)
    served = Door(served)
    await answer(served, listening, asked_to_stop)
    patches.stop_workers()


async def answer(app: Any, listening: socket.socket, asked_to_stop: asyncio.Event) -> None:
    """With a parser in C: MiniStack's own server, Hypercorn, takes half of a small GET's time."""
    import uvicorn
    from bounded_http import BoundedHttp

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    config = uvicorn.Config(
        app,
        http=BoundedHttp,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        # AWS's own come from MiniStack.
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = Server(config)

    async def stop_when_asked() -> None:
        await asked_to_stop.wait()
        server.should_exit = True

    stopping = asyncio.create_task(stop_when_asked())
    await server.serve(sockets=[listening])
    stopping.cancel()


def _await_end_of_input(loop: asyncio.AbstractEventLoop, asked_to_stop: asyncio.Event) -> None:
    while os.read(0, 4096):
        pass
    loop.call_soon_threadsafe(asked_to_stop.set)


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    # Snapshots hold secrets and keys.
    os.umask(0o077)
    options.state = options.state.absolute()
    lock_fd = lock(options.state, options.lock_seconds, options.port_fd)
    listening = listen(options.port, options.port_fd)
    port = listening.getsockname()[1]
    if options.port_fd is not None:
        with os.fdopen(options.port_fd, "w") as pipe:
            pipe.write(f"{port}\n")
    temporary = temporary_folder(options.state)
    set_environment(options.state, temporary, port, options.concurrent_executions)
    try:
        asyncio.run(serve(listening, options, lock_fd))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    # Threads that still wait for a Lambda or an execution are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
