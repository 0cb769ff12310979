/** What the run and others lately met in a pool: capacity errors and losses, and for how long it is left alone. */

import type { Observation } from '../belief/attempt-observations.ts';
import type { Candidate } from '../candidates/pools.ts';
import { assumed } from '../model/assumed.ts';
import type { PlacedAttempt } from '../records/attempts.ts';
import type { Pool } from '../records/placement-records.ts';

const doubled = (first: number, errors: number, most: number): number =>
  Math.min(most, first * 2 ** (errors - 1));

/** 1, 2, 4, ... minutes. */
export const coolSecondsAfter = (errors: number): number =>
  doubled(assumed.coolSeconds, errors, assumed.longestCoolSeconds);

const backoffSeconds = (errors: number, isQuota: boolean): number =>
  isQuota
    ? doubled(assumed.longestCoolSeconds, errors, assumed.longestQuotaCoolSeconds)
    : coolSecondsAfter(errors);

/**
 * A quota holds for an instance type in every zone of a region, separately for each purchase option and launcher; a
 * reservation has what it has, whatever another one refuses.
 */
export const quotaKeyOf = ({ instanceType, purchaseOption, reservation, region, launcher }: Pool): string =>
  `${instanceType} ${reservation ?? purchaseOption} ${region ?? ''} ${launcher}`;

/** What AWS last said of each quota that refused an attempt, with the remedy; by `quotaKeyOf`. */
export const quotaRefusals = (attempts: readonly PlacedAttempt[]): ReadonlyMap<string, string> =>
  new Map(
    attempts.flatMap(({ placement, outcome }) =>
      outcome?.quota === true ? [[quotaKeyOf(placement.pool), outcome.message] as const] : [],
    ),
  );

const zoneKeyOf = ({ zoneId, purchaseOption }: Pick<Pool, 'zoneId' | 'purchaseOption'>): string =>
  `${zoneId ?? ''} ${purchaseOption}`;

export type MetIn = ReturnType<typeof metIn>;
export type Met = ReturnType<MetIn>;

/** @param observations oldest first; they are sorted once, for questions about hundreds of pools */
export function metIn(observations: readonly Observation[], nowMilliseconds: number) {
  const byKey = Map.groupBy(observations, quotaKeyOf);
  const lastInZone = new Map<string, Observation>();
  for (const each of observations) if (each.seen !== 'capacityError') lastInZone.set(zoneKeyOf(each), each);
  const since = (observation: Observation | undefined): number =>
    observation === undefined
      ? Number.POSITIVE_INFINITY
      : (nowMilliseconds - observation.atMilliseconds) / 1_000;
  return ({ pool }: Pick<Candidate, 'pool'>) => {
    const inZone = pool.zoneId === undefined ? undefined : lastInZone.get(zoneKeyOf(pool));
    const { capacityErrors, isQuota, last, lost } = countedFor(pool, byKey.get(quotaKeyOf(pool)) ?? []);
    const coolsSeconds = Math.max(0, backoffSeconds(capacityErrors, isQuota) - since(last));
    return {
      /** Consecutive ones. */
      capacityErrors,
      /** The last one was for a quota of the account, which waiting does not lift. */
      isQuota,
      /** Seconds until the run may try the pool again; 0: now. */
      coolsSeconds,
      /** A quota of the account forbids it now. After the cool-down it may have been raised. */
      isLimited: isQuota && coolsSeconds > 0,
      /** Since the pool took capacity from a job, and since its zone did with none seen there since; infinite: not lately. */
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

/** Whether this pool or its zone lost a job so lately. */
export const wasLostWithin = (
  { lostSecondsAgo, zoneLostSecondsAgo }: Met,
  seconds = assumed.lossCoolSeconds,
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
  const calm = new Set(spot.filter((each) => each.zoneLostSecondsAgo >= assumed.lossCoolSeconds));
  const calmTypes = new Set([...calm].map(typeOf));
  const others = spot.filter(
    (each) =>
      each.lostSecondsAgo >= assumed.lossCoolSeconds && (calm.has(each) || !calmTypes.has(typeOf(each))),
  );
  return others.length > 0 ? others : spot;
}
