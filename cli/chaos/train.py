"""Trains a small network on the digits with equal hosts that sum their gradients.

It has no framework, whose import alone would take longer than a host lives here. Sums are made in
the order of the hosts, so that every run of the same steps ends with the same bytes.
"""

import argparse
import contextlib
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tidewheel

Array: TypeAlias = "np.ndarray[Any, Any]"

_PIXELS, _WIDTH, _CLASSES = 64, 128, 10
_RATE, _MOMENTUM = 0.02, 0.9
_SAVE_STEPS = 5
_CONNECT_SECONDS = 30.0


class Gang:
    """Sums arrays over the hosts: the first one adds them up, and sends every host the sum."""

    def __init__(self, addresses: list[str], rank: int) -> None:
        self.rank = rank
        host, _, port = addresses[0].rpartition(":")
        if rank == 0:
            self._peers = _accept(host, int(port), len(addresses) - 1)
        else:
            self._peers = [_connect(host, int(port), rank)]

    def sum(self, own: Array) -> Array:
        if self.rank > 0:
            self._peers[0].sendall(own.tobytes())
            return _receive(self._peers[0], own)
        total = own.copy()
        for peer in self._peers:
            total += _receive(peer, own)
        for peer in self._peers:
            peer.sendall(total.tobytes())
        return total


def _accept(host: str, port: int, others: int) -> list[socket.socket]:
    """In the order of their ranks."""
    found: dict[int, socket.socket] = {}
    with socket.create_server((host, port)) as server:
        server.settimeout(_CONNECT_SECONDS)
        while len(found) < others:
            peer, _ = server.accept()
            found[peer.recv(1)[0]] = peer
    return [found[rank] for rank in sorted(found)]


def _connect(host: str, port: int, rank: int) -> socket.socket:
    give_up = time.monotonic() + _CONNECT_SECONDS
    while True:
        with contextlib.suppress(ConnectionRefusedError):
            peer = socket.create_connection((host, port))
            peer.sendall(bytes([rank]))
            return peer
        if time.monotonic() > give_up:
            raise ConnectionError(f"the first host does not answer at {host}:{port}")
        time.sleep(0.05)


def _receive(peer: socket.socket, like: Array) -> Array:
    data = bytearray(like.nbytes)
    view = memoryview(data)
    while view:
        count = peer.recv_into(view)
        if count == 0:
            raise ConnectionError("Connection closed by peer")
        view = view[count:]
    return np.frombuffer(data, like.dtype)


def read_digits(folder: Path) -> tuple[Array, Array]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    table = np.concatenate([np.loadtxt(each, delimiter=",", dtype=np.int64) for each in files])
    return table[:, :-1] / 16.0, table[:, -1]


def gradient(weights: Array, inputs: Array, labels: Array) -> Array:
    """Summed over the samples; the sum of their losses stands behind it."""
    first = weights[: _PIXELS * _WIDTH].reshape(_PIXELS, _WIDTH)
    second = weights[_PIXELS * _WIDTH :].reshape(_WIDTH, _CLASSES)
    hidden = np.maximum(inputs @ first, 0.0)
    scores = hidden @ second
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(chances[rows, labels]).sum()
    chances[rows, labels] -= 1.0
    back = (chances @ second.T) * (hidden > 0.0)
    return np.concatenate([(inputs.T @ back).ravel(), (hidden.T @ chances).ravel(), [loss]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--step_seconds", type=float, required=True, help="of a step, at least")
    options = parser.parse_args()
    cluster = json.loads(os.environ["TF_CONFIG"])
    hosts, rank = cluster["cluster"]["worker"], cluster["task"]["index"]
    inputs, labels = read_digits(Path(os.environ["SM_CHANNEL_TRAIN"]))
    samples = len(labels)
    inputs, labels = inputs[rank :: len(hosts)], labels[rank :: len(hosts)]
    size = (_PIXELS + _CLASSES) * _WIDTH
    # Weights, and their momentum.
    state = np.stack([np.random.default_rng(0).normal(0, 0.1, size), np.zeros(size)])
    step = 0
    newest = tidewheel.newest()
    if newest is not None:
        step, state = newest.step, np.load(newest.folder / "state.npy")
    gang = Gang(hosts, rank)
    while step < options.steps:
        due = time.monotonic() + options.step_seconds
        leaves = float(tidewheel.stop_soon())
        own = gradient(state[0], inputs, labels)
        total = gang.sum(np.append(own, leaves))
        loss, leaving = total[-2:]
        state[1] = _MOMENTUM * state[1] - _RATE * total[:-2] / samples
        state[0] += state[1]
        step += 1
        tidewheel.stepped(len(labels))
        if rank == 0:
            tidewheel.progress(step, options.steps, loss=loss / samples)
            if step % _SAVE_STEPS == 0 or leaving > 0 or step == options.steps:
                tidewheel.save(step, write, state, total=options.steps)
                # It is small: a disk that is full ends the script now, not at its next save.
                tidewheel.flush()
        if leaving > 0:
            return 143
        time.sleep(max(0.0, due - time.monotonic()))
    if rank == 0:
        np.save(Path(os.environ["SM_MODEL_DIR"], "model.npy"), state[0])
    return 0


def write(folder: Path, state: Array) -> None:
    np.save(folder / "state.npy", state)


if __name__ == "__main__":
    sys.exit(main())
