"""After a script that failed inside of a hook: once more, without the hooks."""

from __future__ import annotations

from dataclasses import replace

from ..configuration.script_environment import INSTRUMENT_FOLDER
from ..evidence.cells import note_removed
from ..failure_file import LogTail
from ..log import log
from ..supervision.script_end import ScriptEnd
from .host_run import HostRun
from .plan_launch import plan_launch
from .prepare import Prepared

_FRAME = '  File "'
_HOOKS = "tidewheel_instrument"


def start_unmeasured(run: HostRun, prepared: Prepared, end: ScriptEnd) -> Prepared | None:
    """The script goes on from its checkpoint, if it saved one.

    None where its traceback ends elsewhere. The hosts of a gang would have to agree, so this holds
    for a script on one host.
    """
    failed = end.script_code != 0 and not end.was_stopped and not end.was_killed
    if not failed or len(run.job.hosts) > 1 or INSTRUMENT_FOLDER not in prepared.environment:
        return None
    traceback = prepared.tail.traceback()
    frames = [line for line in traceback if line.startswith(_FRAME)]
    if not frames or _HOOKS not in frames[-1]:
        return None
    log(f"{run.job.program} begins again without the hooks that measure: {traceback[-1]}")
    note_removed(prepared.files.instrument, "the script's own calls", traceback[-1])
    launch, environment = plan_launch(run.job, run.settings, prepared.hardware, prepared.files)
    environment.pop(INSTRUMENT_FOLDER, None)
    return replace(prepared, launch=launch, environment=environment, tail=LogTail())
