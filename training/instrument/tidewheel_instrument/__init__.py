"""Hooks that count where a script's time goes; docs/decisions/0022-count-inside-the-script.md."""
