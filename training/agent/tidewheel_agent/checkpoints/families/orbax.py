"""Orbax (JAX): a folder gets its final name once all is written, and notes when.

Source: orbax/checkpoint `_CHECKPOINT_METADATA` and `_METADATA`.
"""

from ..formats.files import FileReader
from ..tree import Folder
from .found import Claim, found_in, read_json_object, whole_folder

_CHECKPOINT = "_CHECKPOINT_METADATA"
_ITEM = "_METADATA"
_MANIFEST = "manifest.ocdbt"


def find(folder: Folder, reader: FileReader) -> Claim | None:
    if _CHECKPOINT not in folder.files and _ITEM not in folder.files:
        return None
    return whole_folder(folder, found_in(folder, "Orbax", _problem(folder)))


def _problem(folder: Folder) -> str:
    try:
        if _CHECKPOINT in folder.files:
            noted = read_json_object(folder, _CHECKPOINT)
            if noted.get("commit_timestamp_nsecs", 1) in (None, 0):
                return f"{_CHECKPOINT} has no time of commit"
        items = [each for each in (folder, *folder.folders.values()) if _ITEM in each.files]
        for item in items:
            read_json_object(item, _ITEM)
    except ValueError as error:
        return f"metadata is cut off: {error}"
    parts = [each for item in items for each in item.folders if each.startswith("ocdbt.process_")]
    if parts and not any(_MANIFEST in item.files for item in items):
        return f"{_MANIFEST}, which joins the processes' parts, is missing"
    return ""
