/**
 * Leaves a pool and its zone alone for half an hour after they lost a job: capacity may return there only for minutes.
 */
import type { Candidate } from '../candidates/pools.ts';

const LOSS_COOLDOWN_SECONDS = 30 * 60;

interface Losses {
  readonly candidate: Pick<Candidate, 'pool'>;
  readonly lastLossMilliseconds?: number | undefined;
  readonly lastZoneLossMilliseconds?: number | undefined;
}

const wasWithin = (lostAt: number | undefined, seconds: number, nowMilliseconds: number): boolean =>
  lostAt !== undefined && nowMilliseconds - lostAt < seconds * 1_000;

const wasJust = (lostAt: number | undefined, nowMilliseconds: number): boolean =>
  wasWithin(lostAt, LOSS_COOLDOWN_SECONDS, nowMilliseconds);

/** Whether this pool or its zone lost a job within the last `seconds`. */
export const wasLostWithin = (
  { lastLossMilliseconds, lastZoneLossMilliseconds }: Losses,
  seconds: number,
  nowMilliseconds: number,
): boolean =>
  wasWithin(lastLossMilliseconds, seconds, nowMilliseconds) ||
  wasWithin(lastZoneLossMilliseconds, seconds, nowMilliseconds);

/** Whether this pool or its zone lost a job within the cool-down. */
export const isInLossCooldown = (losses: Losses, nowMilliseconds: number): boolean =>
  wasLostWithin(losses, LOSS_COOLDOWN_SECONDS, nowMilliseconds);

/**
 * The Spot pools outside the cool-down, or all of them if none is. A zone that reclaimed one type is probably short of
 * the others, so these are left alone too where another zone offers them; this costs no more than the difference in
 * price between zones. Only observed losses count: a better score or a lower price never excludes a pool.
 */
export function outsideLossCooldown<Pool extends Losses>(
  spot: readonly Pool[],
  nowMilliseconds: number,
): readonly Pool[] {
  const calm = spot.filter((each) => !wasJust(each.lastZoneLossMilliseconds, nowMilliseconds));
  const calmTypes = new Set(calm.map(({ candidate }) => candidate.pool.instanceType));
  const others = spot.filter(
    (each) =>
      !wasJust(each.lastLossMilliseconds, nowMilliseconds) &&
      (calm.includes(each) || !calmTypes.has(each.candidate.pool.instanceType)),
  );
  return others.length > 0 ? others : spot;
}
