"""What each version of a dataset must hold, said by a model that shares nothing with the service.

Reads one history a line: its steps, and after each of them the shards of the newest version as
they lie in the bucket. Python's own tarfile reads these. Prints every difference.
"""

import base64
import io
import json
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable

Objects = dict[str, str]


def stem_of(key: str) -> str:
    return key.rpartition(".")[0]


class Model:
    """The bucket's owner, and what training is to see."""

    def __init__(self) -> None:
        self.incoming: Objects = {}
        self.samples: list[Objects] = []
        self.retracted: set[tuple[str, str]] = set()

    def take(self, step: dict[str, str]) -> None:
        kind, key, body = step["kind"], step.get("key", ""), step.get("body", "")
        if kind == "put":
            self.incoming[key] = body
        elif kind == "delete":
            self.incoming.pop(key, None)
        elif kind == "retract":
            self.retract(key)
        elif kind == "run":
            self.run()

    def run(self) -> None:
        listed: dict[str, Objects] = {}
        for key, body in self.incoming.items():
            if (key, body) not in self.retracted:
                listed.setdefault(stem_of(key), {})[key] = body
        for sample in listed.values():
            olds = [old for old in self.samples if old.keys() & sample.keys()]
            # The same bytes are no news.
            if sample.items() <= {item for old in olds for item in old.items()}:
                continue
            # A correction that lacks members of the sample replaces nothing.
            if all(old.keys() <= sample.keys() for old in olds):
                self.samples = [one for one in self.samples if one not in olds] + [sample]

    def retract(self, key: str) -> None:
        left = [sample for sample in self.samples if key not in sample]
        # A dataset has a sample.
        if left:
            for sample in self.samples:
                self.retracted.update(sample.items() if key in sample else ())
            self.samples = left

    def members(self) -> Counter[tuple[str, str]]:
        held: Counter[tuple[str, str]] = Counter()
        for sample in self.samples:
            stem = stem_of(next(iter(sample)))
            held.update(sample.items())
            held[(f"{stem}.cls", stem.split("/")[0])] += 1
        return held


def read(shards: Iterable[str]) -> Counter[tuple[str, str]]:
    held: Counter[tuple[str, str]] = Counter()
    for shard in shards:
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(shard))) as tar:
            for member in tar:
                body = tar.extractfile(member)
                # Two samples of one name in a shard.
                name = re.sub("~c[0-9]+c*", "", member.name)
                held[(name, body.read().decode() if body else "")] += 1
    return held


def main() -> int:
    histories = differences = versions = 0
    for line in sys.stdin:
        history = json.loads(line)
        histories += 1
        model = Model()
        for number, step in enumerate(history["steps"]):
            model.take(step)
            if "shards" not in step:
                continue
            versions += 1
            expected, found = model.members(), read(step["shards"])
            if expected != found:
                differences += 1
                print(f"seed {history['seed']}, step {number} ({step['kind']}):")
                print(f"  lacks {dict(expected - found)}, has besides {dict(found - expected)}")
    print(f"{histories} histories, {versions} versions, {differences} differ")
    return 1 if differences > 0 or histories == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
