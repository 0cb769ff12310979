"""SageMaker's Python SDK 2 as its users write it: `PyTorch(...).fit()`, which follows the logs."""

from __future__ import annotations

import sagemaker
from assignment import ROLE, SOURCE, assignment, tell
from sagemaker.exceptions import UnexpectedStatusException
from sagemaker.pytorch import PyTorch


def main() -> None:
    this = assignment()
    estimator = PyTorch(
        entry_point="train.py",
        source_dir=str(SOURCE),
        role=ROLE,
        framework_version="2.3",
        py_version="py311",
        instance_count=2,
        instance_type="ml.m5.xlarge",
        hyperparameters={"epochs": 3, "spoilt": this.spoilt},
        output_path=this.models_uri,
        code_location=f"s3://{this.bucket}/code",
        use_spot_instances=True,
        max_run=600,
        max_wait=1200,
        checkpoint_s3_uri=f"s3://{this.bucket}/checkpoints/{this.job}",
        sagemaker_session=sagemaker.Session(default_bucket=this.bucket),
    )
    try:
        estimator.fit({"train": this.data_uri}, job_name=this.job, wait=True, logs="All")
    except UnexpectedStatusException as error:
        tell(this.job, error.actual_status, str(error))
    else:
        tell(this.job, "Completed", estimator.model_data)


if __name__ == "__main__":
    main()
