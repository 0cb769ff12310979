/** How long a job may wait for capacity before it counts as refused. */

/** A Spot job that waits longer than this for capacity is worth more elsewhere. */
export const PATIENCE_SECONDS = 600;
/**
 * On-Demand accelerator jobs queue in `Pending`, and a recall loses the place in the queue. Two hours is the shortest
 * MaxPendingTimeInSeconds that SageMaker accepts.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_StoppingCondition.html
 */
export const QUEUE_SECONDS = 7_200;
