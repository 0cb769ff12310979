/** The Place state: decides where the next attempt of a run goes, and stores the decision with its numbers. */
import { RunNotFoundError } from '../errors.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Clock } from '../ports.ts';
import type { AttemptRecord, PlacementDecision, Progress, RunRecord } from '../records.ts';
import type { RunStore } from '../run-store.ts';
import { attemptTimeoutSeconds } from './attempt-timeout.ts';
import { choosePlacement } from './choose.ts';
import { encounterOf, sightingsOfOthers } from './encounters.ts';
import { formerRunOf } from './former-runs.ts';
import { HELPER_TYPES } from './helpers.ts';
import type { MarketSample } from './market-history.ts';
import { filledFrom, type MemoryQuestion, pricedFrom, samplesFor } from './market-memory.ts';
import type { MarketSource, MarketView } from './port.ts';
import { readMarket } from './read-market.ts';
import { type RegionDeps, readElsewhere } from './regions.ts';
import { type PlacementInput, storedPart } from './situation.ts';
import { gangsOf, typesOf } from './topologies.ts';

export interface PlaceDeps {
  readonly runs: Pick<
    RunStore,
    | 'getRun'
    | 'listRuns'
    | 'listAttempts'
    | 'putPlacement'
    | 'putEncounter'
    | 'listEncounters'
    | 'listSamples'
    | 'getListPrices'
  >;
  readonly market: MarketSource;
  /** Asked only for a pipeline that names other regions. */
  readonly regions?: RegionDeps | undefined;
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
  const now = deps.clock.now();
  const met = last && encounterOf(last);
  if (met) await deps.runs.putEncounter(met);
  const input = await questionFor(deps, { run, declaration, attempts, now });
  const attempt = (last?.attempt ?? 0) + 1;
  const decision = { ...choosePlacement(input), question: storedPart(input) };
  await deps.runs.putPlacement(runId, attempt, decision);
  return resultOf(attempt, decision);
}

interface Known {
  readonly run: RunRecord;
  readonly declaration: Pipeline;
  readonly attempts: readonly AttemptRecord[];
  readonly now: Date;
}

async function questionFor(
  deps: PlaceDeps,
  { run, declaration, attempts, now }: Known,
): Promise<PlacementInput> {
  const { compute, limits, training } = declaration;
  const priced = [...typesOf(compute), ...helperTypesOf(compute)];
  const read = async (source: MarketSource): Promise<MarketView> => {
    const view = await readMarket(source, {
      gangs: gangsOf(compute),
      spot: compute.market !== 'on-demand',
      alsoPriced: helperTypesOf(compute),
    });
    const question = { compute, region: source.region, now };
    const [samples, list] = await Promise.all([
      remembered(deps, view, question),
      deps.runs.getListPrices(source.region),
    ]);
    return pricedFrom(list, filledFrom(samples, view, question), { wanted: priced, now });
  };
  const progress = newestProgress(attempts);
  const [market, sightings, former] = await Promise.all([
    read(deps.market),
    sightingsOfOthers(deps.runs, { runId: run.runId, instanceTypes: typesOf(compute), now }),
    formerRunOf(deps.runs, run),
  ]);
  const checkpointBytes = progress?.checkpointBytes ?? former?.checkpointBytes;
  const elsewhere = deps.regions
    ? await readElsewhere(deps.regions, { run, home: market.region, attempts, checkpointBytes, read })
    : [];
  return {
    compute,
    limits,
    training,
    market,
    ...(elsewhere.length === 0 ? {} : { elsewhere }),
    closedAt: run.closedAt ?? run.createdAt,
    now: now.toISOString(),
    attempts,
    progress,
    sightings,
    expectedSeconds: former?.seconds,
    expectedOn: former?.on,
    formerPaces: former?.paces,
  };
}

/** The market's history is read only where the market itself does not answer. */
async function remembered(
  { runs }: PlaceDeps,
  view: MarketView,
  question: MemoryQuestion,
): Promise<readonly MarketSample[]> {
  if (question.compute.market === 'on-demand') return [];
  const priced = view.spotPrices.some(({ basis }) => basis === 'asked');
  return view.scores.length > 0 && priced ? [] : samplesFor(runs, question);
}

/** Those of the named groups, and those that may be added. */
const helperTypesOf = ({ helpers = [], mayAddHelpers: may }: Pipeline['compute']): readonly string[] => [
  ...helpers.map(({ instanceType }) => instanceType),
  ...(may === undefined ? [] : (may.instanceTypes ?? HELPER_TYPES)),
];

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
