"""Everything that the script finds in its environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..agent_path import AUTOMATIC, FOR_SCRIPTS, INSTRUMENT, STACK_SIGNAL
from .job import Job
from .placeholders import expand
from .sagemaker_environment import sagemaker_environment
from .settings import Hardware, Settings

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
)
_FOLLOWERS = tuple(f"{name}_NUM_THREADS" for name in ("MKL", "OPENBLAS", "BLIS", "NUMEXPR"))

INSTRUMENT_FOLDER = "TIDEWHEEL_INSTRUMENT_DIR"


@dataclass(frozen=True)
class ScriptFiles:
    """The files between agent and script."""

    stop: Path
    """Appears when the script must save and leave."""
    save: Path
    """Appears when the script should save and train on."""
    data_wait: Path
    """A folder, in which the script's processes measure how long they wait for data."""
    automatic: Path
    """A folder, in which the hooks and the agent try automatic checkpoints."""
    instrument: Path
    """A folder, in which the script's processes count where their time goes."""
    ended: Path
    """A folder, in which each process of the script notes what it has read of the checkpoints, and
    that its code has ended well."""
    temporary: Path
    """A folder for the script's temporary files, which is emptied before each start."""

    @classmethod
    def create(cls, folder: Path) -> ScriptFiles:
        names = ("stop-soon", "save-soon", "data-wait", "automatic")
        files = cls(*(folder / name for name in (*names, "instrument", "ended", "tmp")))
        folders = (files.data_wait, files.automatic, files.instrument, files.ended)
        for each in (*folders, files.temporary):
            each.mkdir()
        return files


def script_environment(
    job: Job,
    settings: Settings,
    hardware: Hardware,
    files: ScriptFiles,
    *,
    defaults: Mapping[str, str],
    processes: int,
    inherited: Mapping[str, str],
) -> dict[str, str]:
    """The variables of SageMaker's toolkit and Tidewheel's own, over those that are inherited.

    `defaults` are the strategy's variables; an inherited one of the same name wins. `processes`
    share this host's CPUs.
    """
    # Its sitecustomize comes before one of the source, and runs that one too.
    path = [str(FOR_SCRIPTS), str(job.code_dir)]
    path += [p for p in (inherited.get("PYTHONPATH"),) if p]
    own = {
        **sagemaker_environment(job, hardware, inherited),
        "PYTHONPATH": os.pathsep.join(path),
        "PATH": path_with_interpreter(inherited.get("PATH", os.defpath)),
        "TIDEWHEEL_WORKING_DIR": str(job.working_dir),
        "TIDEWHEEL_STOP_FILE": str(files.stop),
        "TIDEWHEEL_SAVE_FILE": str(files.save),
        "TIDEWHEEL_DATA_WAIT_DIR": str(files.data_wait),
        "TIDEWHEEL_ENDED_DIR": str(files.ended),
        "TIDEWHEEL_STACK_SIGNAL": str(STACK_SIGNAL),
        "TIDEWHEEL_LEADS": "1" if job.is_leader else "0",
        "TIDEWHEEL_GRACE_SECONDS": f"{settings.grace_seconds:g}",
    }
    if job.checkpoint_dir is not None:
        own["TIDEWHEEL_CHECKPOINT_DIR"] = str(job.checkpoint_dir)
    if job.checkpoint_seconds is not None:
        own["TIDEWHEEL_CHECKPOINT_SECONDS"] = f"{job.checkpoint_seconds:g}"
    own |= instrument_environment(job, files, own["PYTHONPATH"])
    own |= automatic_environment(job, files, own["PYTHONPATH"])
    declared = {name: expand(text, job.paths) for name, text in job.script.environment.items()}
    threads = thread_environment(hardware.cpus, processes, inherited, declared)
    usual = {
        "PYTHONUNBUFFERED": "1",
        # A cache: what PyTorch has compiled serves the next start on this host.
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(inherited.get("TMPDIR", "/tmp"), "torchinductor"),
    }
    temporary = {"TMPDIR": str(files.temporary)}
    return {**defaults, **usual, **inherited, **temporary, **threads, **declared, **own}


def instrument_environment(job: Job, files: ScriptFiles, python_path: str) -> dict[str, str]:
    """What the hooks that measure need; empty where the pipeline declines them."""
    if not job.script.instrument:
        return {}
    return {
        "PYTHONPATH": f"{INSTRUMENT}{os.pathsep}{python_path}",
        INSTRUMENT_FOLDER: str(files.instrument),
    }


def automatic_environment(job: Job, files: ScriptFiles, python_path: str) -> dict[str, str]:
    """What the hooks of `training.checkpoint: automatic` need; empty where it is not declared.

    The order of a set of strings differs between two processes unless the hash seed is fixed.
    """
    rules = job.checkpoint_rules
    if rules is None or not rules.automatic:
        return {}
    return {
        "PYTHONPATH": f"{AUTOMATIC}{os.pathsep}{python_path}",
        "PYTHONHASHSEED": "0",
        "TIDEWHEEL_AUTOMATIC_DIR": str(rules.folder),
        "TIDEWHEEL_AUTOMATIC_TRIAL": str(files.automatic),
    }


def thread_environment(
    cpus: int, processes: int, inherited: Mapping[str, str], declared: Mapping[str, str]
) -> dict[str, str]:
    """Gives each process its share of the CPUs, except where the user has set the variable.

    MKL and its like follow OMP_NUM_THREADS, unless they have a number of their own, which PyTorch
    takes. So a declared OMP_NUM_THREADS replaces those numbers of the image.
    """
    share = str(max(1, cpus // max(1, processes)))
    given = {*inherited, *declared}
    if "OMP_NUM_THREADS" in given:
        given.update(_FOLLOWERS)
    threads = {name: share for name in _THREAD_VARIABLES if name not in given}
    if (number := declared.get("OMP_NUM_THREADS")) is not None:
        threads |= {name: number for name in _FOLLOWERS if name in inherited}
    return threads


def path_with_interpreter(path: str) -> str:
    """Commands such as accelerate and torchrun lie beside the interpreter that has the packages."""
    folder = str(Path(sys.executable).parent)
    return path if folder in path.split(os.pathsep) else f"{folder}{os.pathsep}{path}"
