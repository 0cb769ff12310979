"""Strategy `single`: the script itself, once."""

from __future__ import annotations

from ..configuration.command_line import script_command
from ..configuration.hardware import Hardware
from ..configuration.job import Job
from ..configuration.settings import Settings
from .launch import Launch


def launch(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    return Launch(script_command(job), processes=1)
