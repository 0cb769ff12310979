"""`measure_recipe.py NAME --python INTERPRETER [--seed 7]`: prints one JSON line about a recipe."""

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
    """Makes orphans of the hosts this process's children, so that their CPU time counts."""
    with contextlib.suppress(OSError, AttributeError):  # Only Linux can do this.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu_seconds() -> float:
    """CPU seconds of all processes of the recipe, which other load hardly changes."""
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
    arguments = parser.parse_args()
    if arguments.list or arguments.name is None:
        print(json.dumps([{"name": e.name, "environment": e.environment} for e in CATALOGUE]))
        return 0
    entry = next(entry for entry in CATALOGUE if entry.name == arguments.name)
    root = Path(tempfile.mkdtemp(prefix="tw-"))
    adopt_orphans()
    try:
        result = measure(entry.make(arguments.python.absolute(), root), root, arguments.seed)
    except RecipeError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(root, ignore_errors=True)
    row = {"name": entry.name, **result.as_dict(), "cpu_seconds": round(cpu_seconds())}
    print(json.dumps(row))
    return 0 if result.is_within else 1


if __name__ == "__main__":
    sys.exit(main())
