/**
 * A gang on EC2 that has lost hosts: made whole again where its strategy and the zone allow, else taken back to go on
 * elsewhere. It stays the same attempt: the same job, the same bill, an interruption more.
 */
import { portOf, type RefillRound } from '../launch/launcher.ts';
import type { AttemptRecord } from '../runs/run-records.ts';
import {
  type AttemptObservation,
  type ObserveDeps,
  observeAttempt,
  recallAttempt,
} from './observe-attempt.ts';

export type RefillResult = AttemptObservation | { readonly kind: 'refilling'; readonly round: number };

/**
 * Safe to repeat at any time, with or without a reason.
 * @param warned hosts that EC2 has announced to take back; those that are gone are found without being named
 */
export async function refillAttempt(
  deps: ObserveDeps,
  attempt: AttemptRecord,
  warned: readonly string[] = [],
): Promise<RefillResult> {
  const isOpen = attempt.outcome === undefined && attempt.recall === undefined;
  const { hosts } = portOf(deps.launchers, attempt);
  if (hosts === undefined || !isOpen) return observeAttempt(deps, attempt);
  const refilled = await hosts.refill(attempt.jobName, warned);
  switch (refilled.kind) {
    case 'none':
      return observeAttempt(deps, attempt);
    case 'whole':
      await tell(deps, attempt, refilled.round);
      return observeAttempt(deps, attempt);
    case 'refilling':
      return (
        (await told(deps, attempt, refilled.round)) ?? { kind: 'refilling', round: refilled.round.round }
      );
    case 'impossible':
      return giveUp(deps, attempt, { warned, why: refilled.why });
  }
}

/** What was seen, where it is not simply that the attempt goes on. */
async function told(
  deps: ObserveDeps,
  attempt: AttemptRecord,
  round: RefillRound,
): Promise<AttemptObservation | undefined> {
  await tell(deps, attempt, round);
  const seen = await observeAttempt(deps, attempt);
  return seen.kind === 'running' ? undefined : seen;
}

async function tell(deps: ObserveDeps, attempt: AttemptRecord, round: RefillRound): Promise<void> {
  const { stay, lost, missing } = round;
  await deps.timeline.add(attempt.runId, {
    id: `refilled-${attempt.attempt}-${round.round}`,
    at: round.openedAt,
    kind: 'HostsReplaced',
    text: `attempt ${attempt.attempt}: ${lost.join(', ')} lost; ${stay.length} of its hosts stay, ${missing} more in the same zone (round ${round.round})`,
  });
}

/** What has ended already needs no stop; what lives is told to save. */
async function giveUp(
  deps: ObserveDeps,
  attempt: AttemptRecord,
  { warned, why }: { readonly warned: readonly string[]; readonly why: string },
): Promise<AttemptObservation> {
  const observed = warned.length === 0 ? await observeAttempt(deps, attempt) : undefined;
  if (observed !== undefined && observed.kind !== 'running') return observed;
  const whose = warned.length === 0 ? '' : `EC2 reclaims ${warned.join(', ')}, and `;
  return recallAttempt(deps, attempt, {
    cause: 'capacity',
    why: `was asked to save and stop: ${whose}${why}`,
  });
}
