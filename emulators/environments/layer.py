"""Makes a Python environment over another: packages installed in it never change the one below.

Run by the interpreter below: `python -I layer.py FOLDERS ENVIRONMENTS [PACKAGE...]` makes the
environments of hosts, one for each folder of a list in JSON; packages of an image are put
between the two. Its `pip` installs a job's requirements once, under ENVIRONMENTS, for all hosts
and attempts (pip_layer). Dependency-free; Python 3.10 or newer.
"""

import json
import os
import platform
import re
import shlex
import shutil
import site
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

DESCRIPTION = "tidewheel.json"
_OWN_PROGRAMS = ("python", "pip", "activate", "deactivate")


@dataclass(frozen=True)
class Below:
    """The environment below, and where those of requirements are kept."""

    interpreter: str
    """Of the installation, not of an environment."""
    prefix: str
    sites: list[str]
    environments: str
    code: str
    """The folder of this file."""


def below_of_this_interpreter(environments: str) -> Below:
    base = getattr(sys, "_base_executable", sys.executable)
    sites = [folder for folder in site.getsitepackages() if os.path.isdir(folder)]
    code = str(Path(__file__).resolve().parent)
    return Below(os.path.realpath(base), sys.prefix, sites, environments, code)


def site_packages(folder: Path) -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return folder / "lib" / version / "site-packages"


def make_layer(folder: Path, below: Below) -> None:
    """Fills an empty or missing folder. Raises OSError."""
    packages, programs = site_packages(folder), folder / "bin"
    packages.mkdir(parents=True)
    programs.mkdir()
    major, minor = sys.version_info[:2]
    for name in ("python", "python3", f"python3.{minor}"):
        (programs / name).symlink_to(below.interpreter)
    home = os.path.dirname(below.interpreter)
    lines = (f"home = {home}", "include-system-site-packages = false", f"version = {major}.{minor}")
    (folder / "pyvenv.cfg").write_text("\n".join(lines) + "\n")
    put_below(folder, "tidewheel-z-below.pth", below.sites)
    link_libraries(folder / "lib", Path(below.prefix))
    add_programs(folder, Path(below.prefix, "bin"))
    (folder / DESCRIPTION).write_text(json.dumps(asdict(below)))


def link_libraries(target: Path, prefix: Path) -> None:
    """Some packages look for libraries in the environment's own `lib`.

    A library finds others by the path that opened it (`$ORIGIN`), so those in folders beside it are
    linked too (MPICH's are in `lib/mpich`). Files alone are links: an installation into a linked
    folder would change the environment below.
    """
    source = prefix / "lib"
    is_environment = (prefix / "pyvenv.cfg").is_file()
    for place, folders, _ in os.walk(source):
        here = Path(place)
        if here == source:
            # Else it is the `lib` of a system, which holds far more than packages brought.
            folders[:] = [
                each for each in folders if is_environment and not each.startswith("python")
            ]
        for library in here.glob("lib*.so*"):
            link = target / library.relative_to(source)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(library)


def read_below(folder: Path) -> Below:
    return Below(**json.loads((folder / DESCRIPTION).read_text()))


def put_below(folder: Path, name: str, sites: list[str]) -> None:
    """Further folders of packages, searched after the layer's own in the order of the names."""
    lines = [f"import site; site.addsitedir({place!r})" for place in sites]
    (site_packages(folder) / name).write_text("\n".join(lines) + "\n")


def add_programs(folder: Path, source: Path) -> None:
    """Programs of an environment below, run by the layer's interpreter where they are Python."""
    for program in source.iterdir():
        target = folder / "bin" / program.name
        if program.name.startswith(_OWN_PROGRAMS) or not program.is_file() or target.exists():
            continue
        with program.open("rb") as file:
            is_python = file.read(2) == b"#!" and b"python" in file.read(1024)
        if is_python:
            python = shlex.quote(str(folder / "bin" / "python"))
            command = f'#!/bin/sh\nexec {python} {shlex.quote(str(program))} "$@"\n'
            target.write_text(command)
            target.chmod(0o755)
        else:
            target.symlink_to(program)


def missing_packages(wanted: list[str], below: Below) -> list[str]:
    """Those that the environment below has in no version."""
    if not wanted:
        return []
    # Most hosts want none, and to import and read all of it takes longer than to make their layer.
    from importlib.metadata import distributions

    found = {_plain(each.name) for each in distributions(path=below.sites)}
    return [each for each in wanted if _plain(each.split("==")[0]) not in found]


def _plain(name: str) -> str:
    """The same for a distribution without CUDA: it has the modules of the other one."""
    return re.sub("[-_.]+", "-", name).lower().removesuffix("-cpu")


def without_cuda(requirement: str) -> str:
    """The package without CUDA: 5 MB instead of 400 for xgboost, 260 instead of 600 for TensorFlow.

    It exists for Linux alone.
    """
    name, _, version = requirement.partition("==")
    has_both = name in ("tensorflow", "xgboost") and sys.platform == "linux"
    is_usual = platform.machine() == "x86_64" and shutil.which("nvidia-smi") is None
    return f"{name}-cpu=={version}" if has_both and is_usual else requirement


def main() -> None:
    folders, environments = json.loads(sys.argv[1]), sys.argv[2]
    below = below_of_this_interpreter(environments)
    absent = missing_packages(sys.argv[3:], below)
    for folder in map(Path, folders):
        _lay(folder, below, absent)


def _lay(folder: Path, below: Below, absent: list[str]) -> None:
    if absent:
        # It imports this module.
        sys.path.insert(0, below.code)
        from kept_environments import keep_packages

        kept = keep_packages(folder, below, [without_cuda(each) for each in absent])
        make_layer(folder, replace(below, sites=[str(site_packages(kept)), *below.sites]))
        add_programs(folder, kept / "bin")
    else:
        make_layer(folder, below)
    # A copy: Python keeps what it has compiled beside it.
    caches = shutil.ignore_patterns("__pycache__")
    packages = site_packages(folder)
    shutil.copytree(Path(below.code, "pip_layer"), packages / "pip", ignore=caches)
    shutil.copy(Path(below.code, "tidewheel_loopback.py"), packages)
    (packages / "tidewheel-loopback.pth").write_text("import tidewheel_loopback\n")


if __name__ == "__main__":
    main()
