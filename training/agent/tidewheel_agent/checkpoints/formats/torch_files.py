"""Files of torch.save, of both formats, and the zips of NumPy, Keras, Stable-Baselines3 and TabNet.

A zip has its directory at the end, so a file that is still being written has none. The old format
is a sequence of pickles with the tensors' bytes behind them, whose lengths the pickles name.
Source: torch/serialization.py, `_save` and `_legacy_save`.
"""

import json
import struct
import zipfile
import zlib
from pathlib import Path

from .inert_pickle import Inert, InertUnpickler, kind_of, load_inert, read_pickle
from .step_names import Position, Reading, first_count, position_inside

_LARGEST_STRUCTURE = 64 * 1024 * 1024
_ZIP_HEADER_BYTES = 30
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_ELEMENT_BYTES = {
    **dict.fromkeys(("ByteStorage", "CharStorage", "BoolStorage", "QUInt8Storage"), 1),
    **dict.fromkeys(("QInt8Storage", "UntypedStorage"), 1),
    **dict.fromkeys(("ShortStorage", "HalfStorage", "BFloat16Storage"), 2),
    **dict.fromkeys(("IntStorage", "FloatStorage", "QInt32Storage"), 4),
    **dict.fromkeys(("LongStorage", "DoubleStorage", "ComplexFloatStorage"), 8),
    "ComplexDoubleStorage": 16,
}


def read_zip(path: Path, *, checks_sums: bool) -> Reading | None:
    """None for a zip that no framework writes as a checkpoint."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            structure = next((name for name in names if name.endswith("/data.pkl")), None)
            is_keras = "model.weights.h5" in names and "config.json" in names
            is_numpy = bool(names) and all(name.endswith(".npy") for name in names)
            # Stable-Baselines3 and TabNet: torch's files beside a description in JSON.
            is_pack = any(name.endswith((".pth", ".pt")) for name in names)
            if structure is None and not is_keras and not is_numpy and not is_pack:
                return None
            damaged = _first_damaged(archive) if checks_sums else None
            if damaged is not None:
                return Reading(f"{damaged} inside {path.name} does not match its checksum")
            if structure is None:
                return Reading(position=_timesteps(archive) if is_pack else None)
            if archive.getinfo(structure).file_size > _LARGEST_STRUCTURE:
                return Reading()
            return _reading_of(read_pickle(_content(archive, structure)))
    except ValueError as error:
        return Reading(f"{path.name} holds {error}")
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError) as error:
        return Reading(f"{path.name} is cut off: {error}")


def _timesteps(archive: zipfile.ZipFile) -> Position | None:
    """Of Stable-Baselines3. Source: stable_baselines3/common/save_util.py, `save_to_zip_file`."""
    if "data" not in archive.namelist() or archive.getinfo("data").file_size > _LARGEST_STRUCTURE:
        return None
    try:
        data = json.loads(archive.read("data"))
    except (ValueError, RecursionError):
        return None
    steps = first_count(data, ("num_timesteps",)) if isinstance(data, dict) else None
    return None if steps is None else Position(steps, "step")


def _first_damaged(archive: zipfile.ZipFile) -> str | None:
    """Entries without a checksum pass: torch.save has an option to write none."""
    for info in archive.infolist():
        if info.CRC == 0:
            continue
        try:
            with archive.open(info) as entry:
                while entry.read(1 << 20):
                    pass
        except (zipfile.BadZipFile, zlib.error):
            return info.filename
    return None


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    """The entry's bytes, also of an entry without a checksum."""
    info = archive.getinfo(name)
    if info.CRC != 0 or info.compress_type != zipfile.ZIP_STORED:
        return archive.read(info)
    with Path(str(archive.filename)).open("rb") as file:
        file.seek(info.header_offset)
        header = file.read(_ZIP_HEADER_BYTES)
        # The header ends with the lengths of the name and the extra field behind it.
        file.seek(sum(struct.unpack_from("<HH", header, _ZIP_HEADER_BYTES - 4)), 1)
        return file.read(info.file_size)


def read_legacy(path: Path) -> Reading | None:
    """None for a file of another format."""
    with path.open("rb") as file:
        try:
            if load_inert(InertUnpickler(file)) != _LEGACY_MAGIC:
                return None
            if load_inert(InertUnpickler(file)) != _LEGACY_PROTOCOL:
                return None
        except ValueError:
            return None
        try:
            load_inert(InertUnpickler(file))
            unpickler = InertUnpickler(file)
            saved = load_inert(unpickler)
            keys = load_inert(InertUnpickler(file))
        except ValueError:
            return Reading(f"{path.name} is cut off inside its structure")
        if not isinstance(keys, list):
            return Reading(f"{path.name} names no storages")
        size = path.stat().st_size
        for key in keys:
            kind = unpickler.storages.get(key, ("", 0))[0]
            length = file.read(8)
            if len(length) < 8 or kind not in _ELEMENT_BYTES:
                return Reading(f"{path.name} is cut off before storage {key}")
            file.seek(struct.unpack("<q", length)[0] * _ELEMENT_BYTES[kind], 1)
            if file.tell() > size:
                return Reading(f"{path.name} is cut off inside storage {key}")
        return _reading_of(saved)


def _reading_of(saved: object) -> Reading:
    return Reading(position=position_inside(saved), is_weights_only=_is_weights_only(saved))


def _is_weights_only(saved: object) -> bool:
    if not isinstance(saved, dict) or not saved:
        return False
    return all(
        isinstance(value, Inert) and kind_of(value).startswith("_rebuild")
        for value in saved.values()
    )
