"""`measure_recipe.py NAME --python INTERPRETER [--seed 7]`: measures one, prints one JSON line."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from catalogue import CATALOGUE
from interrupted import RecipeError, measure


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
    try:
        result = measure(entry.make(told.python.absolute(), root), root, told.seed)
    except RecipeError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(json.dumps({"name": entry.name, **result.document()}))
    return 0 if result.is_within else 1


if __name__ == "__main__":
    sys.exit(main())
