/** Times around the next look at a running attempt. */

/** Until the next look (reconcile's schedule), and for the save after the stop. Both are paid. */
export const NEXT_LOOK_SECONDS = 300;
export const SAVE_SECONDS = 120;
