/** Attempts are spread over pools and zones: where capacity was just taken it may only flicker back. */
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

/** Whether this pool or its zone has lost capacity so short a while ago. */
export const wasLostWithin = (
  { lastLossMilliseconds, lastZoneLossMilliseconds }: Losses,
  seconds: number,
  nowMilliseconds: number,
): boolean =>
  wasWithin(lastLossMilliseconds, seconds, nowMilliseconds) ||
  wasWithin(lastZoneLossMilliseconds, seconds, nowMilliseconds);

/** Whether this pool or its zone has lost capacity a short while ago. */
export const isInLossCooldown = (losses: Losses, nowMilliseconds: number): boolean =>
  wasLostWithin(losses, LOSS_COOLDOWN_SECONDS, nowMilliseconds);

/**
 * Of these Spot pools those that have not just lost a job, while there are such. What was taken from one type is probably
 * gone for its neighbours: they are left alone too, where their own type is offered elsewhere, so that this costs no more
 * than zones differ in price. Follows from what was met alone: a better score or a lower price shuts no pool out.
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
