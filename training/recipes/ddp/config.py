"""The recipe's settings."""

from dataclasses import dataclass

from common.settings import ImageSettings, limited


@dataclass(frozen=True, kw_only=True)
class Config(ImageSettings):
    width: int = limited(32, 1, 4096)
    """Channels of the first convolution; the next two have twice and four times as many."""
