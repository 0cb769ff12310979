/** What the run and others lately met in a pool: capacity errors and losses, and for how long it is left alone. */

import type { Observation } from '../belief/observation.ts';
import type { Candidate } from '../candidates/pools.ts';
import type { PlacedAttempt } from '../records/attempts.ts';
import type { Pool } from '../records/placement-records.ts';

export interface Met {
  /** Consecutive capacity errors. */
  readonly capacityErrors: number;
  /** The last one was for a quota of the account, which waiting does not lift. */
  readonly isQuota: boolean;
  /** Seconds until the run may try the pool again; 0: now. */
  readonly coolsSeconds: number;
  /** A quota of the account forbids it now. After the cool-down it may have been raised. */
  readonly isLimited: boolean;
  /** Since the pool took capacity from a job, and since its zone did with none seen there since; infinite: not lately. */
  readonly lostSecondsAgo: number;
  readonly zoneLostSecondsAgo: number;
}

/** Long enough for a quota that other jobs use up for a while. A quota of 0 lasts until a person raises it. */
const LONGEST_QUOTA_COOLDOWN_SECONDS = 4 * 3_600;

/** 1, 2, 4, ... minutes, at most 15; for a quota of the account 15, 30, 60, ... minutes, at most four hours. */
const backoffSeconds = (errors: number, isQuota: boolean): number =>
  isQuota
    ? Math.min(LONGEST_QUOTA_COOLDOWN_SECONDS, 900 * 2 ** (errors - 1))
    : Math.min(900, 60 * 2 ** (errors - 1));

/** A quota holds for an instance type in every zone of a region, separately for each purchase option and launcher. */
export const quotaKeyOf = ({ instanceType, purchaseOption, region, launcher }: Pool): string =>
  `${instanceType} ${purchaseOption} ${region ?? ''} ${launcher}`;

/** What AWS last said of each quota that refused an attempt, with the remedy; by `quotaKeyOf`. */
export const quotaRefusals = (attempts: readonly PlacedAttempt[]): ReadonlyMap<string, string> =>
  new Map(
    attempts.flatMap(({ placement, outcome }) =>
      outcome?.quota === true ? [[quotaKeyOf(placement.pool), outcome.message] as const] : [],
    ),
  );

const zoneKeyOf = ({ zoneId, purchaseOption }: Pick<Pool, 'zoneId' | 'purchaseOption'>): string =>
  `${zoneId ?? ''} ${purchaseOption}`;

export type MetIn = (candidate: Pick<Candidate, 'pool'>) => Met;

/** @param observations oldest first; they are sorted once, for questions about hundreds of pools */
export function metIn(observations: readonly Observation[], nowMilliseconds: number): MetIn {
  const byKey = Map.groupBy(observations, quotaKeyOf);
  const lastInZone = new Map<string, Observation>();
  for (const each of observations) if (each.seen !== 'capacityError') lastInZone.set(zoneKeyOf(each), each);
  const since = (observation: Observation | undefined): number =>
    observation === undefined
      ? Number.POSITIVE_INFINITY
      : (nowMilliseconds - observation.atMilliseconds) / 1_000;
  return ({ pool }) => {
    const inZone = pool.zoneId === undefined ? undefined : lastInZone.get(zoneKeyOf(pool));
    const { capacityErrors, isQuota, last, lost } = countedFor(pool, byKey.get(quotaKeyOf(pool)) ?? []);
    const coolsSeconds = Math.max(0, backoffSeconds(capacityErrors, isQuota) - since(last));
    return {
      capacityErrors,
      isQuota,
      coolsSeconds,
      isLimited: isQuota && coolsSeconds > 0,
      lostSecondsAgo: since(lost),
      zoneLostSecondsAgo: since(inZone?.seen === 'lost' ? inZone : undefined),
    };
  };
}

/** What the observations of a quota mean for one pool of it. */
function countedFor({ zoneId }: Pool, observations: readonly Observation[]) {
  let capacityErrors = 0;
  let isQuota = false;
  let last: Observation | undefined;
  let lost: Observation | undefined;
  for (const observation of observations) {
    // A quota holds in every zone, so capacity in any of them shows that it no longer stands in the way.
    const isOfLimit = observation.quota === true || (isQuota && observation.seen === 'up');
    if (observation.zoneId !== zoneId && !isOfLimit) continue;
    const refused = observation.seen === 'capacityError';
    capacityErrors = refused ? capacityErrors + 1 : 0;
    isQuota = refused && observation.quota === true;
    last = refused ? observation : undefined;
    if (observation.seen === 'lost') lost = observation;
  }
  return { capacityErrors, isQuota, last, lost };
}

/** Capacity may return there only for minutes. */
const LOSS_COOLDOWN_SECONDS = 30 * 60;

/** Whether this pool or its zone lost a job so lately. */
export const wasLostWithin = (
  { lostSecondsAgo, zoneLostSecondsAgo }: Met,
  seconds = LOSS_COOLDOWN_SECONDS,
): boolean => Math.min(lostSecondsAgo, zoneLostSecondsAgo) < seconds;

/**
 * The Spot pools outside the cool-down, or all of them if none is. A zone that reclaimed one type is probably short of
 * the others, so these are left alone too where another zone offers them; this costs no more than the difference in
 * price between zones. Only observed losses count: a better score or a lower price never excludes a pool.
 */
export function outsideLossCooldown<Each extends Met & { readonly candidate: Candidate }>(
  spot: readonly Each[],
): readonly Each[] {
  const typeOf = ({ candidate }: Each): string => candidate.pool.instanceType;
  const calm = new Set(spot.filter((each) => each.zoneLostSecondsAgo >= LOSS_COOLDOWN_SECONDS));
  const calmTypes = new Set([...calm].map(typeOf));
  const others = spot.filter(
    (each) =>
      each.lostSecondsAgo >= LOSS_COOLDOWN_SECONDS && (calm.has(each) || !calmTypes.has(typeOf(each))),
  );
  return others.length > 0 ? others : spot;
}
