/** What a job does in one tick of time. Numbers, because plans are arrays indexed by them. */
export const IDLE = 0;
export const SPOT = 1;
export const ON_DEMAND = 2;
export type Action = typeof IDLE | typeof SPOT | typeof ON_DEMAND;
