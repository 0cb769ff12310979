/**
 * How often to save: too seldom loses work, too often is work itself. Young's first-order optimum with Daly's
 * correction (J. T. Daly, A higher order estimate of the optimum checkpoint interval, 2006).
 */
export function checkpointIntervalSeconds(input: {
  /** Measured time that training stands still for one save. */
  readonly saveSeconds: number;
  /** Mean time between interruptions of the pool. */
  readonly upSeconds: number;
}): number {
  const { saveSeconds, upSeconds } = input;
  // Saves that take as long as capacity lasts cannot be helped by saving more often.
  if (saveSeconds >= 2 * upSeconds) return upSeconds;
  const share = saveSeconds / (2 * upSeconds);
  return Math.sqrt(2 * saveSeconds * upSeconds) * (1 + Math.sqrt(share) / 3 + share / 9) - saveSeconds;
}
