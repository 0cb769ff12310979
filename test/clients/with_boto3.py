"""boto3 as scripts use it: create, follow the log streams, and let its own waiter see the end."""

from __future__ import annotations

import time
from typing import Any

import boto3
from assignment import ROLE, SOURCE, assignment, tell
from botocore.exceptions import WaiterError

GROUP = "/aws/sagemaker/TrainingJobs"
ENDED = ("Completed", "Failed", "Stopped")


def main() -> None:
    this = assignment()
    s3, sagemaker = boto3.client("s3"), boto3.client("sagemaker")
    s3.upload_file(str(SOURCE / "train.py"), this.bucket, f"code/{this.job}/train.py")
    sagemaker.create_training_job(**request(this.bucket, this.job, this.models_uri, this.spoilt))
    tokens: dict[str, str] = {}
    while True:
        job = sagemaker.describe_training_job(TrainingJobName=this.job)
        follow(this.job, tokens)
        if job["TrainingJobStatus"] in ENDED:
            break
        time.sleep(0.5)
    waiter = sagemaker.get_waiter("training_job_completed_or_stopped")
    try:
        waiter.wait(TrainingJobName=this.job)
    except WaiterError as error:
        tell(this.job, "Failed", error.last_response["FailureReason"])
    else:
        tell(this.job, job["TrainingJobStatus"], job["ModelArtifacts"]["S3ModelArtifacts"])


def follow(job: str, tokens: dict[str, str]) -> None:
    """Prints what is new in each host's stream, from where the last look ended."""
    logs = boto3.client("logs")
    try:
        found = logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix=f"{job}/")
    except logs.exceptions.ResourceNotFoundException:
        return
    for stream in found["logStreams"]:
        name = stream["logStreamName"]
        more: dict[str, Any] = {"nextToken": tokens[name]} if name in tokens else {}
        page = logs.get_log_events(
            logGroupName=GROUP, logStreamName=name, startFromHead=True, **more
        )
        tokens[name] = page["nextForwardToken"]
        for event in page["events"]:
            print(f"{name.split('/')[1]} {event['message']}", flush=True)


def request(bucket: str, job: str, models: str, spoilt: str) -> dict[str, Any]:
    def channel(name: str, uri: str) -> dict[str, Any]:
        source = {"S3DataType": "S3Prefix", "S3Uri": uri}
        return {"ChannelName": name, "DataSource": {"S3DataSource": source}}

    program = "/opt/ml/input/data/code/train.py"
    return {
        "TrainingJobName": job,
        "RoleArn": ROLE,
        "AlgorithmSpecification": {
            "TrainingImage": "000000000000.dkr.ecr.us-east-1.amazonaws.com/image:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", program, "--epochs", "3", "--spoilt", spoilt],
        },
        "InputDataConfig": [
            channel("train", f"s3://{bucket}/data/"),
            channel("code", f"s3://{bucket}/code/{job}/"),
        ],
        "OutputDataConfig": {"S3OutputPath": models},
        "ResourceConfig": {
            "InstanceType": "ml.m5.xlarge",
            "InstanceCount": 2,
            "VolumeSizeInGB": 10,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        "Environment": {
            "SM_CHANNEL_TRAIN": "/opt/ml/input/data/train",
            "SM_MODEL_DIR": "/opt/ml/model",
        },
    }


if __name__ == "__main__":
    main()
