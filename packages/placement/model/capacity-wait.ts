/** How long a job may wait for capacity before it counts as refused. */

/** A Spot job that waits longer than this for capacity is worth more elsewhere. */
export const PATIENCE_SECONDS = 600;
/**
 * On-Demand accelerator jobs queue in `Pending`, and a recall loses the place in the queue. SageMaker accepts a
 * MaxPendingTimeInSeconds from half an hour on; waits of almost an hour were measured, so the job has two.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_StoppingCondition.html
 */
export const QUEUE_SECONDS = 7_200;
