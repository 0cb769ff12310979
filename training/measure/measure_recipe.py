"""`measure_recipe.py NAME --python INTERPRETER [--seed 7]`: measures one, prints one JSON line."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path

from catalogue import CATALOGUE
from interrupted import RecipeError, measure

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """What the hosts leave behind becomes this process's child, so that its time is counted."""
    with contextlib.suppress(OSError, AttributeError):  # Linux only; else they are not counted.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu_seconds() -> float:
    """Of everything that ran for the recipe; unlike its seconds, hardly changed by other load."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(prog="measure_recipe")
    parser.add_argument("name", nargs="?", choices=[entry.name for entry in CATALOGUE])
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--list", action="store_true", help="print names and environments")
    told = parser.parse_args()
    if told.list or told.name is None:
        print(json.dumps([{"name": e.name, "environment": e.environment} for e in CATALOGUE]))
        return 0
    entry = next(entry for entry in CATALOGUE if entry.name == told.name)
    root = Path(tempfile.mkdtemp(prefix="tw-"))
    adopt_orphans()
    try:
        result = measure(entry.make(told.python.absolute(), root), root, told.seed)
    except RecipeError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(root, ignore_errors=True)
    spent = {"cpu_seconds": round(cpu_seconds())}
    print(json.dumps({"name": entry.name, **result.document(), **spent}))
    return 0 if result.is_within else 1


if __name__ == "__main__":
    sys.exit(main())
