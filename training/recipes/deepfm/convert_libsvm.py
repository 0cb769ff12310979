"""LibSVM to TFRecord: `python convert_libsvm.py FILE … FOLDER [--numbers 13] [--records 100000]`.

A line is `label index:value …`. The indices up to `--numbers` are numbers (of Criteo's clicks, the
first 13); a number that a line leaves out is 0. Each other index is a feature that is present, and
every line has as many of them. Labels are 0 and 1, or -1 and 1.
"""

import argparse
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from records import Click, write_file


def read_lines(lines: Iterable[str], name: str, numbers: int) -> Iterator[Click]:
    """Empty lines and comments after `#` are passed over."""
    fields = None
    for number, line in enumerate(lines, start=1):
        label, *entries = line.partition("#")[0].split() or [""]
        if label == "":
            continue
        try:
            click = _click(label, entries, numbers)
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}") from error
        fields = len(click.ids) if fields is None else fields
        if len(click.ids) != fields:
            raise ValueError(
                f"{name}, line {number}: {len(click.ids)} features above {numbers}, and lines "
                f"before have {fields}: is --numbers right?"
            )
        yield click


def _click(label: str, entries: list[str], numbers: int) -> Click:
    if float(label) not in (-1, 0, 1):
        raise ValueError(f"label {label}: give 0 and 1, or -1 and 1")
    values, ids = [0.0] * numbers, []
    for entry in entries:
        index, _, value = entry.partition(":")
        place = int(index)
        if 1 <= place <= numbers:
            values[place - 1] = float(value)
        elif place > numbers and float(value) == 1:
            ids.append(place - numbers - 1)
        else:
            raise ValueError(f"{entry}: give indices from 1 on, and 1 for those above {numbers}")
    return Click(int(float(label) > 0), ids, values)


def convert(files: Iterable[Path], folder: Path, *, numbers: int, records: int) -> int:
    """Writes shards of `records` samples each. Returns their number."""
    folder.mkdir(parents=True, exist_ok=True)
    shards = 0
    for file in files:
        with file.open(encoding="utf-8") as lines:
            clicks = read_lines(lines, str(file), numbers)
            while some := list(islice(clicks, records)):
                write_file(folder / f"{shards:06d}.tfrecord", some)
                shards += 1
    return shards


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--numbers", type=int, default=13)
    parser.add_argument("--records", type=int, default=100_000)
    given = parser.parse_args()
    made = convert(given.files, given.folder, numbers=given.numbers, records=given.records)
    print(f"{made} shards in {given.folder}")
