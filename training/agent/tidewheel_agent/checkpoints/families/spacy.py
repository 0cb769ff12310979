"""spaCy's `model-last` and `model-best`, which it writes over file by file.

It writes the vocabulary's lookups last. Source: spacy/language.py, `Language.to_disk`.
"""

import json
from dataclasses import replace

from ..formats.files import FileReader
from ..formats.msgpack import read_msgpack
from ..tree import Folder
from .found import Claim, found_in, whole_folder

_META, _CONFIG, _STRINGS = "meta.json", "config.cfg", "strings.json"
_PACKED = ("model", "tokenizer", "key2row", "lookups.bin")


def find(folder: Folder, reader: FileReader) -> Claim | None:
    if _CONFIG not in folder.files or not {_META, "tokenizer"} & folder.files.keys():
        return None
    found = replace(found_in(folder, "spaCy"), problem=_problem(folder, reader))
    return whole_folder(folder, found)


def _problem(folder: Folder, reader: FileReader) -> str:
    vocabulary = folder.folders.get("vocab", Folder(folder.path, ""))
    missing = {_META} - folder.files.keys() or {_STRINGS, "lookups.bin"} - vocabulary.files.keys()
    if missing:
        return f"{folder.name}: {min(missing)} is missing"
    try:
        json.loads((folder.path / _META).read_bytes())
        json.loads((vocabulary.path / _STRINGS).read_bytes())
    except ValueError as error:
        return f"{folder.name}: a file is cut off: {error}"
    for below in (folder, *folder.folders.values()):
        for name in sorted(below.files.keys() & set(_PACKED)):
            reading = reader.read(below.path / name, below.files[name], read_msgpack)
            if reading is not None and reading.problem:
                return f"{below.name}: {reading.problem}"
    return ""
