/**
 * What to do about hosts that a gang has lost: keep the others and ask for the missing ones again, in the same zone, of
 * the same type, in the same placement group; or, where that cannot be, let the attempt end and go on elsewhere. Pure
 * and level-triggered: the answer follows from what EC2, the bucket and the rounds say now, so any look may act on it,
 * twice or late, and one that died half way is continued by the next.
 */

import {
  currentHosts,
  type FleetInstance,
  type FleetView,
  isGone,
  STOP_GRACE_SECONDS,
} from './fleet-view.ts';
import type { Round, RoundState } from './host-requests.ts';

/** A round that has not begun to train after this long never will; hosts wait as long for it. */
export const REFILL_SECONDS = 900;
/** Each round costs the gang a start: a pool that needs more of them is not worth staying in. */
export const MAXIMUM_ROUNDS = 6;
const MILLISECONDS = 1_000;

export interface RefillQuestion extends FleetView {
  /** Instances that EC2 has announced to take back. */
  readonly warned: readonly string[];
}

export type RefillStep =
  /** The gang is whole, or the attempt is ending anyway. */
  | { readonly kind: 'none' }
  /** To be written if no such round is there. */
  | { readonly kind: 'open'; readonly round: Round }
  | { readonly kind: 'launch'; readonly round: Round }
  /** Hosts that the round has lost and that do not go by themselves. */
  | { readonly kind: 'end'; readonly round: Round; readonly instanceIds: readonly string[] }
  /** To be written if the round has none. */
  | { readonly kind: 'begin'; readonly round: Round; readonly members: readonly string[] }
  | { readonly kind: 'wait'; readonly round: Round }
  | { readonly kind: 'impossible'; readonly why: string };

export function nextRefillStep(question: RefillQuestion): RefillStep {
  const { rounds, stopRequestedAt } = question;
  if (stopRequestedAt !== undefined || question.instances.length === 0) return { kind: 'none' };
  const current = currentHosts(question);
  const lost = current.filter((id) => isLost(question, id));
  if (lost.length > 0) return afterLoss(question, current, lost);
  if (rounds === undefined) return { kind: 'none' };
  const overdue = secondsSince(rounds.round.openedAt, question.now) > REFILL_SECONDS;
  if (overdue && !hasBegun(question, rounds))
    return { kind: 'impossible', why: `round ${rounds.round.round} did not begin in ${REFILL_SECONDS} s` };
  return rounds.members === undefined ? completing(question, rounds.round) : { kind: 'none' };
}

const cameFor = ({ round }: Round, instances: readonly FleetInstance[]): string[] =>
  instances.filter((instance) => instance.round === round).map(({ instanceId }) => instanceId);

function isLost({ instances, reports, warned, rounds }: RefillQuestion, id: string): boolean {
  if (warned.includes(id)) return true;
  const report = reports.find(({ instanceId }) => instanceId === id);
  if (report?.stoppedBy === 'spot') return true;
  // One that has ended by itself is not lost: it is done, or it failed, and the attempt with it.
  if (report?.endedAt !== undefined) return false;
  const instance = instances.find(({ instanceId }) => instanceId === id);
  // A fresh instance may not be listed yet; one that was known for a whole round is gone when it is not.
  return instance === undefined ? rounds?.round.stay.includes(id) === true : isGone(instance);
}

function afterLoss(
  question: RefillQuestion,
  current: readonly string[],
  lost: readonly string[],
): RefillStep {
  const { rounds, nodes, reports, now, maximumRunSeconds } = question;
  const stay = current.filter((id) => !lost.includes(id));
  const number = (rounds?.round.round ?? 1) + 1;
  const ended = stay.filter((id) =>
    reports.some(({ instanceId, endedAt }) => instanceId === id && endedAt !== undefined),
  );
  const leftSeconds = Math.floor(maximumRunSeconds - ranSeconds(question));
  const no = (why: string): RefillStep => ({ kind: 'impossible', why });
  if (!question.refills) return no('its hosts are not replaced one by one');
  if (stay.length === 0) return no('no host is left');
  if (ended.length > 0) return no(`${ended.join(', ')} had ended already`);
  if (number > MAXIMUM_ROUNDS) return no(`hosts were replaced ${MAXIMUM_ROUNDS - 1} times already`);
  if (leftSeconds < 1) return no('its time is over');
  const earlier = rounds === undefined ? [] : rounds.round.lost;
  return {
    kind: 'open',
    round: {
      round: number,
      openedAt: now.toISOString(),
      stay: [...stay].sort(),
      lost: [...new Set([...earlier, ...lost])].sort(),
      missing: nodes - stay.length,
      leftSeconds,
    },
  };
}

function completing(question: RefillQuestion, round: Round): RefillStep {
  const { instances, reports, now } = question;
  const came = cameFor(round, instances);
  if (came.length < round.missing) return { kind: 'launch', round };
  // What a lost host still uploads must be in the bucket before the new gang reads it.
  const going = round.lost.filter((id) => {
    const said = reports.find(({ instanceId }) => instanceId === id);
    const state = instances.find(({ instanceId }) => instanceId === id)?.state;
    return (
      said?.endedAt === undefined && state !== undefined && state !== 'terminated' && state !== 'stopped'
    );
  });
  if (going.length === 0)
    return { kind: 'begin', round, members: [...round.stay, ...came.slice(0, round.missing)].sort() };
  if (secondsSince(round.openedAt, now) > STOP_GRACE_SECONDS)
    return { kind: 'end', round, instanceIds: going };
  return { kind: 'wait', round };
}

const hasBegun = ({ reports }: FleetView, { round, members }: RoundState): boolean =>
  members?.every((id) =>
    reports.some((report) => report.instanceId === id && (report.round ?? 1) >= round.round),
  ) === true;

const secondsSince = (at: string, now: Date): number => (now.getTime() - Date.parse(at)) / MILLISECONDS;

function ranSeconds({ reports, now }: FleetView): number {
  const starts = reports.map(({ startedAt }) => Date.parse(startedAt));
  return starts.length === 0 ? 0 : (now.getTime() - Math.min(...starts)) / MILLISECONDS;
}
