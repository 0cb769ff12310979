/** Until the next look at a running attempt (reconcile's schedule), in seconds that are paid. */
export const NEXT_LOOK_SECONDS = 300;
