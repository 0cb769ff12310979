"""The recipe's settings."""

from dataclasses import dataclass

from common.settings import ImageSettings, TransformerSettings


@dataclass(frozen=True, kw_only=True)
class Config(ImageSettings, TransformerSettings):
    """Both groups of settings, and no further one."""
