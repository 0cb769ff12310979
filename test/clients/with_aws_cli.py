"""The AWS CLI as shell scripts use it: each step is one `aws` command."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from assignment import SOURCE, assignment, tell
from with_boto3 import ENDED, GROUP, request

AWS = str(Path(sys.executable).with_name("aws"))


def aws(*arguments: str) -> Any:
    """The command's answer; raises CalledProcessError when it ends with anything but 0."""
    command = [AWS, *arguments, "--output", "json"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout or "null")


def main() -> None:
    this = assignment()
    aws("s3", "cp", "--quiet", str(SOURCE / "train.py"), f"s3://{this.bucket}/code/{this.job}/")
    wanted = json.dumps(request(this.bucket, this.job, this.models_uri, this.spoilt))
    aws("sagemaker", "create-training-job", "--cli-input-json", wanted)
    shown = 0
    while True:
        job = aws("sagemaker", "describe-training-job", "--training-job-name", this.job)
        shown = follow(this.job, shown)
        if job["TrainingJobStatus"] in ENDED:
            break
        time.sleep(0.5)
    try:
        aws(
            "sagemaker",
            "wait",
            "training-job-completed-or-stopped",
            "--training-job-name",
            this.job,
        )
    except subprocess.CalledProcessError as error:
        # 255 is what the CLI's waiter ends with when it has seen the failure.
        print(f"aws sagemaker wait ended with {error.returncode}: {error.stderr.strip()}")
        tell(this.job, "Failed", job["FailureReason"])
    else:
        tell(this.job, job["TrainingJobStatus"], job["ModelArtifacts"]["S3ModelArtifacts"])


def follow(job: str, shown: int) -> int:
    """Prints what is new over all hosts; returns how many lines there are by now."""
    group = ("--log-group-name", GROUP)
    try:
        found = aws("logs", "describe-log-streams", *group, "--log-stream-name-prefix", f"{job}/")
    except subprocess.CalledProcessError as error:
        # No host of any job has said a word yet.
        if "ResourceNotFoundException" in error.stderr:
            return shown
        raise
    lines: list[tuple[int, str]] = []
    for stream in found["logStreams"]:
        name = stream["logStreamName"]
        page = aws("logs", "get-log-events", *group, "--log-stream-name", name, "--start-from-head")
        host = name.split("/")[1]
        lines += [(each["timestamp"], f"{host} {each['message']}") for each in page["events"]]
    for _, line in sorted(lines)[shown:]:
        print(line, flush=True)
    return len(lines)


if __name__ == "__main__":
    main()
