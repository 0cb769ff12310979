"""SageMaker's Python SDK 3 as its users write it: `ModelTrainer(...).train()`, with logs."""

from __future__ import annotations

import logging

from assignment import SOURCE, assignment, tell
from sagemaker.core.helper import IamRoleResolver
from sagemaker.core.helper.session_helper import Session
from sagemaker.core.utils.exceptions import FailedStatusError
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import (
    Compute,
    InputData,
    OutputDataConfig,
    SourceCode,
    StoppingCondition,
)

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.3.0-cpu-py311"


def main() -> None:
    # The SDK hands the hosts' lines to Python's logging and leaves the rest to the program.
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    this = assignment()
    trainer = ModelTrainer(
        training_image=IMAGE,
        source_code=SourceCode(source_dir=str(SOURCE), entry_script="train.py"),
        compute=Compute(instance_type="ml.m5.xlarge", instance_count=1, volume_size_in_gb=30),
        output_data_config=OutputDataConfig(s3_output_path=this.models_uri),
        stopping_condition=StoppingCondition(max_runtime_in_seconds=600),
        hyperparameters={"epochs": 3, "spoilt": this.spoilt},
        base_job_name=this.job,
        # It looks whether the role may do what training needs: one of its own making may.
        role=IamRoleResolver().create_execution_role(role_type="training"),
        sagemaker_session=Session(default_bucket=this.bucket),
    )
    data = [InputData(channel_name="train", data_source=this.data_uri)]
    try:
        trainer.train(input_data_config=data, wait=True, logs=True)
    except FailedStatusError as error:
        tell(this.job, "Failed", str(error))
    else:
        job = trainer._latest_training_job
        tell(
            job.training_job_name,
            job.training_job_status,
            job.model_artifacts.s3_model_artifacts,
        )


if __name__ == "__main__":
    main()
