"""What the agent names (TIDEWHEEL_REQUIREMENTS) comes from an environment that an earlier attempt
has filled, or a new one. Any other command changes the host's own, which ends with the host."""

import json
import os
import sys
from pathlib import Path

import pip


def main() -> int:
    sys.dont_write_bytecode = True
    # Taken out: the pip that fills the environment may be a host's too.
    if requirements := os.environ.pop("TIDEWHEEL_REQUIREMENTS", ""):
        sys.path.insert(0, json.loads(Path(sys.prefix, "tidewheel.json").read_text())["code"])
        from kept_environments import install_kept

        return install_kept(Path(sys.prefix), requirements, sys.argv[1:], os.environ)
    real = str(Path(pip.__file__).parent)
    os.execv(sys.executable, [sys.executable, real, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
