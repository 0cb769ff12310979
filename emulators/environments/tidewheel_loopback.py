"""Lets PyTorch's rendezvous listen at its host's own address, which is this machine's alone.

`torchrun` opens its TCPStore on every interface and has no option against that: each computer of
the local network could write into it. On AWS a security group keeps them out.
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.TCPStore
"""

from __future__ import annotations

import importlib.machinery
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Each Python process of a host imports this file: what it imports here, all of them wait for.
    import socket
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

_MODULE = "torch.distributed"
_BEFORE_DESCRIPTOR = 3
"""Parameters of TCPStore between `is_master` and `master_listen_fd`."""


class _Finder:
    """Nothing is imported for scripts that do not use PyTorch."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            _call_after(spec.loader, bind_stores)
        return spec


def _call_after(loader: Any, then: Any) -> None:
    execute = loader.exec_module

    def execute_and_call(module: ModuleType) -> None:
        execute(module)
        then(module)

    loader.exec_module = execute_and_call


def bind_stores(distributed: ModuleType) -> None:
    store: Any = getattr(distributed, "TCPStore", None)
    if store is None:
        return

    class TCPStore(store):  # type: ignore[misc]
        def __init__(
            self,
            host_name: str,
            port: int,
            world_size: int | None = None,
            is_master: bool = False,
            *others: Any,
            **named: Any,
        ) -> None:
            is_told = len(others) > _BEFORE_DESCRIPTOR or "master_listen_fd" in named
            if is_master and not is_told:
                listening = _listening(host_name, port)
                if listening is not None:
                    named["master_listen_fd"] = listening.detach()
            super().__init__(host_name, port, world_size, is_master, *others, **named)

    # Modules that were imported with the package have a name of their own for it.
    for module in list(sys.modules.values()):
        if (
            getattr(module, "__name__", "").startswith(_MODULE)
            and vars(module).get("TCPStore") is store
        ):
            vars(module)["TCPStore"] = TCPStore


def _listening(host: str, port: int) -> socket.socket | None:
    """None where the address is not this host's: PyTorch then says what is wrong."""
    import socket

    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        server = socket.socket(family, kind, protocol)
        try:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(address)
            server.listen(4096)
        except OSError:
            server.close()
            return None
    except OSError:
        return None
    return server


sys.meta_path.insert(0, _Finder())
