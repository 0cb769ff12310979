/**
 * Decides about the lost hosts of a gang: to replace them in the same zone, type and placement group, or, if that is not
 * possible, to end the attempt. Pure and level-triggered: the answer follows from the present state of EC2, the bucket and
 * the rounds. So any process may act on it, twice or late, and the next look continues the work of one that died.
 */

import {
  currentHosts,
  type FleetInstance,
  type FleetView,
  isGone,
  STOP_GRACE_SECONDS,
} from './fleet-view.ts';
import type { Round, RoundState } from './host-requests.ts';

/** The time for a round to begin its training. Hosts wait as long. */
const REFILL_SECONDS = 900;
/** Each round costs the gang a start, so a pool that needs more rounds is left. */
const MAXIMUM_ROUNDS = 6;
const MILLISECONDS = 1_000;

export interface RefillQuestion extends FleetView {
  /** Instances with an interruption notice. */
  readonly warned: readonly string[];
}

export type RefillStep =
  /** The gang is whole, or the attempt is ending. */
  | { readonly kind: 'none' }
  /** Write the round unless it exists. */
  | { readonly kind: 'open'; readonly round: Round }
  | { readonly kind: 'launch'; readonly round: Round }
  /** Terminate lost hosts that do not end by themselves. */
  | { readonly kind: 'end'; readonly round: Round; readonly instanceIds: readonly string[] }
  /** Write the members unless they exist. */
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
    return {
      kind: 'impossible',
      why: `round ${rounds.round.round} did not begin within ${REFILL_SECONDS} s`,
    };
  return rounds.members === undefined ? completing(question, rounds.round) : { kind: 'none' };
}

const launchedIn = ({ round }: Round, instances: readonly FleetInstance[]): string[] =>
  instances.filter((instance) => instance.round === round).map(({ instanceId }) => instanceId);

function isLost({ instances, reports, warned, rounds }: RefillQuestion, id: string): boolean {
  if (warned.includes(id)) return true;
  const report = reports.find(({ instanceId }) => instanceId === id);
  if (report?.stoppedBy === 'spot') return true;
  // A host that has ended by itself is not lost: it has completed or failed, and so has the attempt.
  if (report?.endedAt !== undefined) return false;
  const instance = instances.find(({ instanceId }) => instanceId === id);
  // A new instance may not be listed yet. An instance of an earlier round that is not listed is gone.
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
  if (!question.refills) return no('its strategy cannot replace single hosts');
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
  const came = launchedIn(round, instances);
  if (came.length < round.missing) return { kind: 'launch', round };
  // The last upload of a lost host must be in the bucket before the new gang reads it.
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
