"""`python check_types.py`: mypy over the agent, the tests and every recipe, with one cache.

Each recipe is checked by itself: recipes are folders to copy, so their files share names. Packages
from other environments (Ray, TensorFlow, timm, Horovod) have no types here.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOR_SCRIPTS = HERE / "agent" / "for_scripts"


def main() -> int:
    recipes = sorted(path.parent.name for path in HERE.glob("recipes/*/config.py"))
    codes = [_check("agent, measure, tests and recipes/ddp", [], {})]
    for name in recipes:
        if name == "ddp":
            continue
        folder = HERE / "recipes" / name
        path = os.pathsep.join(map(str, (folder, FOR_SCRIPTS)))
        codes.append(_check(f"recipes/{name}", [str(folder)], {"MYPYPATH": path}))
    return max(codes)


def _check(what: str, arguments: list[str], environment: dict[str, str]) -> int:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    if environment:
        command += ["--config-file", str(HERE / "recipes" / "mypy.ini")]
    command += ["--cache-dir", str(HERE / ".mypy_cache"), *arguments]
    ended = subprocess.run(
        command, cwd=HERE, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if ended.returncode:
        print(f"{what}:\n{ended.stdout}{ended.stderr}")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
