"""Strategy `single`: the script itself, once."""

from __future__ import annotations

from ..configuration.hardware import Hardware
from ..configuration.job import Job
from ..configuration.settings import Settings
from .launch import Launch, script_command


def launch(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    return Launch(script_command(job), processes=1)
