/**
 * Replaces the lost hosts of a gang on EC2 if its strategy and the zone allow it, and otherwise recalls the attempt. A
 * refill continues the same attempt: the same job and bill, with one more interruption.
 */
import { portOf, type RefillRound } from '../../launch/launcher.ts';
import type { AttemptRecord } from '../../records/run-records.ts';
import {
  type AttemptObservation,
  type ObserveDeps,
  observeAttempt,
  recallAttempt,
} from './observe-attempt.ts';

export type RefillResult = AttemptObservation | { readonly kind: 'refilling'; readonly round: number };

/**
 * Safe to repeat at any time.
 * @param warned hosts with an interruption notice; lost hosts are found without it
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
      await announceRefill(deps, attempt, refilled.round);
      return observeAttempt(deps, attempt);
    case 'refilling':
      return (
        (await observeRefilling(deps, attempt, refilled.round)) ?? {
          kind: 'refilling',
          round: refilled.round.round,
        }
      );
    case 'impossible':
      return giveUp(deps, attempt, { warned, why: refilled.why });
  }
}

/** @returns undefined while the attempt runs on */
async function observeRefilling(
  deps: ObserveDeps,
  attempt: AttemptRecord,
  round: RefillRound,
): Promise<AttemptObservation | undefined> {
  await announceRefill(deps, attempt, round);
  const seen = await observeAttempt(deps, attempt);
  return seen.kind === 'running' ? undefined : seen;
}

async function announceRefill(deps: ObserveDeps, attempt: AttemptRecord, round: RefillRound): Promise<void> {
  const { stay, lost, missing } = round;
  await deps.timeline.add(attempt.runId, {
    id: `refilled-${attempt.attempt}-${round.round}`,
    at: round.openedAt,
    kind: 'HostsReplaced',
    text: `attempt ${attempt.attempt}: lost ${lost.join(', ')}; ${stay.length} of its hosts stay, ${missing} are replaced in the same zone (round ${round.round})`,
  });
}

/** An ended attempt needs no stop. A running one gets a request to save. */
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
    why: `got a request to save and stop: ${whose}${why}`,
  });
}
