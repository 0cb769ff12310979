/** The Place state: decides where the next attempt of a run goes, and stores the decision with its numbers. */

import { RunNotFoundError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import {
  type PlacementInput,
  placementQuestion,
  type QuestionDeps,
  storedPart,
} from '@tidewheel/placement/choose.ts';
import { decide } from '@tidewheel/placement/estimate.ts';
import { offersThatPay } from '@tidewheel/placement/explain.ts';
import { type OfferSource, poolOutcomeOf } from '@tidewheel/placement/market.ts';
import type { PlacementDecision } from '@tidewheel/placement/records.ts';
import { datasetSize } from '../../records/run-dataset.ts';
import type { AttemptRecord } from '../../records/run-records.ts';
import { safeRemedies, withRemedies } from '../../records/safe-remedies.ts';
import type { Stores } from '../../records/stores.ts';
import { attemptTimeoutSeconds } from './stop-rules.ts';

export interface PlaceDeps
  extends Omit<QuestionDeps, 'runs' | 'attempts'>,
    Pick<Stores, 'runs' | 'attempts' | 'placements' | 'timeline'> {
  readonly store: ObjectStore;
  /** Absent: no offer is looked for. */
  readonly offers?: OfferSource | undefined;
}

export type PlaceResult =
  | {
      readonly kind: 'launch';
      readonly attempt: number;
      /** How long the state machine waits for the attempt's end before it looks for itself. */
      readonly timeoutSeconds: number;
    }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'giveUp'; readonly reason: string };

/** Can run twice: it returns an attempt that is still open and never starts a second one. */
export async function place(deps: PlaceDeps, { runId }: { readonly runId: string }): Promise<PlaceResult> {
  const run = await deps.runs.get(runId);
  if (!run) throw new RunNotFoundError(runId);
  const { declaration } = run;
  if (!declaration) return { kind: 'giveUp', reason: 'the run was never closed: it has no declaration' };
  const attempts = await deps.attempts.list(runId);
  const last = attempts.at(-1);
  if (last && last.outcome === undefined) return launchOf(last);
  const now = deps.clock.now();
  const met = last && poolOutcomeOf(last);
  if (met) await deps.poolOutcomes.put(met);
  const remedied = withRemedies(declaration, await safeRemedies(deps, run, attempts));
  const dataset = () => datasetSize(deps.store, run);
  const input = await placementQuestion(deps, { run, declaration: remedied, attempts, now, dataset });
  await tellReserved(deps, runId, input);
  const attempt = (last?.attempt ?? 0) + 1;
  const decided = decide(input, runId);
  const offers = await offersBefore(deps, input, decided);
  const decision = { ...decided, ...(offers.length > 0 && { offers }), question: storedPart(input) };
  // A retried `place` may have led to a launch while this one asked the market; a running attempt keeps its
  // decision.
  const begun = await deps.attempts.get(runId, attempt);
  if (begun) return launchOf(begun);
  await deps.placements.put(runId, attempt, decision);
  return resultOf(attempt, decision);
}

/** Asks before the first attempt alone: a run that lost its hosts goes on at once. */
const offersBefore = async (
  { offers }: PlaceDeps,
  input: PlacementInput,
  decided: PlacementDecision,
): Promise<readonly string[]> =>
  input.attempts.length > 0 || decided.kind === 'giveUp'
    ? []
    : offersThatPay(offers, input, decided.expected);

/** Each reservation that the run cannot use or does not know, once. */
async function tellReserved(
  { timeline, clock }: PlaceDeps,
  runId: string,
  { market }: PlacementInput,
): Promise<void> {
  const at = clock.now().toISOString();
  for (const text of market.reservationNotes ?? [])
    await timeline.add(runId, { id: `reserved-${text.slice(0, 200)}`, at, kind: 'ReservationUnused', text });
}

const launchOf = ({ attempt, placement }: Pick<AttemptRecord, 'attempt' | 'placement'>): PlaceResult => ({
  kind: 'launch',
  attempt,
  timeoutSeconds: attemptTimeoutSeconds(placement),
});

function resultOf(attempt: number, decision: PlacementDecision): PlaceResult {
  switch (decision.kind) {
    case 'launch':
      return launchOf({ attempt, placement: decision.placement });
    case 'wait':
      return { kind: 'wait', seconds: decision.seconds };
    case 'giveUp':
      return { kind: 'giveUp', reason: decision.reason };
  }
}
