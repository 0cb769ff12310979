/** The times that placement and the look at a running attempt share. */

/** A Spot job that waits longer than this for capacity is worth more elsewhere. */
export const PATIENCE_SECONDS = 600;
/**
 * On-Demand accelerator jobs queue in `Pending`, and a recall loses the place in the queue. Two hours is the shortest
 * MaxPendingTimeInSeconds that SageMaker accepts.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_StoppingCondition.html
 */
export const QUEUE_SECONDS = 7_200;
/** Until the next look (reconcile's schedule), and for the save after the stop. Both are paid. */
export const NEXT_LOOK_SECONDS = 300;
export const SAVE_SECONDS = 120;
