"""What a source brings for pip: its requirements, and itself where it is a package.

As SageMaker's toolkit does with requirements.txt and setup.py; pyproject.toml, and requirements
that lie beside the script, come to it.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..configuration.job import Job
from ..log import log

_FILE = "requirements.txt"
_BUILT = re.compile(r"^\s*\[(project|build-system|tool\.poetry)\]", re.MULTILINE)
_FURTHER = re.compile(r"(?:-r|--requirement)[ =]*(?P<file>\S+)")
_INCLUDE = re.compile(r"(?:-r|-c|--requirement|--constraint)[ =]*(?P<file>\S+)")
_ITSELF = "the package of the source"


@dataclass(frozen=True)
class Installation:
    """One call of `pip install`."""

    name: str
    """For the log and failures."""
    arguments: tuple[str, ...]
    packages: int = 1
    """That it names; more come with them."""
    is_needed: bool = True
    """Else a failure is logged, and the script starts: modules of the source are found in it."""
    verb: str = "install"
    may_fail: bool = False
    """Another installation stands in for it."""
    key: str = ""
    """Names all that decides over what it brings; empty where files of the source take part."""


def installations(job: Job, work: Path) -> list[Installation]:
    """`work`: an empty folder for files of the agent."""
    requirements = _requirements(job)
    found = [] if requirements is None else [_of_file(requirements, job.code_dir)]
    if (job.code_dir / "setup.py").is_file():
        found.append(Installation(_ITSELF, (".",), is_needed=False))
    elif (project := _project(job.code_dir / "pyproject.toml")) is not None:
        found += _of_project(project, has_requirements=requirements is not None, work=work)
    return found


def _requirements(job: Job) -> Path | None:
    """Those of the source, or else those beside the script."""
    places = [job.code_dir / _FILE]
    if not job.script.command:
        places.append((job.code_dir / job.program).parent / _FILE)
    listed = [place for place in dict.fromkeys(places) if requirement_lines(place)]
    for other in listed[1:]:
        log(f"{_name(other, job.code_dir)} is not installed: the source's own {_FILE} is")
    return listed[0] if listed else None


def _of_file(file: Path, source: Path) -> Installation:
    return Installation(_name(file, source), ("-r", str(file)), packages=len(_required(file)))


def _name(file: Path, source: Path) -> str:
    return file.relative_to(source).as_posix()


def _required(file: Path) -> list[str]:
    return [line for line in requirement_lines(file, including=_FURTHER) if line[0] != "-"]


def requirement_lines(
    file: Path, *, including: re.Pattern[str] = _INCLUDE, within: tuple[Path, ...] = ()
) -> list[str]:
    """Those of the files that it includes too, without comments."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found: list[str] = []
    for line in (re.sub(r"(^|\s)#.*", "", each).strip() for each in lines):
        include = including.match(line)
        included = (file.parent / include["file"]).resolve() if include else file
        if included not in (file, *within):
            found += requirement_lines(included, including=including, within=(file, *within))
        found += [line] if line else []
    return found


def _project(file: Path) -> dict[str, Any] | None:
    """Empty where it cannot be read; None where it only has settings of tools."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if not _BUILT.search(text):
        return None
    try:
        return dict(_loads(text).get("project", {}))
    except ValueError:
        return {}  # pip says what is wrong with it.


def _loads(text: str) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        from pip._vendor import tomli as tomllib  # type: ignore[no-redef]
    return tomllib.loads(text)


def _of_project(
    project: dict[str, Any], *, has_requirements: bool, work: Path
) -> list[Installation]:
    """A requirements.txt decides over its dependencies.

    They are a file of their own, so that one machine installs them once for all attempts.
    """
    itself = Installation(_ITSELF, ("--no-deps", "."), is_needed=False)
    if has_requirements:
        return [itself]
    needed = project.get("dependencies", [] if "name" in project else None)
    if not isinstance(needed, list) or "dependencies" in project.get("dynamic", []):
        return [Installation(_ITSELF, (".",), is_needed=False)]
    if not needed:
        return [itself]
    listed = work / "dependencies.txt"
    listed.write_text("".join(f"{line}\n" for line in needed), encoding="utf-8")
    name = "the dependencies of pyproject.toml"
    count = len(needed)
    return [Installation(name, ("-r", str(listed)), packages=count, is_needed=False), itself]
