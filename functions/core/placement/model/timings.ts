/** The times that placement and the look at a running attempt share. */

/** A Spot job that waits longer than this for capacity is worth more elsewhere. */
export const PATIENCE_SECONDS = 600;
/** Until the next look (reconcile's schedule), and for the save after the stop. Both are paid. */
export const NEXT_LOOK_SECONDS = 300;
export const SAVE_SECONDS = 120;
