"""An EC2 host as a real process with the real agent; S3 is a folder, metadata comes over HTTP."""

from __future__ import annotations

import json
import tarfile
import threading
from pathlib import Path

import pytest

from cluster import wait_until
from ec2_host import FAKE_AWS, Host, channel, job, put
from tidewheel_contract.documents import DISK_FULL_EXIT_CODE
from tidewheel_host import aws_cli
from tidewheel_host.aws_cli import AwsCli, AwsCliError
from tidewheel_host.container import UnknownJobError, fetch_channels, parse_job
from tidewheel_host.context import Metadata
from tidewheel_host.host import read_failure
from tidewheel_host.rendezvous import HostsMissingError, default_interface, interface_for, meet
from tidewheel_host.uploads import CheckpointSync

SCRIPT = """
import json, os, signal, sys, time
folder = os.environ["TIDEWHEEL_CHECKPOINT_DIR"]
path = os.path.join(folder, "count.json")
count = json.load(open(path)) if os.path.exists(path) else 0
print("resumed at", count, flush=True)
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
while count < {steps} and not stop:
    count += 1
    time.sleep(0.05)
    with open(path + ".half", "w") as file:
        json.dump(count, file)
    os.replace(path + ".half", path)
if stop:
    sys.exit(143)
open(os.path.join(os.environ["SM_MODEL_DIR"], "model.txt"), "w").write(f"counted to {{count}}")
{end}
"""


def test_a_finished_training_leaves_the_model(
    tmp_path: Path, bucket: Path, imds: tuple[str, dict[str, str]]
) -> None:
    put(bucket / "code" / "train.py", SCRIPT.format(steps=3, end=""))
    host = Host(tmp_path / "host", bucket, imds[0], json.dumps(job()))
    report = host.ended()
    assert (report["exitCode"], report.get("stoppedBy")) == (0, None), host.log.read_text()
    uri = "s3://b/run/models/digits-000001-a1-abcdef/output/model.tar.gz"
    assert report["modelUri"] == uri
    with tarfile.open(bucket.parent / uri.removeprefix("s3://")) as archive:
        member = archive.extractfile("model.txt")
        assert member is not None
        assert member.read() == b"counted to 3"


def test_the_type_is_what_ec2_selected(
    tmp_path: Path, bucket: Path, imds: tuple[str, dict[str, str]]
) -> None:
    url, answers = imds
    answers["instance-type"] = "g6.xlarge"
    put(bucket / "code" / "train.py", SCRIPT.format(steps=1, end=""))
    host = Host(tmp_path / "host", bucket, url, json.dumps(job(instanceType="ml.g5.xlarge")))
    assert host.ended()["exitCode"] == 0, host.log.read_text()
    config = json.loads((tmp_path / "host" / "input/config/resourceconfig.json").read_text())
    assert config["current_instance_type"] == "ml.g6.xlarge"


def test_a_reclaimed_host_saves_and_another_resumes(
    tmp_path: Path, bucket: Path, imds: tuple[str, dict[str, str]]
) -> None:
    url, answers = imds
    put(bucket / "code" / "train.py", SCRIPT.format(steps=200, end=""))
    saved = bucket / "run" / "checkpoints" / "count.json"
    first = Host(tmp_path / "one", bucket, url, json.dumps(job()))
    wait_until(saved.exists, 30, "a checkpoint in the bucket")
    answers["spot/instance-action"] = '{"action": "terminate"}'
    report = first.ended()
    assert report["stoppedBy"] == "spot"
    assert report["exitCode"] != 0
    assert report["unsavedFiles"] == 0
    reached = int(saved.read_text())
    assert reached == json.loads((tmp_path / "one" / "checkpoints" / "count.json").read_text())

    del answers["spot/instance-action"]
    put(bucket / "code" / "train.py", SCRIPT.format(steps=reached + 2, end=""))
    second = Host(tmp_path / "two", bucket, url, json.dumps(job()), "attempts/2")
    assert second.ended()["exitCode"] == 0
    assert f"resumed at {reached}" in second.log.read_text()


def test_a_missing_checkpoint_is_reported_despite_the_upload(
    tmp_path: Path,
    bucket: Path,
    imds: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_S3_LOSES", "count.json")
    put(bucket / "code" / "train.py", SCRIPT.format(steps=3, end=""))
    host = Host(tmp_path / "host", bucket, imds[0], json.dumps(job()))
    report = host.ended()
    assert report["exitCode"] == 0, report
    assert report["unsavedFiles"] == 1
    log = host.log.read_text()
    assert "1 files of checkpoints are NOT in the bucket, count.json among them" in log


def test_a_host_leaves_when_the_service_asks(
    tmp_path: Path, bucket: Path, imds: tuple[str, dict[str, str]]
) -> None:
    put(bucket / "code" / "train.py", SCRIPT.format(steps=2_000, end=""))
    host = Host(tmp_path / "host", bucket, imds[0], json.dumps(job()))
    wait_until((bucket / "run" / "checkpoints" / "count.json").exists, 30, "training")
    put(host.folder / "requests" / "stop.json", "2026-11-21T04:00:00Z")
    assert host.ended()["stoppedBy"] == "stop"


def test_a_host_ends_at_its_time_limit(
    tmp_path: Path, bucket: Path, imds: tuple[str, dict[str, str]]
) -> None:
    put(bucket / "code" / "train.py", SCRIPT.format(steps=2_000, end=""))
    host = Host(tmp_path / "host", bucket, imds[0], json.dumps(job(maximumRunSeconds=1)))
    assert host.ended()["stoppedBy"] == "timeLimit"


def test_a_host_leaves_in_the_middle_of_its_download(
    tmp_path: Path,
    bucket: Path,
    imds: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_S3_HOLDS", "shards/")
    monkeypatch.setenv("FAKE_S3_HOLDS_UNTIL", str(tmp_path / "never"))
    url, answers = imds
    put(bucket / "code" / "train.py", SCRIPT.format(steps=3, end=""))
    put(bucket / "shards" / "0.tar", "7 bytes")
    host = Host(tmp_path / "host", bucket, url, json.dumps(job()), TIDEWHEEL_LOOK_SECONDS="0.2")
    report = bucket / "attempts/1/hosts/i-0a.json"
    wait_until(
        lambda: report.exists() and host.report()["phase"] == "downloading", 30, "the download"
    )
    answers["spot/instance-action"] = '{"action": "terminate", "time": "2026-11-21T04:00:00Z"}'
    ended = host.ended()
    assert (ended["stoppedBy"], ended["phase"]) == ("spot", "downloading")
    assert "scriptStartedAt" not in ended
    assert "failure" not in ended


def test_the_report_names_the_scripts_error(
    tmp_path: Path, bucket: Path, imds: tuple[str, dict[str, str]]
) -> None:
    put(bucket / "code" / "train.py", SCRIPT.format(steps=1, end="raise ValueError('no shards')"))
    report = Host(tmp_path / "host", bucket, imds[0], json.dumps(job())).ended()
    assert report["exitCode"] == 1
    assert "ValueError: no shards" in report["failure"]
    assert "modelUri" not in report


@pytest.mark.parametrize("text", ['{"version": 99}', "no json"], ids=["new", "broken"])
def test_the_report_says_why_a_host_cannot_train(
    tmp_path: Path, bucket: Path, imds: tuple[str, dict[str, str]], text: str
) -> None:
    put(bucket / "code" / "train.py", SCRIPT.format(steps=1, end=""))
    report = Host(tmp_path / "host", bucket, imds[0], text).ended()
    assert report["exitCode"] == 1
    assert report["failure"].split(":")[0] in ("UnknownJobError", "JSONDecodeError")


def test_a_host_reports_each_phase_from_its_first_second(
    tmp_path: Path,
    bucket: Path,
    imds: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, answers = imds
    answers["/latest/dynamic/instance-identity/document"] = '{"pendingTime":"2026-11-21T04:00:00Z"}'
    reachable = tmp_path / "reachable"
    monkeypatch.setenv("FAKE_S3_FAILS", "shards/=Could not connect to the endpoint URL")
    monkeypatch.setenv("FAKE_S3_FAILS_UNTIL", str(reachable))
    put(bucket / "code" / "train.py", SCRIPT.format(steps=2_000, end=""))
    put(bucket / "shards" / "0.tar", "7 bytes")
    text = json.dumps(job(downloadBytes=7))
    host = Host(tmp_path / "host", bucket, url, text, TIDEWHEEL_RENEW_SECONDS="0.2")
    report = bucket / "attempts/1/hosts/i-0a.json"

    def phase() -> str | None:
        return str(host.report()["phase"]) if report.exists() else None

    wait_until(lambda: phase() == "downloading", 30, "the download")
    seen = host.report()["seenAt"]
    wait_until(lambda: host.report()["seenAt"] > seen, 10, "a renewal")
    assert host.report()["downloadedBytes"] == 0
    line = "[tidewheel] 0.0 of 0.0 MB are downloaded"
    wait_until(lambda: line in host.log.read_text(), 10, "a line of the log")
    reachable.touch()
    wait_until(lambda: phase() == "script", 60, "the script")
    report_now = host.report()
    assert report_now["launchedAt"] == "2026-11-21T04:00:00Z"
    assert (report_now["downloadedBytes"], report_now["downloadBytes"]) == (7, 7)
    assert report_now["startedAt"] <= report_now["scriptStartedAt"] <= report_now["seenAt"]
    assert "endedAt" not in report_now
    put(host.folder / "requests" / "stop.json", "2026-11-21T04:00:00Z")
    assert host.ended()["phase"] == "script"


def test_a_disk_without_room_for_the_failure_is_a_platform_failure(tmp_path: Path) -> None:
    failure = read_failure(tmp_path, DISK_FULL_EXIT_CODE)
    assert failure is not None
    assert failure.startswith("Platform failure (disk): ")
    assert read_failure(tmp_path, 1) is None
    put(tmp_path / "output" / "failure", "why")
    assert read_failure(tmp_path, DISK_FULL_EXIT_CODE) == "why"


@pytest.mark.parametrize(
    ("problem", "fault"),
    [
        ("An error occurred (AccessDenied) when calling ListObjectsV2", "storage"),
        ("[Errno 28] No space left on device", "disk"),
    ],
)
def test_a_failed_download_is_the_platforms_failure(
    tmp_path: Path,
    bucket: Path,
    imds: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    problem: str,
    fault: str,
) -> None:
    monkeypatch.setenv("FAKE_S3_FAILS", f"shards/={problem}")
    put(bucket / "code" / "train.py", SCRIPT.format(steps=3, end=""))
    report = Host(tmp_path / "host", bucket, imds[0], json.dumps(job())).ended()
    assert report["phase"] == "downloading"
    assert report["failure"].startswith(f"Platform failure ({fault}): ")
    assert problem in report["failure"]


@pytest.mark.parametrize(
    ("problem", "tries"),
    [
        ("Could not connect to the endpoint URL", 12),
        ("fatal error: An error occurred (AccessDenied)", 4),
        ("[Errno 28] No space left on device", 1),
    ],
)
def test_only_what_may_pass_is_tried_for_minutes(tmp_path: Path, problem: str, tries: int) -> None:
    program = tmp_path / "aws"
    program.write_text(f"#!/bin/sh\necho x >> {tmp_path}/tries\necho '{problem}' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(AwsCliError, match="aws s3 cp failed"):
        AwsCli(str(program), pause_seconds=0).read("s3://b/key")
    assert (tmp_path / "tries").read_text().count("x") == tries


def test_missing_hosts_are_not_the_scripts_fault(
    tmp_path: Path, bucket: Path, imds: tuple[str, dict[str, str]]
) -> None:
    host = Host(
        tmp_path / "host", bucket, imds[0], json.dumps(job(nodes=2)), TIDEWHEEL_MEET_SECONDS="1"
    )
    report = host.ended()
    assert report["exitCode"] == 143
    assert report["failure"] == "Interrupted: host missing: 1 of 2 hosts came within 1 s"


def test_everything_printed_reaches_the_log_group(
    tmp_path: Path, bucket: Path, imds: tuple[str, dict[str, str]]
) -> None:
    put(bucket / "code" / "train.py", SCRIPT.format(steps=3, end="print('grüße')"))
    host = Host(tmp_path / "host", bucket, imds[0], json.dumps(job(logGroup="/tidewheel/hosts")))
    assert host.ended()["exitCode"] == 0, host.log.read_text()
    stream = bucket.parent / "logs/tidewheel/hosts/digits-000001-a1-abcdef/i-0a"
    lines = stream.read_text().splitlines()
    assert {"resumed at 0", "grüße", "[tidewheel] all checkpoints are in the bucket"} <= set(lines)
    # The lines are in the same order as on the host.
    assert lines == host.log.read_text().splitlines()


def test_a_host_trains_without_a_log(
    tmp_path: Path,
    bucket: Path,
    imds: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_LOGS_FAIL", "1")
    put(bucket / "code" / "train.py", SCRIPT.format(steps=3, end=""))
    host = Host(tmp_path / "host", bucket, imds[0], json.dumps(job(logGroup="/tidewheel/hosts")))
    assert host.ended()["exitCode"] == 0
    assert "log lines do not reach /tidewheel/hosts: aws logs" in host.log.read_text()


SAVES_ON_REQUEST = """
import os, sys, time
import tidewheel
folder = os.environ["TIDEWHEEL_CHECKPOINT_DIR"]
for step in range(1, 100_000):
    time.sleep(0.05)
    if tidewheel.save_soon():
        os.makedirs(os.path.join(folder, f"step-{step}"))
        with open(os.path.join(folder, f"step-{step}", "COMPLETE.json"), "w") as file:
            file.write('{"files": {}}')
        print("saving on request at", step, flush=True)
    if tidewheel.stop_soon():
        sys.exit(143)
"""


@pytest.mark.parametrize("source", ["the service", "EC2"])
def test_a_host_in_danger_saves_and_trains_on(
    tmp_path: Path, bucket: Path, imds: tuple[str, dict[str, str]], source: str
) -> None:
    url, answers = imds
    put(bucket / "code" / "train.py", SAVES_ON_REQUEST)
    host = Host(tmp_path / "host", bucket, url, json.dumps(job()))
    try:
        wait_until(lambda: "script train.py" in host.log.read_text(), 30, "the agent's start")
        if source == "the service":
            put(host.folder / "requests" / "save-i-0a.json", "2026-11-21T04:00:00Z")
        else:
            answers["events/recommendations/rebalance"] = '{"noticeTime": "2026-11-21T04:00:00Z"}'
        checkpoints = bucket / "run" / "checkpoints"
        wait_until(
            lambda: any(checkpoints.glob("step-*/COMPLETE.json")), 30, "a checkpoint in the bucket"
        )
        wait_until(lambda: "saved as requested" in host.log.read_text(), 10, "the agent's line")
        assert host.process.poll() is None
        assert host.log.read_text().count("saving on request at") == 1
    finally:
        put(host.folder / "requests" / "stop.json", "2026-11-21T04:00:00Z")
        assert host.ended()["stoppedBy"] == "stop"


def test_all_hosts_agree_on_their_ranks(bucket: Path) -> None:
    aws = AwsCli(str(FAKE_AWS), pause_seconds=0.1)
    addresses: dict[str, list[str] | None] = {}

    def join(name: str) -> None:
        addresses[name] = meet(aws, "s3://b/meet/", name, f"10.0.0.{name[-1]}", 3, 20)

    threads = [threading.Thread(target=join, args=(f"i-{n}",)) for n in (3, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(addresses.values()) == [["10.0.0.1", "10.0.0.2", "10.0.0.3"]] * 3


def test_waiting_for_hosts_has_a_limit(bucket: Path) -> None:
    with pytest.raises(HostsMissingError, match="1 of 2"):
        meet(AwsCli(str(FAKE_AWS)), "s3://b/meet/", "i-1", "10.0.0.1", 2, 0.5)


@pytest.mark.parametrize("manifest", [False, True], ids=["prefix", "manifest"])
def test_every_shard_goes_to_one_host(tmp_path: Path, bucket: Path, manifest: bool) -> None:
    names = [f"gen-{n % 2}/{n:03}.tar" for n in range(7)]
    for name in names:
        put(bucket / "data" / name, name)
    content = json.dumps([{"prefix": "s3://b/data/"}, *names])
    put(bucket / "train.manifest", content)
    put(bucket / "data" / "gen-1" / "unlisted.txt", "not a shard of this run")
    over = {"S3DataDistributionType": "ShardedByS3Key"}
    if manifest:
        over["S3DataType"] = "ManifestFile"
    uri = "s3://b/train.manifest" if manifest else "s3://b/data/"
    described = job(nodes=3, InputDataConfig=[channel("train", uri, **over)])
    fetched: list[str] = []
    for rank in range(3):
        base = tmp_path / str(rank)
        fetch_channels(AwsCli(str(FAKE_AWS)), base, parse_job(json.dumps(described)), rank)
        folder = base / "input" / "data" / "train"
        fetched += [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    assert sorted(fetched) == sorted(names if manifest else [*names, "gen-1/unlisted.txt"])


@pytest.mark.parametrize(
    ("others", "listed"), [(0, 0), (0, 8), (8, 9), (20, 4)], ids=["few", "most", "more", "fewer"]
)
def test_a_list_names_files_and_no_patterns(
    tmp_path: Path, bucket: Path, monkeypatch: pytest.MonkeyPatch, others: int, listed: int
) -> None:
    monkeypatch.setattr(aws_cli, "_FEW_KEYS", 4)
    monkeypatch.setattr(aws_cli, "_MOST_ARGUMENT_BYTES", 90)
    names = ["a [1].png", "b*.png", "d/c?.png", *(f"d/{n}.png" for n in range(listed))]
    for name in [
        *names,
        "a 1.png",
        "bb.png",
        "d/cc.png",
        *(f"late/{n}.png" for n in range(others)),
    ]:
        put(bucket / "data" / name, name)
    put(bucket / "data.manifest", json.dumps([{"prefix": "s3://b/data/"}, *names]))
    uri = "s3://b/data.manifest"
    described = job(InputDataConfig=[channel("data", uri, S3DataType="ManifestFile")])
    fetch_channels(AwsCli(str(FAKE_AWS)), tmp_path, parse_job(json.dumps(described)), 0)
    folder = tmp_path / "input" / "data" / "data"
    fetched = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    assert sorted(map(str, fetched)) == sorted(names)


def test_a_job_of_another_version_is_refused() -> None:
    with pytest.raises(UnknownJobError, match="2"):
        parse_job('{"version": 2}')


def test_without_metadata_service_there_is_no_notice() -> None:
    assert Metadata("http://127.0.0.1:9", timeout_seconds=0.2).has_interruption_notice() is False


def test_hosts_on_one_machine_use_loopback() -> None:
    assert interface_for("127.128.3.4") == "lo"
    assert interface_for("10.0.3.4") == default_interface()


@pytest.mark.parametrize("most", [1_000_000, 90], ids=["few", "more than a command holds"])
def test_unchanged_files_are_not_uploaded_again(
    tmp_path: Path, bucket: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(aws_cli, "_MOST_ARGUMENT_BYTES", most)
    filters: list[int] = []
    run = AwsCli._run

    def measured(
        self: AwsCli, *words: str, text: str | None = None, tries: int = 1, may_stop: bool = False
    ) -> str:
        if words[1] == "sync":
            filters.append(aws_cli._bytes_of(words[5:]))
        return run(self, *words, text=text, tries=tries, may_stop=may_stop)

    monkeypatch.setattr(AwsCli, "_run", measured)
    prefix = bucket / "run" / "checkpoints"
    put(prefix / "progress [1].json", "step 9")
    put(prefix / "last.json", "9")
    folder = tmp_path / "checkpoints"
    sync = CheckpointSync.fetch(AwsCli(str(FAKE_AWS)), folder, "s3://b/run/checkpoints/")
    put(prefix / "progress [1].json", "step 10, by another host")
    put(folder / "step-11" / "state", "mine")
    put(folder / "step-11" / "more" / "state [2]", "mine")
    (folder / "newest").symlink_to("step-11")
    sync.upload()
    assert not (prefix / "newest").exists()
    assert (prefix / "step-11" / "more" / "state [2]").read_text() == "mine"
    assert (prefix / "progress [1].json").read_text() == "step 10, by another host"
    assert (prefix / "step-11" / "state").read_text() == "mine"
    assert sync.missing() == []
    # Beside the names, a command of several has what leaves out all others.
    assert max(filters) <= most + aws_cli._bytes_of(["--exclude", "*"])

    put(folder / "last.json", "11")
    assert sync.missing() == ["last.json"]
    sync.upload()
    assert (prefix / "last.json").read_text() == "11"
