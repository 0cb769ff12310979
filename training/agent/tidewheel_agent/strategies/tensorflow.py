"""TF_CONFIG: how the tasks of a TensorFlow cluster find each other.

https://www.tensorflow.org/guide/distributed_training#TF_CONFIG. TensorFlow's servers listen on
every address of the machine, so each task has its own port for hosts that share one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from .launch import FIRST_PORT_OFFSET

Cluster = Mapping[str, Sequence[str]]
"""Addresses of all tasks by the kind of task, in the order of their indexes."""


def task_config(cluster: Cluster, kind: str, index: int) -> str:
    """TF_CONFIG of one task."""
    config = {"cluster": cluster, "task": {"type": kind, "index": index}, "environment": "cloud"}
    return json.dumps(config)


def worker_config(hosts: tuple[str, ...], current_host: str, master_port: int) -> str:
    """TF_CONFIG of one of several equal workers; worker 0 is the chief."""
    first_port = master_port + FIRST_PORT_OFFSET
    workers = [f"{host}:{first_port + i}" for i, host in enumerate(hosts)]
    return task_config({"worker": workers}, "worker", hosts.index(current_host))
