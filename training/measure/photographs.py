"""Made-up photographs as WebDataset shards: as they come, or prepared as packing would."""

from __future__ import annotations

import io
import random
import tarfile
from pathlib import Path

from PIL import Image, ImageDraw

_SIDE = 1024
_QUALITY = 85
_COARSE = 16
"""Side of the noise that is enlarged to a picture, so that it compresses as a photograph does."""


def write_photographs(folder: Path, *, count: int, side: int = 0) -> None:
    """JPEGs of 1024 pixels of a disc or a square. `side`: resized to it, as `packing.prepare.image`
    would; 0 leaves them."""
    folder.mkdir(parents=True)
    chosen = random.Random(7)
    with tarfile.open(folder / "000000.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for number in range(count):
            label = number % 2
            image = _photograph(chosen, label)
            if side:
                image = image.resize((side, side), Image.Resampling.LANCZOS)
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", quality=_QUALITY)
            for suffix, content in (("cls", str(label).encode()), ("jpg", buffer.getvalue())):
                member = tarfile.TarInfo(f"{number:06d}.{suffix}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


def _photograph(chosen: random.Random, label: int) -> Image.Image:
    noise = Image.frombytes("RGB", (_COARSE, _COARSE), chosen.randbytes(3 * _COARSE**2))
    image = noise.resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)
    place = chosen.randrange(_SIDE // 2)
    draw = ImageDraw.Draw(image)
    shape = draw.ellipse if label else draw.rectangle
    shape((place, place, place + _SIDE // 2, place + _SIDE // 2), fill=(200, 60, 40))
    return image
