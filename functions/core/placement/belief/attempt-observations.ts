/** From attempts to what they met, and from there to what a placement of another run makes of it. */
import { familyOf } from '../../catalog/catalog.ts';
import type { PoolOutcome, PoolOutcomeStore } from '../../runs/market-history.ts';
import { type AttemptRecord, type Placement, samePool } from '../../runs/run-records.ts';
import type { Observation } from './observation.ts';

/** undefined while the attempt goes on: nothing has been met yet that would not change. */
export function poolOutcomeOf(attempt: AttemptRecord): PoolOutcome | undefined {
  const { outcome, placement } = attempt;
  if (outcome === undefined) return undefined;
  const score = scoreOf(placement);
  const { instanceType, zoneId, purchaseOption, region, launcher } = placement.pool;
  return {
    runId: attempt.runId,
    attempt: attempt.attempt,
    instanceType,
    zoneId,
    purchaseOption,
    ...(region === undefined ? {} : { region }),
    launcher,
    ...(outcome.quota === undefined ? {} : { quota: outcome.quota }),
    nodes: placement.topology.nodes,
    ...(score === undefined ? {} : { score }),
    askedAt: attempt.createdAt,
    startedAt: outcome.startedAt,
    endedAt: outcome.endedAt ?? attempt.updatedAt,
    end: endOf(outcome.kind),
  };
}

function endOf(kind: NonNullable<AttemptRecord['outcome']>['kind']): PoolOutcome['end'] {
  switch (kind) {
    case 'capacity':
      return 'refused';
    case 'interrupted':
      return 'lost';
    case 'completed':
    case 'timeLimit':
    case 'serviceError':
    case 'userError':
    case 'recalled':
    case 'stopped':
      return 'kept';
  }
}

/** The score of the pool that was chosen. */
const scoreOf = ({ considered, pool }: Placement): number | undefined =>
  considered.find((each) => samePool(each.pool, pool))?.score;

/** What a run's own attempts tell of their pools: the same that other runs make of them. */
export const observationsOf = (attempts: readonly AttemptRecord[]): readonly Observation[] =>
  observationsFrom(
    attempts.flatMap((attempt) => {
      const met = poolOutcomeOf(attempt);
      return met === undefined ? [] : [met];
    }),
  );

/** With capacity at hand a start takes no longer. A stated prior, as that of a whole start is. */
const PROMPT_SECONDS = 300;

const secondsFrom = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1_000;

/** What outcomes say of capacity, in the words that beliefs are made from: up from the start to the end, down when refused or lost. */
export const observationsFrom = (outcomes: readonly PoolOutcome[]): readonly Observation[] =>
  outcomes.flatMap((met) => {
    const {
      instanceType,
      zoneId,
      purchaseOption,
      region,
      launcher,
      quota,
      score,
      askedAt,
      startedAt,
      endedAt,
      end,
    } = met;
    const at = (time: string, seen: Observation['seen']): Observation => ({
      atMilliseconds: Date.parse(time),
      instanceType,
      zoneId,
      purchaseOption,
      region,
      launcher,
      ...(quota !== undefined && seen === 'refused' ? { quota } : {}),
      seen,
    });
    // A score is of the moment of asking: capacity that was waited for says nothing of it.
    const wasPrompt = startedAt !== undefined && secondsFrom(askedAt, startedAt) <= PROMPT_SECONDS;
    const start =
      startedAt === undefined ? [] : [{ ...at(startedAt, 'up'), ...(wasPrompt ? { score } : {}) }];
    // The first sighting tells of the score, and a limit of the account says nothing of it.
    const isFirst = start.length === 0 && quota === undefined;
    const last = {
      ...at(endedAt, end === 'kept' ? 'up' : end),
      ...(startedAt === undefined ? {} : { heldSinceMilliseconds: Date.parse(startedAt) }),
      ...(end === 'refused' && isFirst ? { score } : {}),
    };
    // What never had its capacity and was not refused either met nothing.
    return end === 'kept' && startedAt === undefined ? [] : [...start, last];
  });

/** The last week is what a belief of the moment is made of, the weeks before are a pool's record. */
const MEMORY_MILLISECONDS = 30 * 86_400_000;

/** What all runs but this one met lately in the families of these types. */
export async function observationsOfOthers(
  poolOutcomes: PoolOutcomeStore,
  question: { readonly runId: string; readonly instanceTypes: readonly string[]; readonly now: Date },
): Promise<readonly Observation[]> {
  const since = new Date(question.now.getTime() - MEMORY_MILLISECONDS).toISOString();
  const families = new Set(question.instanceTypes.map(familyOf));
  const met = await Promise.all([...families].map((family) => poolOutcomes.list(family, since)));
  return observationsFrom(met.flat().filter(({ runId }) => runId !== question.runId));
}
