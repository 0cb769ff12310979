/** The Place state: decides where the next attempt of a run goes, and stores the decision with its numbers. */
import { RunNotFoundError } from '../errors.ts';
import type { Clock } from '../ports.ts';
import type { PlacementDecision, Progress } from '../records.ts';
import type { RunStore } from '../run-store.ts';
import { attemptTimeoutSeconds } from './attempt-timeout.ts';
import { choosePlacement } from './choose.ts';
import { encounterOf, secondsOfFormerRuns, sightingsOfOthers } from './encounters.ts';
import { helpersHourlyUsd } from './pools.ts';
import type { MarketSource } from './port.ts';
import { readMarket } from './read-market.ts';

export interface PlaceDeps {
  readonly runs: Pick<
    RunStore,
    'getRun' | 'listRuns' | 'listAttempts' | 'putPlacement' | 'putEncounter' | 'listEncounters'
  >;
  readonly market: MarketSource;
  readonly clock: Clock;
}

export type PlaceResult =
  | {
      readonly kind: 'launch';
      readonly attempt: number;
      /** How long the state machine waits for the attempt's end before it asks for itself. */
      readonly timeoutSeconds: number;
    }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'giveUp'; readonly reason: string };

/** Can run twice: an attempt that is still open is taken up again, never doubled. */
export async function place(deps: PlaceDeps, { runId }: { readonly runId: string }): Promise<PlaceResult> {
  const run = await deps.runs.getRun(runId);
  if (!run) throw new RunNotFoundError(runId);
  const { declaration } = run;
  if (!declaration) return { kind: 'giveUp', reason: 'the run was never closed: it has no declaration' };
  const attempts = await deps.runs.listAttempts(runId);
  const last = attempts.at(-1);
  if (last && last.outcome === undefined) {
    return { kind: 'launch', attempt: last.attempt, timeoutSeconds: attemptTimeoutSeconds(last.placement) };
  }
  const { compute, limits } = declaration;
  const now = deps.clock.now();
  const met = last && encounterOf(last);
  if (met) await deps.runs.putEncounter(met);
  const { instanceTypes, nodes } = compute;
  const alsoPriced = (compute.helpers ?? []).map((group) => group.instanceType);
  const [market, sightings, expectedSeconds] = await Promise.all([
    readMarket(deps.market, { instanceTypes, nodes, spot: compute.market !== 'on-demand', alsoPriced }),
    sightingsOfOthers(deps.runs, { runId, instanceTypes, now }),
    secondsOfFormerRuns(deps.runs, { pipeline: run.pipeline, runId, nodes }),
  ]);
  const attempt = (last?.attempt ?? 0) + 1;
  const decision = choosePlacement({
    compute,
    limits,
    market,
    closedAt: run.closedAt ?? run.createdAt,
    now: now.toISOString(),
    attempts,
    progress: newestProgress(attempts),
    helpersHourlyUsd: helpersHourlyUsd(compute, market),
    sightings,
    expectedSeconds,
  });
  await deps.runs.putPlacement(runId, attempt, decision);
  return resultOf(attempt, decision);
}

/** The furthest that any attempt is proven to have come. */
const newestProgress = (
  attempts: readonly { readonly progressAfter?: Progress | undefined }[],
): Progress | undefined =>
  attempts
    .flatMap(({ progressAfter }) => (progressAfter ? [progressAfter] : []))
    .reduce<Progress | undefined>((best, each) => (best && best.step >= each.step ? best : each), undefined);

function resultOf(attempt: number, decision: PlacementDecision): PlaceResult {
  switch (decision.kind) {
    case 'launch':
      return { kind: 'launch', attempt, timeoutSeconds: attemptTimeoutSeconds(decision.placement) };
    case 'wait':
      return { kind: 'wait', seconds: decision.seconds };
    case 'giveUp':
      return { kind: 'giveUp', reason: decision.reason };
  }
}
