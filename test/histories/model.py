"""What each version of a dataset must hold, said by a model that shares nothing with the service.

Reads one history a line: its steps, and after each of them the shards of the newest version as
they lie in the bucket. Prints every difference.

Of a key that came in bundles and as an object, the newest counts. Where deletions are kept, an
older one that a deletion uncovers is no news: the dataset has what followed it. What runs delete
themselves (`whenDone: delete`) is no deletion by the owner, and everything that it takes away is
in the dataset.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

from shard_readers import Held, read, unbalanced, uneven

Objects = dict[str, tuple[str, str]]  # body and ETag by key


class Sample(Objects):
    """As packed."""

    label = ""
    is_alone = False


Version = tuple[int, str, str]  # number of the step, body and ETag


def md5(body: str) -> str:
    return hashlib.md5(body.encode()).hexdigest()


def stem_of(key: str) -> str:
    return key.rpartition(".")[0]


def suffix_of(key: str) -> str:
    return key.rpartition(".")[2].lower()


def samples_of(objects: Objects, label: str | None) -> Iterable[Sample]:
    """A key whose suffix differs only in case from one before it is a sample of its own."""
    first = Sample()
    first.label = label or ""
    for key in sorted(objects):
        if suffix_of(key) not in {suffix_of(other) for other in first}:
            first[key] = objects[key]
            continue
        alone = Sample({key: objects[key]})
        alone.label, alone.is_alone = first.label, True
        yield alone
    yield first


class Model:
    """The bucket's owner, and what training is to see."""

    def __init__(self, history: dict[str, Any]) -> None:
        self.split = history.get("split")
        self.retracts = history["onDelete"] == "retract"
        self.suffixes = {{"image": "jpg"}.get(column, column) for column in history["require"]}
        self.annotated = history["annotated"]
        self.rows: list[list[str]] = []  # stem and label
        self.plain: dict[str, Version] = {}
        self.bundles: list[tuple[int, dict[str, str]]] = []  # number of the step, and files
        self.sealed: dict[str, tuple[int, str]] = {}  # what a run took last: step and ETag
        self.samples: list[Sample] = []
        self.version: list[Sample] = []
        self.retracted: set[tuple[str, str]] = set()  # key and body
        self.packed: dict[str, tuple[Version, str]] = {}  # by the last run, and the packed ETag
        self.taken: set[tuple[str, str]] = set()  # by runs that delete: key and packed ETag
        self.either: set[str] = set()  # the last run may delete these, or not
        self.missed: set[str] = set()  # stems
        self.cleans = False  # some run has
        self.wrong: list[str] = []
        self.junk: set[str] = set()  # is no data, and no run deletes it
        self.same: dict[tuple[str, str], str] = {}  # the ETag of the packed object with these bytes

    def take(self, number: int, step: dict[str, Any]) -> None:
        kind = step["kind"]
        if kind in ("put", "bundle", "delete", "junk"):
            self.change(number, step)
        elif kind == "retract":
            self.retract(step["key"])
        elif kind == "giveUp":
            self.give_up(step["packed"], step["rejected"])
        elif kind == "annotate":
            self.rows = step["rows"]
        elif kind == "declare":
            self.retracts = step["onDelete"] == "retract"
        elif kind == "clean":
            self.clean(step["cleaned"])
        elif kind == "run":
            self.run_beside(step)
        # A dataset has a sample: the version before stays where none is left.
        self.version = self.samples or self.version

    def change(self, number: int, step: dict[str, Any]) -> None:
        """What the owner does to the objects under incoming/."""
        kind, key, body = step["kind"], step.get("key", ""), step.get("body", "")
        if kind == "put":
            self.plain[key] = (number, body, step.get("etag") or md5(body))
        elif kind == "bundle":
            self.bundles = [one for one in self.bundles if one[1] != step["files"]]
            self.bundles.append((number, step["files"]))
        elif kind == "delete":
            self.plain.pop(key, None)
        else:
            self.junk.add(key)

    def give_up(self, packed: list[str], rejected: list[str]) -> None:
        """It is as if the generation had never been, but for what was retracted."""
        self.samples = [one for one in self.samples if not one.keys() & set(packed)]
        self.version = self.samples
        for key in packed + rejected:
            self.sealed.pop(key, None)
        self.taken = {one for one in self.taken if one[0] not in packed}
        # That these bytes are no news is noted again.
        self.same = {one: etag for one, etag in self.same.items() if one[0] not in rejected}

    def clean(self, cleaned: dict[str, Any]) -> None:
        """A run has deleted what it packed, or only some of it."""
        done = {key for key, one in self.plain.items() if self.was_packed(key, one[2])}
        gone = self.plain.keys() - set(cleaned["objects"])
        self.wrong += [f"{key} was deleted but not packed" for key in gone - done - self.either]
        self.wrong += [f"{key} was deleted" for key in self.junk - set(cleaned["objects"])]
        if cleaned["isWhole"]:
            self.wrong += [f"{key} was packed but not deleted" for key in done - gone - self.either]
        for bundle in self.bundles:
            if bundle[1] not in cleaned["bundles"]:
                self.wrong += [f"{key} was lost with its bundle" for key in self.lost(bundle[1])]
                self.taken.update((key, md5(body)) for key, body in bundle[1].items())
        for key in gone:
            del self.plain[key]
        self.bundles = [one for one in self.bundles if one[1] in cleaned["bundles"]]
        if cleaned["isBegun"]:
            self.cleans = True
            self.taken.update((key, etag) for key, (_, etag) in self.packed.items())

    def was_packed(self, key: str, etag: str) -> bool:
        """By the last run, as an object of its own."""
        version, _ = self.packed.get(key, ((0, "", ""), ""))
        return version[2] == etag and version[0] not in {number for number, _ in self.bundles}

    def lost(self, files: dict[str, str]) -> list[str]:
        """What a bundle held, and neither the dataset nor a newer version does."""
        bundled = self.bundled()
        held = {key: one for old in self.samples for key, one in old.items()}
        return [
            key
            for key in files
            if not (key in held and held[key][0] == bundled[key][1])
            and self.sealed.get(key, (0, ""))[0] <= bundled[key][0]
        ]

    def bundled(self) -> dict[str, Version]:
        return {
            key: (number, body, md5(body))
            for number, files in self.bundles
            for key, body in files.items()
        }

    def incoming(self) -> dict[str, Version]:
        newest = self.bundled()
        for key, version in self.plain.items():
            newest[key] = max(version, newest.get(key, version))
        return newest

    def label_of(self, stem: str) -> str | None:
        """None where a file of annotations gives none, or more than one."""
        labels = {label for row, label in self.rows if row == stem}
        if not self.annotated:
            labels = {stem.split("/")[0]}
        return labels.pop() if len(labels) == 1 else None

    def is_removed(self, sample: Objects, incoming: dict[str, Version]) -> bool:
        return any(
            key not in incoming and (key, etag) not in self.taken
            for key, (_, etag) in sample.items()
        )

    def is_news(self, key: str, version: Version) -> bool:
        number, etag = self.sealed.get(key, (0, ""))
        return version[0] >= number or self.same.get((key, version[2]), version[2]) == etag

    def listed(self, incoming: dict[str, Version]) -> Iterable[Objects]:
        """What a run may pack, by stem."""
        takes_all = self.retracts and not self.cleans
        samples: dict[str, Objects] = {}
        for key, version in incoming.items():
            _, body, etag = version
            if not takes_all and not self.is_news(key, version):
                continue
            if (key, body) in self.retracted:
                # What came before it is no news either.
                self.sealed[key] = (version[0], etag)
            else:
                samples.setdefault(stem_of(key), {})[key] = (body, etag)
        return samples.values()

    def run_beside(self, step: dict[str, Any]) -> None:
        """Run, and retract what was retracted before, meanwhile or after."""
        key, when = step.get("key"), step.get("when")
        if when == "before":
            self.retract(key)
            self.version = self.samples or self.version
        self.missed = {stem_of(each) for each in step["missed"]}
        self.run(key if when in ("planned", "sealed") else None, is_sealed=when == "sealed")
        if when == "after":
            self.version = self.samples or self.version
            self.retract(key)

    def run(self, overtaking: str | None, *, is_sealed: bool) -> None:
        """
        Leave out what was packed or held of a key that is retracted between plan and manifest.

        A seal that had looked before may name it as packed, so that its run deletes the object.
        """
        incoming = self.incoming()
        self.packed = {}
        # What had changed when it was packed comes in the next run, with its sample.
        listed = [
            one for one in self.listed(incoming) if stem_of(next(iter(one))) not in self.missed
        ]
        withdrawn = self.keys_with(overtaking)
        stems = {stem_of(key) for key in withdrawn if is_sealed}
        self.either = {key for key in incoming if stem_of(key) in stems}
        self.note_retracted(withdrawn)
        # Its own compaction comes before what the run takes away.
        self.version = [one for one in self.samples if not withdrawn & one.keys()] or self.version
        if self.retracts:
            gone = [one for one in self.samples if self.is_removed(one, incoming)]
            self.samples = [one for one in self.samples if one not in gone]
        for objects in listed:
            label = self.label_of(stem_of(next(iter(objects))))
            # Others wait for the rest.
            samples = [one for one in samples_of(objects, label) if not label or self.is_whole(one)]
            if label:
                news = [one for one in samples if not self.is_held(one, incoming)]
                if any(withdrawn & one.keys() for one in samples):
                    self.withdraw(withdrawn)
                for group in self.groups_of(news):
                    self.pack(group, incoming)
            for key, (_, etag) in ((key, one[key]) for one in samples for key in one):
                self.sealed[key] = (incoming[key][0], self.same.get((key, etag), etag))
        for key in (key for one in self.samples if withdrawn & one.keys() for key in one):
            self.packed.pop(key, None)
        self.withdraw(withdrawn)

    def is_whole(self, sample: Sample) -> bool:
        return self.suffixes <= {suffix_of(key) for key in sample}

    def is_held(self, sample: Sample, incoming: dict[str, Version]) -> bool:
        """The same bytes are no news, whatever their ETag. With annotations, they are not read."""
        olds = [old for old in self.samples if old.keys() & sample.keys()]
        held = {key: found for old in olds for key, found in old.items()}
        looked_at = slice(2 if self.annotated else 1)
        # Its siblings are packed without it now.
        if sample.is_alone and any(len(old) > 1 for old in olds):
            return False
        if any(old.label != sample.label for old in olds) or any(
            key not in held or held[key][looked_at] != found[looked_at]
            for key, found in sample.items()
        ):
            return False
        noted = {(key, etag): held[key][1] for key, (_, etag) in sample.items()}
        # Or another version came in between, which was rejected.
        if any(
            self.same.get(one, one[1]) != packed or self.sealed_etag(one[0], packed) != packed
            for one, packed in noted.items()
        ):
            self.packed.update((key, (incoming[key], held[key][1])) for key in sample)
        self.same.update(noted)
        return True

    def sealed_etag(self, key: str, otherwise: str) -> str:
        return self.sealed.get(key, (0, otherwise))[1]

    def groups_of(self, news: list[Sample]) -> list[list[Sample]]:
        """Those that share an old sample replace it together."""
        groups: list[list[Sample]] = []
        for sample in news:
            shared = {key for old in self.samples if old.keys() & sample.keys() for key in old}
            linked = [group for group in groups if any(shared & one.keys() for one in group)]
            groups = [group for group in groups if group not in linked]
            groups.append([sample, *(one for group in linked for one in group)])
        return groups

    def pack(self, samples: list[Sample], incoming: dict[str, Version]) -> None:
        keys = {key for sample in samples for key in sample}
        olds = [old for old in self.samples if old.keys() & keys]
        # A correction that lacks members of the sample replaces nothing.
        if any(old.keys() - keys for old in olds):
            return
        self.samples = [one for one in self.samples if one not in olds] + samples
        for key, (_, etag) in ((key, one[key]) for one in samples for key in one):
            self.packed[key] = (incoming[key], etag)
            # What is packed now has the ETag that it came with.
            self.same.pop((key, etag), None)

    def retract(self, key: str | None) -> None:
        self.withdraw(self.keys_with(key))

    def keys_with(self, key: str | None) -> set[str]:
        """Of its sample, unless none would be left. Where there is none, a run may have the key."""
        if key is None or (self.version and all(key in sample for sample in self.samples)):
            return set()
        return {key, *(each for sample in self.samples if key in sample for each in sample)}

    def note_retracted(self, keys: set[str]) -> None:
        for sample in self.samples:
            if keys & sample.keys():
                self.retracted.update((each, body) for each, (body, _) in sample.items())

    def withdraw(self, keys: set[str]) -> None:
        self.note_retracted(keys)
        self.samples = [sample for sample in self.samples if not keys & sample.keys()]

    def members(self) -> Held:
        held: Held = Counter()
        for sample in self.version:
            stem = stem_of(next(iter(sample)))
            part = split_of(stem, self.split)
            held.update(
                (part, f"{stem}.{suffix_of(key)}", body) for key, (body, _) in sample.items()
            )
            held[(part, f"{stem}.cls", sample.label)] += 1
        return held


def group_of(stem: str, split: dict[str, Any]) -> str:
    return stem.split("/")[0] if split["by"] == "group" else stem


def split_of(stem: str, split: dict[str, Any] | None) -> str:
    """By the SHA-256 of the sample's name, or of its group, as a number from 0 to 1."""
    if split is None:
        return ""
    digest = hashlib.sha256(group_of(stem, split).encode()).digest()
    place = int.from_bytes(digest[:6], "big") / 2**48
    for part in ("train", "validation"):
        place -= split[part]
        if place < 0:
            return part
    return "test"


class Parts:
    """The split in which each sample or group was first seen: it has no other, ever."""

    def __init__(self, split: dict[str, Any] | None) -> None:
        self.split = split
        self.seen: dict[str, str] = {}

    def moved(self, held: Held) -> set[str]:
        if self.split is None:
            return set()
        groups = {(group_of(stem_of(key), self.split), part) for part, key, _ in held}
        return {group for group, part in groups if self.seen.setdefault(group, part) != part}


def main() -> int:
    histories = differences = versions = 0
    for line in sys.stdin:
        history = json.loads(line)
        histories += 1
        if "failed" in history:
            differences += 1
            print(f"seed {history['seed']}: {history['failed']}")
            continue
        model, parts = Model(history), Parts(history.get("split"))
        for number, step in enumerate(history["steps"]):
            model.take(number, step)
            if model.wrong:
                differences += 1
                print(f"seed {history['seed']}, step {number} ({step['kind']}): {model.wrong}")
                model.wrong.clear()
            if "shards" not in step:
                continue
            versions += 1
            shards = read(history["format"], step["shards"])
            expected, found = model.members(), sum(shards.values(), Counter())
            if history["even"] or history["balanced"]:
                expected, found = Counter({*expected}), Counter({*found})
            notes = {
                "in two splits": parts.moved(found),
                "uneven": history["even"] and uneven(shards),
                "unbalanced": history["balanced"] and unbalanced(shards, step),
                "lacks": dict(expected - found),
                "has besides": dict(found - expected),
            }
            if any(notes.values()):
                differences += 1
                print(f"seed {history['seed']}, step {number} ({step['kind']}):")
                for note, what in notes.items():
                    if what:
                        print(f"  {note}: {what}")
    print(f"{histories} histories, {versions} versions, {differences} differ")
    return 1 if differences > 0 or histories == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
