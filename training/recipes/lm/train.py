"""Trains a small language model over packed text on any number of processes: torchrun's, or one for
each GPU of this host."""

from __future__ import annotations

from common.program import run
from config import Config
from language import LanguageTask

if __name__ == "__main__":
    run(Config, LanguageTask)
