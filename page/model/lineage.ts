/** The drops of a pipeline in their order, and what became of the model of each: what the screen "Models" draws. */
import type { AnswerOf } from '../../client/operations.ts';
import { isFalling } from './curve.ts';

export type ModelView = AnswerOf<'getModels'>['models'][number];
type RunItem = AnswerOf<'listRuns'>['runs'][number];

export interface Drop {
  readonly runId: string;
  readonly at: string;
  /** Of its model; without a model, the status of its run. */
  readonly state: ModelView['state'] | 'unrecorded' | RunItem['status'];
  readonly hasModel: boolean;
  readonly model?: ModelView | undefined;
  /** Of the leading metric. */
  readonly value?: number | undefined;
  /** At 95 %, by its difference to the model that was in use then. */
  readonly interval?: readonly [low: number, high: number] | undefined;
  /** The run whose model it began from. */
  readonly from?: string | undefined;
}

type Lineage = Readonly<{ metric: string | undefined; drops: readonly Drop[] }>;

/** Oldest first. Scores lead; without any, what the training itself measured. */
export function lineageOf(models: readonly ModelView[], runs: readonly RunItem[]): Lineage {
  const judged = models.find((each) => each.judged?.mean !== undefined)?.judged?.metric;
  const metric = judged ?? runs.find(({ result }) => result?.metric)?.result?.metric?.name;
  const known = new Map(runs.filter(({ probe }) => probe === undefined).map((run) => [run.runId, run]));
  const ids = new Set([...known.keys(), ...models.map(({ runId }) => runId)]);
  const all = [...ids].toSorted().map((runId): Drop => {
    const model = models.find((each) => each.runId === runId);
    const run = known.get(runId);
    return {
      runId,
      at: run?.createdAt ?? model?.at ?? '',
      state: stateOf(model, run),
      hasModel: model !== undefined || run?.modelUri !== undefined,
      model,
      from: run?.startedFrom?.runId,
      ...(judged === undefined ? measuredBy(metric, run) : judgedBy(judged, model)),
    };
  });
  // Before the first decision nothing was compared.
  const begun = all.findIndex(({ model }) => model !== undefined);
  return { metric, drops: all.slice(Math.max(0, begun)) };
}

const stateOf = (model: ModelView | undefined, run: RunItem | undefined): Drop['state'] =>
  model?.state ?? (run?.modelUri === undefined ? (run?.status ?? 'empty') : 'unrecorded');

function measuredBy(metric: string | undefined, run: RunItem | undefined): Pick<Drop, 'value'> {
  const { name, value } = run?.result?.metric ?? {};
  return typeof value === 'number' && name === metric ? { value } : {};
}

function judgedBy(metric: string, model: ModelView | undefined): Pick<Drop, 'value' | 'interval'> {
  const { judged } = model ?? {};
  if (judged?.metric !== metric || judged.mean === undefined) return {};
  const { mean: value, mode, better, interval: [low, high] = [] } = judged;
  if (better === undefined || low === undefined || high === undefined) return { value };
  const sign = isFalling(metric, mode) ? -1 : 1;
  const ends = [value + sign * (low - better), value + sign * (high - better)] as const;
  return { value, interval: [Math.min(...ends), Math.max(...ends)] };
}

const VERDICTS = {
  first: 'the first one with scores',
  better: 'shown to be better',
  notBetter: 'not better',
  inconclusive: 'too close to tell',
  rejected: 'its scores are not valid',
} as const;

const seriesOf = (runId: string): string => runId.replace(/\d+$/, '');

/** Who decided and why, in one line; the whole reason of scores has numbers. */
export function decidedText({ runId, state, by, reason, judged }: ModelView): string {
  if (by === runId) return judged === undefined ? reason : VERDICTS[judged.verdict];
  return state === 'former' && seriesOf(by) === seriesOf(runId) ? `replaced by ${by}` : `${by}: ${reason}`;
}

/** Round numbers within a range: about three. */
export function ticksWithin(low: number, high: number): readonly number[] {
  const rough = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((each) => each * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, place) => (first + place) * step);
}
