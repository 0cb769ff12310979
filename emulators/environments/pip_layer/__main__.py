"""`pip install -r FILE` of a host: from an environment that an earlier attempt has filled, or a new
one. Any other command changes the host's own environment only, which ends with the host."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pip


def main() -> int:
    sys.dont_write_bytecode = True
    sys.path.insert(0, json.loads(Path(sys.prefix, "tidewheel.json").read_text())["code"])
    from kept_environments import FILLING, install_kept, requirements_of

    requirements = requirements_of(sys.argv[1:], os.environ)
    if requirements is not None and FILLING not in os.environ:
        return install_kept(Path(sys.prefix), requirements, sys.argv[1:], os.environ)
    real = str(Path(pip.__file__).parent)
    os.execv(sys.executable, [sys.executable, real, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
